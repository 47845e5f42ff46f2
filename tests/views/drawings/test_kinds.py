import importlib
import pkgutil
import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
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


def test_a_kind_in_the_place_of_axes_is_told_where_it_goes():
    with pytest.raises(TypeError, match="kind='beta'") as error:
        plot(AGREEMENT, "beta")
    assert error.value.argument == "ax"
