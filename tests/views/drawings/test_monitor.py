"""Drawings of a monitor: bars, curves and lines are the figures of the results."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.decisions.monitor.monitor import monitor_batch
from shiftmetrics.decisions.monitor.profile import make_passport
from shiftmetrics.decisions.monitor.state_file import StateFile
from shiftmetrics.views import plot


def table(seed, n=160):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"x": rng.normal(size=n), "city": rng.choice(["A", "B"], n)})


def far(seed):
    frame = table(seed)
    frame["x"] += 6.0
    return frame


@pytest.fixture
def passport():
    return make_passport(table(0))


def test_alarms_are_drawn_against_their_level(passport):
    state = None
    for _ in range(4):
        result = monitor_batch(passport, far(3), state=state)
        state = result.state
    ax = plot(result)
    assert ax.lines[0].get_xdata()[0] == 1.0
    (bar,) = ax.patches
    evidence = max(0.5 * alarm.alpha * alarm.highest for alarm in state.alarms)
    assert bar.get_width() == pytest.approx(min(2.0, evidence))
    assert (bar.get_width() >= 1.0) == any(alarm.raised for alarm in state.alarms)
    # Without a history there is no batch to draw.
    assert plot(result, kind="batches").get_title(loc="left") == "Alarms"


def test_batches_are_drawn_against_what_is_allowed(passport, tmp_path):
    file = StateFile(tmp_path / "s.json")
    given = [table(1), table(2), far(3), far(4), far(5)]
    for frame in given:
        before = file.read(passport)
        result = file.write(monitor_batch(passport, frame, state=before), before)
    ax = plot(result, kind="batches")
    place, alarm = result.clearest_alarm()
    rates = [passport.count(frame).rows[place] for frame in given]
    drawn = ax.lines[0]
    assert drawn.get_xdata().tolist() == [1, 2, 3, 4, 5]
    assert drawn.get_ydata().tolist() == pytest.approx([rate.hits / rate.n for rate in rates])
    (allowed,) = ax.collections[0].get_segments()
    assert allowed[:, 1].tolist() == pytest.approx([alarm.allowed] * 2)
    assert alarm.raised_at in [line.get_xdata()[0] for line in ax.lines[1:]]
    words = {text.get_text() for text in ax.texts}
    assert words == {"allowed", "alarm"}
    before = file.read(passport)
    known = monitor_batch(passport, far(6), state=before.acknowledge("new sensor"))
    ax = plot(file.write(known, before), kind="batches")
    assert {text.get_text() for text in ax.texts} == {"allowed", "acknowledged"}
    assert ax.collections[0].get_segments()[0][0, 0] == 5.5
