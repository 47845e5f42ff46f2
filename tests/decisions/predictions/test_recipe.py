"""A part of two tables is read as its witnesses were."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.decisions.predictions.partitioned_tables import KEY
from shiftmetrics.decisions.predictions.reading import PairArguments, read_pair
from shiftmetrics.decisions.predictions.recipe import PairRecipe, codes_of_words, recipe_of

RNG = np.random.default_rng(2)
SCORES = RNG.dirichlet(np.ones(3), 50)
OLD = pd.DataFrame(SCORES, columns=["a", "b", "c"]).assign(
    id=[f"row {place}" for place in range(50)], label=RNG.choice(["a", "b", "c"], 50), town="x"
)
NEW = OLD.drop(columns=["label", "town"]).assign(a=SCORES[::-1, 0], b=0.5 - SCORES[:, 2])
ARGUMENTS = PairArguments(groups="town")


def recipe_and_parts(arguments: PairArguments = ARGUMENTS, labels: bool = False):
    pair = read_pair(OLD, NEW, arguments)
    tables = OLD.assign(**{KEY: OLD["id"]}), NEW.assign(**{KEY: NEW["id"]})
    found = recipe_of(pair, tables, OLD["id"].to_numpy(), has_own_labels=labels)
    return pair, found, tables


def part_read(recipe: PairRecipe, tables, rows: slice):
    parts = tuple(table.iloc[rows] for table in tables)
    places = np.arange(len(parts[0]))
    keys = parts[0][KEY].to_numpy()
    return recipe.read(parts, keys, keys.astype(str), (places, places))


def test_a_part_has_the_codes_and_confidences_of_the_whole() -> None:
    pair, recipe, tables = recipe_and_parts()
    # the scores of ten rows alone might be probabilities of another kind
    found = part_read(recipe, tables, slice(20, 30))
    for name in ("old_codes", "new_codes", "labels"):
        assert np.array_equal(getattr(found, name), getattr(pair, name)[20:30])
    rows = np.arange(10)
    for side in ("old", "new"):
        own, whole = getattr(found, side), getattr(pair, side)
        assert own.form == whole.form
        expected = pair.confidence(whole, rows + 20)
        assert np.array_equal(found.confidence(own, rows), expected)
    assert found.rows.group.tolist() == ["x"] * 10
    assert list(found.rows.beside[0]) == ["town"]
    assert len(part_read(recipe, tables, slice(0, 0)).labels) == 0


def test_labels_of_a_table_of_their_own_are_found_by_id() -> None:
    labels = OLD[["id", "label"]].iloc[5:25]
    arguments = PairArguments(labels=labels)
    pair = read_pair(OLD.drop(columns="label"), NEW, arguments)
    tables = OLD.drop(columns="label").assign(**{KEY: OLD["id"]}), NEW.assign(**{KEY: NEW["id"]})
    recipe = recipe_of(pair, tables, OLD["id"].to_numpy(), has_own_labels=True)
    found = part_read(recipe, tables, slice(20, 30))
    assert np.array_equal(found.labels, pair.labels[20:30])
    assert found.rows.known.tolist() == [True] * 5 + [False] * 5


def test_a_word_without_a_witness_is_refused() -> None:
    words = np.array(["a", None, "b"], dtype=object)
    assert codes_of_words(words, {"a": 2, "b": 0}, "old", "label").tolist() == [2, -1, 0]
    with pytest.raises(ValueError, match="'b'"):
        codes_of_words(words, {"a": 2}, "old", "label")


def test_a_group_that_is_missing_is_refused() -> None:
    _, recipe, tables = recipe_and_parts()
    gaps = tables[0].assign(town=None), tables[1]
    with pytest.raises(ValueError, match="groups"):
        part_read(recipe, gaps, slice(0, 5))
    infinite = tables[0].assign(a=np.inf), tables[1]
    with pytest.raises(ValueError, match="finite"):
        part_read(recipe, infinite, slice(0, 5))
