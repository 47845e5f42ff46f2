"""A monitor on the page: alarms, columns that moved and batches with the figures of the results."""

import re

import numpy as np
import pandas as pd

from shiftmetrics.decisions.monitor.monitor import monitor_batch
from shiftmetrics.decisions.monitor.profile import make_passport
from shiftmetrics.decisions.monitor.state_file import StateFile
from shiftmetrics.views.report import render_report
from shiftmetrics.views.report.monitor import monitor_answer


def table(seed, n=160, moved=0.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    frame = pd.DataFrame({"x": x, "city": rng.choice(["A", "B"], n), "guess": x > 0, "paid": x > 0})
    frame["x"] += moved
    return frame


def lines(page, caption):
    found = page.partition(f"<span>{caption}</span>")[2].partition("</table>")[0]
    cells = [re.findall(r"<td[^>]*>([^<]*)</td>", line) for line in found.split("<tr>")[2:]]
    return [[cell.replace("\N{NO-BREAK SPACE}", " ") for cell in line] for line in cells]


def test_a_monitor_lists_its_alarms():
    passport = make_passport(table(0), model="guess", label="paid")
    result = monitor_batch(passport, table(2))
    figures = {figure.name: figure for figure in monitor_answer(result).tiles}
    assert figures["Batches"].value == "1"
    assert figures["Batches"].meaning == "160 samples"
    found = lines(render_report(result), "Alarms")
    assert [line[0] for line in found] == [alarm.name for alarm in result.state.alarms]
    assert [line[1] for line in found] == [
        f"{alarm.n_hits:,} of {alarm.n_samples:,}" for alarm in result.state.alarms
    ]


def test_a_page_lists_every_batch_and_the_columns_that_moved(tmp_path):
    reference = table(0, 400)[["x", "city"]]
    passport = make_passport(reference)
    file = StateFile(tmp_path / "s.json")
    given = [table(seed, moved=4.0 * (seed > 2))[["x", "city"]] for seed in range(1, 6)]
    results = []
    for frame in given:
        before = file.read(passport)
        results.append(file.write(monitor_batch(passport, frame, state=before), before))
    result = results[-1]
    page = render_report(result)
    place, _ = result.clearest_alarm()
    found = lines(page, "Batches, the last one first")
    assert [line[0] for line in found] == ["5", "4", "3", "2", "1"]
    assert [line[-1] for line in found] == [each.verdict for each in results[::-1]]
    hits = [passport.count(frame).rows[place].hits for frame in given[::-1]]
    assert [line[-2] for line in found] == [str(hit) for hit in hits]
    (moved,) = lines(page, "Columns that moved")
    edge = float(moved[0].removeprefix("x above "))
    last = pd.concat(given[-int(moved[1]) :])
    assert moved[2] == f"{(last['x'] > edge).sum()} of {len(last)}"
    assert moved[3] == f"{(reference['x'] > edge).sum()} of 400"
    figure = {each.name: each.value for each in monitor_answer(result).tiles}[moved[0]]
    assert float(figure.split()[0]) == round(100 * (last["x"] > edge).mean())
