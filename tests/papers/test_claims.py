"""The verdict of a claim follows from its interval over seeds."""

import numpy as np
import pytest
from _claims import Claim, judge

BELOW = Claim("It is small.", "size", "<", 1.0)


def test_an_interval_on_the_claimed_side_holds() -> None:
    found = judge(BELOW, [0.1, 0.2, 0.3])
    assert found.verdict == "holds"
    assert found.low < found.mean < found.high < 1.0


def test_an_interval_on_the_other_side_does_not() -> None:
    assert judge(BELOW, [2.1, 2.2, 2.3]).verdict == "does not hold"


def test_an_interval_across_the_bound_is_undecided() -> None:
    assert judge(BELOW, [0.1, 2.2, 0.9]).verdict == "undecided"


def test_a_single_value_decides_by_itself() -> None:
    found = judge(BELOW, [0.5])
    assert (found.verdict, found.low, found.high) == ("holds", None, None)
    assert judge(BELOW, [1.0]).verdict == "does not hold"


def test_the_interval_covers_the_mean_in_95_of_100_runs() -> None:
    rng = np.random.default_rng(0)
    found = [judge(BELOW, rng.normal(3.0, 1.0, 8)) for _ in range(1000)]
    assert 0.93 <= np.mean([one.low <= 3.0 <= one.high for one in found]) <= 0.97


@pytest.mark.parametrize("values", [[], [0.1, float("nan")], [float("inf")]])
def test_what_is_no_number_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="values of 'size' must be finite numbers"):
        judge(BELOW, values)


def test_a_best_holds_against_every_rival_or_not_at_all() -> None:
    best = Claim("It is best.", "gain", ">", 0.0)
    clear, close = [2.0, 2.1, 2.2], [-1.0, 0.2, 1.0]
    found = judge(best, [{"a": a, "b": b} for a, b in zip(clear, clear, strict=True)])
    assert found.verdict == "holds"
    found = judge(best, [{"a": a, "b": b} for a, b in zip(clear, close, strict=True)])
    assert (found.verdict, found.rival) == ("undecided", "b")
    found = judge(best, [{"a": -a, "b": b} for a, b in zip(clear, close, strict=True)])
    assert (found.verdict, found.rival) == ("does not hold", "a")


def test_a_best_among_equals_is_seldom_called() -> None:
    rng = np.random.default_rng(0)
    best = Claim("It is best.", "gain", ">", 0.0)
    draws = rng.normal(0.0, 1.0, (1000, 8, 2))
    draws[..., 1] += 1.0  # equal to one rival, better than the other
    found = [judge(best, [{"a": a, "b": b} for a, b in one]).verdict for one in draws]
    assert found.count("holds") / 1000 <= 0.04  # nominal .025


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([-0.01, 0.0, 0.02], "holds"),
        ([0.3, 0.31, 0.32], "does not hold"),
        ([-0.2, 0.1, 0.3], "undecided"),
    ],
)
def test_no_change_is_an_equivalence_test(values: list[float], verdict: str) -> None:
    assert judge(Claim("It stays.", "change", "within", 0.1), values).verdict == verdict


@pytest.mark.parametrize(
    ("yes", "low", "verdict"),
    [
        (10, 0.6915, "holds"),
        (9, 0.5550, "holds"),
        (8, 0.4439, "undecided"),
        (0, 0.0, "does not hold"),
    ],
)
def test_counts_of_seeds_are_judged_by_a_sign_test(yes: int, low: float, verdict: str) -> None:
    """Clopper and Pearson: of ten seeds nine have to say yes, as (1 + 10) / 2^10 < 2.5 % says as well."""
    more = Claim("It is ahead.", "fraction of the seeds", ">", 0.5)
    found = judge(more, [True] * yes + [False] * (10 - yes))
    assert (found.mean, found.verdict) == (yes / 10, verdict)
    assert found.low == pytest.approx(low, abs=1e-4)
