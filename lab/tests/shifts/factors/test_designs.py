import itertools

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from shiftmetrics_lab.shifts.factors import ENVIRONMENTS
from shiftmetrics_lab.shifts.factors.designs import (
    DESIGNS,
    co_occurrence,
    co_occurrence_samples,
    uncorrelated_factors,
)
from shiftmetrics_lab.shifts.factors.spec import FACTORS, FactorSpec

LABELS = np.random.default_rng(0).integers(0, 10, 3000)


@pytest.mark.parametrize("factor", FACTORS)
def test_uncorrelated_factors_are_independent_of_the_label(factor):
    values = uncorrelated_factors(LABELS, rng=0)[factor]
    counts = np.array(
        [
            [((digit == LABELS) & (values == value)).sum() for value in FACTORS[factor]]
            for digit in range(10)
        ]
    )
    assert np.ptp(counts, axis=1).max() <= 1  # as even as whole numbers can be
    assert chi2_contingency(counts).pvalue > 0.999


def test_uncorrelated_factors_are_independent_of_each_other():
    factors = uncorrelated_factors(LABELS, rng=0)
    for first in FACTORS:
        for second in FACTORS:
            if first < second:
                counts = np.array(
                    [
                        [
                            ((factors[first] == a) & (factors[second] == b)).sum()
                            for b in FACTORS[second]
                        ]
                        for a in FACTORS[first]
                    ]
                )
                assert chi2_contingency(counts).pvalue > 0.001, (first, second)


def test_factors_that_do_not_vary_keep_their_value():
    factors = uncorrelated_factors(LABELS, vary=["hue"], base=FactorSpec(texture="wood"), rng=0)
    assert set(factors["texture"]) == {"wood"}
    assert len(set(factors["hue"])) == 6


@pytest.mark.parametrize("learning_factor", ["hue", "position"])
@pytest.mark.parametrize("source", [0, 1])
def test_designs_open_more_and_more_combinations(learning_factor, source):
    def pairs(design, withheld=False):
        values = co_occurrence(
            design, learning_factor=learning_factor, source=source, withheld=withheld
        )
        return {(digit, value) for digit, allowed in values.items() for value in allowed}

    opened = [pairs(design) for design in DESIGNS]
    assert list(map(len, opened)) == [3, 4, 5, 6, 9]
    assert all(a < b for a, b in itertools.pairwise(opened))
    for design in DESIGNS:
        if design != "ZSO":
            assert pairs(design) | pairs(design, withheld=True) == opened[-1]
            assert not pairs(design) & pairs(design, withheld=True)
    assert pairs("ZSO", withheld=True) == opened[-1]
    # Three digits with a second value: every value has two digits, too.
    assert all(sum(value == v for _, v in opened[3]) == 2 for value in {v for _, v in opened[-1]})


def test_sources_share_no_value_and_follow_the_thesis():
    assert co_occurrence("ZGO") == {7: ("blue",), 4: ("red",), 9: ("green",)}
    assert co_occurrence("ZGO", source=1) == {7: ("yellow",), 4: ("cyan",), 9: ("magenta",)}
    assert co_occurrence("2-CGO", learning_factor="position") == {
        7: ("UL", "CC"),
        4: ("CC",),
        9: ("UL", "LR"),
    }
    assert co_occurrence("ZGO", learning_factor="position", source=1) == {
        7: ("LC",),
        4: ("UR",),
        9: ("CL",),
    }


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("learning_factor", ["hue", "position"])
def test_samples_hold_the_design(design, learning_factor, handwriting):
    digits, labels = handwriting
    samples = co_occurrence_samples(
        digits,
        labels,
        design,
        learning_factor=learning_factor,
        instances=range(300),
        size=32,
        rng=0,
    )
    for source, sample in enumerate(samples):
        allowed = co_occurrence(design, learning_factor=learning_factor, source=source)
        for digit, values in allowed.items():
            drawn = sample.factors[learning_factor][sample.labels == digit]
            counts = [np.sum(drawn == value) for value in values]
            assert sum(counts) == drawn.size
            assert max(counts) - min(counts) <= 1
    np.testing.assert_array_equal(samples[0].instances, samples[1].instances)


def test_tests_one_to_five_use_what_training_withheld(handwriting):
    digits, labels = handwriting
    for environment, spec in enumerate(ENVIRONMENTS["hue co-occurrence test"]):
        first, _ = co_occurrence_samples(
            digits, labels, "ZGO", environment=environment, instances=range(90), size=32, rng=0
        )
        sevens = set(first.factors["hue"][first.labels == 7])
        assert sevens == ({"blue"} if environment == 0 else {"red", "green"})
        assert set(first.factors["texture"]) == {spec.texture}


def test_sources_can_show_other_digits(handwriting):
    first, second = co_occurrence_samples(
        *handwriting, "ZSO", instances=range(200), same_instances=False, size=32, rng=0
    )
    np.testing.assert_array_equal(first.labels, second.labels)
    assert not set(first.instances) & set(second.instances)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"design": "4-CGO"}, "design must be one of 'ZGO'"),
        ({"learning_factor": "scale"}, "learning_factor must be one of"),
        ({"environment": 6}, "environment must be an integer between 0 and 5"),
        ({"instances": [0, 1, 2]}, "images of 4, 7 and 9"),
    ],
)
def test_bad_input_is_named(options, message, handwriting):
    with pytest.raises(ValueError, match=message):
        co_occurrence_samples(*handwriting, **{"design": "ZGO", "rng": 0, **options})


def test_bad_names_of_factors_are_named():
    with pytest.raises(ValueError, match="vary must be one of 'hue'"):
        uncorrelated_factors(LABELS, vary=["colour"])
    with pytest.raises(TypeError, match="a list of factors"):
        uncorrelated_factors(LABELS, vary="hue")
    with pytest.raises(ValueError, match="source must be an integer between 0 and 1"):
        co_occurrence("ZGO", source=2)
