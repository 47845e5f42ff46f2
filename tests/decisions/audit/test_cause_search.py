"""The search for a rule, against all rules of one and of two conditions."""

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import xlogy

from shiftmetrics.decisions.audit.cause_cells import cut_columns
from shiftmetrics.decisions.audit.cause_search import CauseRule, CauseSearch
from shiftmetrics.tables.encoder.roles import Column

COLUMNS = [Column("c", "category"), Column("e", "category"), Column("k", "number")]


def likelihood(n_members, n):
    return xlogy(n_members, n_members / n) + xlogy(n - n_members, 1 - n_members / n)


@dataclass(frozen=True, eq=False)
class Members:
    """A toy question: where are the samples of bin 1?"""

    bins: tuple
    n_bins: int = 2

    @property
    def without_rule(self):
        return 0.0

    def worth(self, counts):
        (inside,) = counts.inside
        ((outside,),) = counts.outside
        with np.errstate(all="ignore"):
            parts = likelihood(inside[:, 1], inside.sum(axis=1))
            parts = parts + likelihood(outside[:, 1], outside.sum(axis=1))
            worth = parts - likelihood(*np.bincount(self.bins[0])[[1]], len(self.bins[0]))
            is_more = inside[:, 1] * outside.sum(axis=1) > outside[:, 1] * inside.sum(axis=1)
        return np.where(is_more & np.isfinite(worth), worth, -np.inf)


def table(rng, n=600):
    return pd.DataFrame(
        {
            "c": rng.choice(["a", "b", "c"], n),
            "e": rng.choice(["u", "v"], n),
            "k": rng.integers(0, 6, n).astype(float),
        }
    )


def found(frame, is_member):
    cuts = cut_columns(COLUMNS, [frame], least=10)
    question = Members((is_member.to_numpy().astype(np.int64),))
    return CauseSearch(cuts, question), question


def test_one_condition_and_two_are_those_of_an_exhaustive_search():
    rng = np.random.default_rng(0)
    frame = table(rng)
    noise = rng.random(len(frame)) < 0.02
    for truth in (
        frame["c"] == "b",
        frame["k"].between(2, 4),
        (frame["c"] == "a") & (frame["k"] >= 3),
        (frame["c"] == "a") & (frame["e"] == "v"),
    ):
        is_member = truth ^ noise
        search, question = found(frame, is_member)
        rule = search.best_rule()
        met = np.ones(len(frame), dtype=bool)
        for condition in rule.of_columns:
            met &= condition.is_met(frame[condition.column.name])
        np.testing.assert_array_equal(met, truth)
        # By a slow way: all pairs of conditions, counted one by one.
        best = -np.inf
        for one, other in itertools.product(search.cuts, repeat=2):
            for cells in one.choices(is_fine=True):
                for others in other.choices(is_fine=True):
                    inside = (cells[one.codes[0]] > 0) & (others[other.codes[0]] > 0)
                    counts = np.bincount(question.bins[0][inside], minlength=2).astype(float)
                    rest = np.bincount(question.bins[0][~inside], minlength=2).astype(float)
                    if not counts.sum() or not rest.sum():
                        continue
                    if counts[1] * rest.sum() <= rest[1] * counts.sum():
                        continue
                    gain = likelihood(counts[1], counts.sum()) + likelihood(rest[1], rest.sum())
                    best = max(best, gain - likelihood(is_member.sum(), len(frame)))
        assert search._worth(rule) > 0.9 * best


def test_members_at_random_have_no_rule_of_two_conditions():
    rng = np.random.default_rng(1)
    for _ in range(5):
        frame = table(rng)
        search, _ = found(frame, pd.Series(rng.random(len(frame)) < 0.3))
        assert search.best_rule() is None


def test_a_rule_says_its_conditions_in_order():
    search, _ = found(table(np.random.default_rng(2)), pd.Series([True, False] * 300))
    cut = {cut.column.name: cut for cut in search.cuts}["c"]
    condition = cut.condition(cut.choices(is_fine=False)[0])
    rule = CauseRule().and_also(condition)
    assert rule.text == condition.text
    assert rule.without(condition) == CauseRule()
