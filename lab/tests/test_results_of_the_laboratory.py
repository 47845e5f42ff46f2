"""Results of the laboratory are read by the commands of the core, and shown on its pages."""

import html
import re

import numpy as np

from shiftmetrics.cli.inputs.results import read_result_files
from shiftmetrics.novelty import kernel_entropic_novelty
from shiftmetrics.views import Context, Rows
from shiftmetrics.views.report import render_report
from shiftmetrics_lab.distances import output_distance
from shiftmetrics_lab.novelty_studies import bandwidth_sweep


def test_results_of_the_laboratory_are_known_to_commands(tmp_path):
    rng = np.random.default_rng(0)
    output_distance(rng.normal(size=(20, 3)), rng.normal(size=(20, 3))).to_json(tmp_path / "d.json")
    assert list(read_result_files([tmp_path]).results) == ["d"]


def test_novelty_by_bandwidth_stands_on_the_page():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 2))
    known = rng.normal(size=(40, 2))
    result = kernel_entropic_novelty(points, known, bandwidth=1.0)
    swept = bandwidth_sweep(points, known, bandwidths=[0.5, 2.0])
    rows = {result.title: Rows(bandwidth_sweep=swept)}
    page = render_report(result, context=Context(rows=rows))
    text = html.unescape(re.sub(r"<[^>]*>", "", page)).replace("\N{NO-BREAK SPACE}", " ")
    assert swept.headline() in text
    assert "bandwidth (log scale)" in text
