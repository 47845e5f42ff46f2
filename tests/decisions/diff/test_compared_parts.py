"""One pair of partitions comes down to its changed rows and its sums."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.decisions.diff.compared import compared_rows
from shiftmetrics.decisions.diff.compared_parts import (
    MOST_CHANGED,
    MOST_STRANGERS,
    check_counts,
    compare_part,
    counts_of_part,
    refuse_alone,
)
from shiftmetrics.decisions.predictions.partitioned_tables import KEY, POSITION
from shiftmetrics.decisions.predictions.reading import PairArguments, read_pair
from shiftmetrics.decisions.predictions.recipe import recipe_of

RNG = np.random.default_rng(3)
SCORES = RNG.dirichlet(np.ones(3), 40)
OLD = pd.DataFrame(SCORES, columns=["a", "b", "c"]).assign(id=np.arange(40) * 2)
NEW = OLD.assign(a=SCORES[:, 1], b=SCORES[:, 0])
PAIR = read_pair(OLD, NEW, PairArguments())
WANTED = np.arange(0, 40, 3)


def keyed(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(**{KEY: frame["id"], POSITION: np.arange(len(frame))})


RECIPE = recipe_of(PAIR, (keyed(OLD), keyed(NEW)), OLD["id"].to_numpy(), has_own_labels=False)


def test_a_part_in_any_order_has_the_changed_rows_and_sums_of_the_whole() -> None:
    order = RNG.permutation(40)
    found = compare_part(keyed(OLD), keyed(NEW).iloc[order], RECIPE, WANTED, True)
    whole = compared_rows(PAIR)
    assert np.array_equal(found.positions, whole.positions)
    assert np.array_equal(found.pair.new_codes, whole.pair.new_codes)
    assert np.array_equal(found.totals.answers, whole.totals.answers)
    assert found.totals.sampled.positions.tolist() == WANTED.tolist()
    assert (found.strangers, found.example, found.n_alone_new) == (set(), None, 0)
    assert counts_of_part(found) == (len(whole.positions), 0)


def test_rows_of_one_side_are_counted_and_named() -> None:
    found = compare_part(keyed(OLD), keyed(NEW).iloc[4:], RECIPE, WANTED, True)
    assert found.alone.tolist() == [0, 1, 2, 3]
    assert found.totals.n_samples == 36
    with pytest.raises(ValueError, match=r"4 rows of old and 0 of new alone, such as '0'"):
        refuse_alone([found], 36)
    found = compare_part(keyed(OLD).iloc[:30], keyed(NEW), RECIPE, WANTED, True)
    assert (found.n_alone_new, found.example) == (10, "60")


def test_scores_that_contradict_the_witnesses_are_named_and_nothing_is_compared() -> None:
    strange = keyed(OLD)
    strange.loc[[3, 5, 7, 9], "a"] = 2.0
    found = compare_part(strange, keyed(NEW), RECIPE, WANTED, True)
    assert found.strangers == {6, 10, 14}
    assert len(found.strangers) == MOST_STRANGERS
    assert found.totals.n_samples == len(found.positions) == len(found.alone) == 0


def test_counts_up_to_the_limit_pass() -> None:
    check_counts(np.array([[MOST_CHANGED - 1, 5], [1, MOST_CHANGED - 5]]))
    with pytest.raises(ValueError, match="changed rows"):
        check_counts(np.array([[MOST_CHANGED, 0], [1, 0]]))
    with pytest.raises(ValueError, match="old must"):
        check_counts(np.array([[0, MOST_CHANGED], [0, 1]]))
