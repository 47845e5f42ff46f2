"""Differences the other way round, ranks in words, and the tables of a comparison."""

import pytest

from shiftmetrics._core.result import Interval
from shiftmetrics.comparison import compare_results
from shiftmetrics.comparison.result import ModelDifference, RankedModel
from shiftmetrics.stability import HingeLoss, stability_criterion


def test_a_difference_reversed_has_its_limits_exchanged():
    wide = Interval(low=-0.3, high=0.8, confidence_level=0.9)
    pair = ModelDifference(
        first="a", second="b", difference=0.2, standard_error=0.1, p_value=0.3, p_adjusted=0.4,
        interval=Interval(low=-0.1, high=0.5, confidence_level=0.9), simultaneous_interval=wide,
    )  # fmt: skip
    other = pair.reversed()
    assert (other.first, other.second, other.difference) == ("b", "a", -0.2)
    assert (other.interval.low, other.interval.high) == (-0.5, 0.1)
    assert (other.simultaneous_interval.low, other.simultaneous_interval.high) == (-0.8, 0.3)
    assert other.p_adjusted == 0.4
    assert other.reversed().equals(pair)


@pytest.fixture(scope="module")
def compared():
    margins = [0.5, 1.0, 1.5, 2.0, 2.5]
    losses = {"flat": HingeLoss(margins, 0.8), "steep": HingeLoss(margins, 2.0)}
    results = {name: stability_criterion(loss, 1.0) for name, loss in losses.items()}
    return compare_results(results)


def test_tables_have_a_line_for_each_model_and_each_pair(compared):
    frame = compared.to_frame()
    assert frame["model"].tolist() == [model.name for model in compared.models]
    assert frame["value"].tolist() == [model.value for model in compared.models]
    assert frame["low"].tolist() == [model.interval.low for model in compared.models]
    (line,) = compared.differences_frame().to_dict("records")
    (pair,) = compared.differences
    assert (line["first"], line["second"]) == (pair.first, pair.second)
    assert line["simultaneous_low"] == pair.simultaneous_interval.low
    assert line["difference"] == pytest.approx(compared.models[0].value - compared.models[1].value)


def test_the_headline_names_who_may_be_as_good(compared):
    assert isinstance(compared.best, RankedModel)
    rivals = [model.name for model in compared.contenders if model is not compared.best]
    text = compared.headline()
    assert text.startswith(f"{compared.best.name} is the best of 2 models by ")
    assert ("cannot be told from it" in text) == bool(rivals)
    assert all(name in text for name in rivals)
