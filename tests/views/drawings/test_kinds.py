import importlib
import pkgutil
import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
from matplotlib import pyplot as plt

import shiftmetrics
from shiftmetrics._core.result import Result
from shiftmetrics.agreement import posterior_agreement
from shiftmetrics.novelty import kernel_entropic_novelty
from shiftmetrics.stability import FixedLoss, ZeroOneLoss, stability_criterion
from shiftmetrics.views import plot
from shiftmetrics.views.drawings.kinds import kinds_of

RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=(80, 3))
AGREEMENT = posterior_agreement(SCORES + 0.5 * RNG.normal(size=(80, 3)), SCORES)
PERTURBED = stability_criterion(ZeroOneLoss(RNG.random(50)), 0.3)
WEIGHTS = stability_criterion(FixedLoss(RNG.random(50)), 0.7)
NOVELTY = kernel_entropic_novelty(
    RNG.normal(size=(40, 2)) + 2, RNG.normal(size=(50, 2)), bandwidth=1.0
)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize(
    "result", [AGREEMENT, PERTURBED, WEIGHTS, NOVELTY], ids=lambda result: result.title
)
def test_every_result_draws_itself(result):
    axes = result.plot()
    assert axes.get_title(loc="left")
    assert axes.get_xlabel()
    assert axes.get_ylabel()
    axes.figure.canvas.draw()
    assert plot(result, axes) is axes


def test_a_result_draws_where_it_is_told():
    _, axes = plt.subplots()
    assert plot(NOVELTY, axes) is axes
    assert len(plt.get_fignums()) == 1


def test_the_settings_of_the_user_stay_as_they_are():
    before = dict(mpl.rcParams)
    plot(AGREEMENT)
    assert dict(mpl.rcParams) == before


def test_the_histogram_of_agreement_counts_every_pair():
    axes = plot(AGREEMENT, kind="pairs")
    assert sum(patch.get_height() for patch in axes.patches) == 80
    assert axes.lines[0].get_xdata()[0] == AGREEMENT.value


def test_the_curve_marks_the_maximum_below_its_bound():
    axes = plot(AGREEMENT, kind="beta")
    best = axes.lines[1]
    assert (best.get_xdata()[0], best.get_ydata()[0]) == (AGREEMENT.beta, AGREEMENT.value)
    assert axes.lines[0].get_ydata().max() <= AGREEMENT.value + AGREEMENT.error_bound


@pytest.mark.parametrize("other", [SCORES, -SCORES], ids=["all agree", "none agrees"])
def test_curves_at_both_ends_of_beta(other):
    result = posterior_agreement(other, SCORES)
    axes = plot(result, kind="beta")
    axes.figure.canvas.draw()
    values = np.asarray(axes.lines[0].get_ydata(), dtype=float)
    assert np.isfinite(values).all()
    assert (values <= result.value + result.error_bound).all()


def test_weights_rise_from_nothing_to_all():
    curve = plot(WEIGHTS, kind="weights").lines[1]
    held = curve.get_ydata()
    assert (held[0], held[-1]) == (0.0, pytest.approx(1.0))
    assert (np.diff(held) >= 0).all()
    assert (held >= curve.get_xdata() - 1e-12).all()


def test_distances_count_the_rows_that_change():
    axes = plot(PERTURBED, kind="distances")
    assert sum(patch.get_height() for patch in axes.patches) == (PERTURBED.plan.distances > 0).sum()


def test_the_drawing_of_stability_follows_what_changes():
    assert plot(WEIGHTS).get_ylabel() == "fraction of the weight"
    cheap_changes = stability_criterion(ZeroOneLoss(0.01 * RNG.random(50)), 0.3)
    assert plot(cheap_changes).get_ylabel() == "samples that change"


def test_confidence_before_and_after():
    axes = AGREEMENT.plot(kind="confidence", scores=SCORES[:30], reference_scores=-SCORES[:30])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["reference", "shifted"]
    assert sum(patch.get_height() for patch in axes.patches if hasattr(patch, "get_height")) == 30
    assert axes.get_xlim() == (1 / 3, 1.0)


@pytest.mark.filterwarnings("error")
def test_a_spectrum_without_a_positive_eigenvalue_has_no_legend():
    rows = np.random.default_rng(0).normal(size=(30, 2))
    result = kernel_entropic_novelty(rows, rows, eta=10.0, bandwidth=1.0)
    ax = result.plot()
    assert len(result.score.eigenvalues) == 0
    assert len(ax.patches) == 0
    assert ax.get_legend() is None


def test_the_spectrum_shows_gain_and_loss():
    axes = plot(NOVELTY, n_eigenvalues=5)
    heights = np.array([bar.get_height() for bar in axes.patches])
    np.testing.assert_allclose(heights[:5], NOVELTY.score.eigenvalues[:5])
    np.testing.assert_allclose(-heights[5:], NOVELTY.score.reverse_eigenvalues[:5])


@pytest.mark.parametrize("value", [None, 3.0, "result"])
def test_what_is_no_result_is_refused(value):
    with pytest.raises(TypeError, match="result must be a result of a measure"):
        plot(value)


def test_results_without_rows_say_how_to_keep_them():
    with pytest.raises(ValueError, match="arrays in memory"):
        plot(posterior_agreement([(SCORES, SCORES[::-1])]), kind="pairs")
    with pytest.raises(ValueError, match="without_rows"):
        plot(stability_criterion(FixedLoss(RNG.random(9)), 0.8).without_rows())


def result_classes() -> list[type[Result]]:
    for module in pkgutil.walk_packages(shiftmetrics.__path__, "shiftmetrics."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found, queue = [], [Result]
    while queue:
        for cls in queue.pop().__subclasses__():
            queue.append(cls)
            if cls.__module__.startswith("shiftmetrics."):
                found.append(cls)
    return [cls for cls in found if not cls.__subclasses__() or "measure" in vars(cls)]


def test_every_result_class_draws_or_has_no_plot():
    for cls in result_classes():
        assert hasattr(cls, "plot") == bool(kinds_of(cls)), cls.__name__


def test_the_page_lists_the_kinds_of_every_class():
    page = (Path(__file__).parents[3] / "docs" / "reading.md").read_text(encoding="utf-8")
    listed = {}
    for line in page.partition("## Drawings")[2].splitlines():
        cells = line.split("|")
        if len(cells) == 5:
            names = re.findall(r"`([A-Z]\w+)`", cells[1])
            listed |= dict.fromkeys(names, re.findall(r"`(\w+)`", cells[2]))
    for cls in result_classes():
        if not cls.__module__.startswith("shiftmetrics_lab"):
            kinds = list(kinds_of(cls))
            assert listed.get(cls.__name__, [])[:1] == kinds[:1], cls.__name__
            assert sorted(listed.get(cls.__name__, [])) == sorted(kinds), cls.__name__
