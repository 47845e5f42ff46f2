"""CatBoost models from the JSON that the library writes, as a `Forest`."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.models.forests.forest import LEAF, Forest, Link, Tree, edge_for_float32
from shiftmetrics.models.reading.outputs import cells_of_column

_LINKS: dict[str, Link] = {
    "Logloss": "softmax",
    "CrossEntropy": "softmax",
    "MultiClass": "softmax",
    "MultiClassOneVsAll": "softmax",
    "RMSE": "identity",
    "MAE": "identity",
    "Quantile": "identity",
    "MAPE": "identity",
    "Poisson": "exp",
    "Tweedie": "exp",
}
_BY_CATEGORY = ("OneHotFeature", "OnlineCtr")


def read_catboost(model: Any) -> Forest | None:
    """Return a fitted model of CatBoost as a forest, or None where it is of another kind."""
    loss = model.get_all_params().get("loss_function", "")
    return forest_of_catboost(_document(model), loss.partition(":")[0])


def _document(model: Any) -> Mapping[str, Any]:
    """Return a model as the library writes it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def codes_of_catboost(model: Any) -> Callable[[Any], FloatArray] | None:
    """Return the map from rows to numbers and sides of splits by category; None for models of numbers alone.

    Categories are hashed, or replaced by statistics of the target. Either way the number of the leaf in which a row
    ends says on which side of each split of its tree it is.
    """
    if not len(model.get_cat_feature_indices()):
        return None
    columns = _Columns.of(_document(model))
    if columns is None:
        return None

    def to_codes(rows: Any) -> FloatArray:
        codes = np.full((len(rows), columns.width), np.nan)
        for place in columns.flat.values():
            codes[:, place] = np.asarray(cells_of_column(rows, place), dtype=np.float64)
        leaves = np.asarray(model.calc_leaf_indexes(rows))
        for split, (tree, level) in columns.first.items():
            codes[:, columns.place[split]] = (leaves[:, tree] >> level) & 1
        return codes

    return to_codes


@dataclass(frozen=True, eq=False)
class _Columns:
    """The columns that the trees of a model take: its numbers, and a side for each split by category.

    Attributes
    ----------
    flat : dict of int to int
        The place of each column of numbers.
    place : dict of int to int
        The column of each split by category.
    first : dict of int to (int, int)
        The first tree and level at which it stands.
    width : int
        How many columns there are.
    """

    flat: Mapping[int, int]
    place: Mapping[int, int]
    first: Mapping[int, tuple[int, int]]
    width: int

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> _Columns | None:
        """Find them; None where a split takes several columns, or texts."""
        info = document["features_info"]
        trees = document.get("oblivious_trees")
        if not trees or not set(info) <= {"float_features", "categorical_features", "ctrs"}:
            return None
        numbers = info.get("float_features", [])
        categories = info.get("categorical_features", [])
        flat = {column["feature_index"]: column["flat_feature_index"] for column in numbers}
        places = [column["flat_feature_index"] for column in [*numbers, *categories]]
        width = max(places) + 1
        # Splits are numbered: borders of numbers, then single categories, then borders of statistics.
        number = sum(len(column["borders"]) for column in numbers)
        number += sum(len(column.get("values", ())) for column in categories)
        joint: set[int] = set()
        for statistic in info.get("ctrs", []):
            following = number + len(statistic["borders"])
            kinds = [part["combination_element"] for part in statistic["elements"]]
            if kinds != ["cat_feature_value"]:
                joint.update(range(number, following))
            number = following
        first: dict[int, tuple[int, int]] = {}
        for tree, held in enumerate(trees):
            for level, split in enumerate(held.get("splits") or []):
                if split["split_type"] == "FloatFeature":
                    continue
                if split["split_type"] not in _BY_CATEGORY or split["split_index"] in joint:
                    return None
                first.setdefault(split["split_index"], (tree, level))
        place = {split: width + number for number, split in enumerate(first)}
        return cls(flat, place, first, width + len(place))


def forest_of_catboost(document: Mapping[str, Any], loss: str) -> Forest | None:
    """Read a parsed JSON model.

    Returns None for texts or embeddings, for splits that take several columns of categories at once, for trees that
    are not oblivious, and losses with another link.
    """
    link = _LINKS.get(loss)
    columns = _Columns.of(document)
    if link is None or columns is None:
        return None
    scale, bias = document["scale_and_bias"]
    bias = np.atleast_1d(np.asarray(bias, dtype=np.float64))
    missing_greater = {
        column["feature_index"]: column["nan_value_treatment"] == "AsTrue"
        for column in document["features_info"].get("float_features", [])
    }
    trees = document["oblivious_trees"]
    parts = [_oblivious(tree, columns, missing_greater, scale) for tree in trees]
    n_outputs = parts[0].value.shape[1]
    base = np.broadcast_to(bias, (n_outputs,)).copy()
    return Forest.joined(parts, base=base, link=link, n_features=columns.width)


# All nodes of a level split alike, and the number of a leaf has a bit for each level: the first split is the lowest.
# Nodes are numbered as in a heap, so that the children of node k are 2 k + 1 and 2 k + 2; the last split is the root.
def _oblivious(
    tree: Mapping[str, Any],
    columns: _Columns,
    missing_greater: Mapping[int, bool],
    scale: float,
) -> Tree:
    """Return an oblivious tree."""
    splits = tree.get("splits") or []
    depth = len(splits)
    n_leaves = 2**depth
    values = scale * np.asarray(tree["leaf_values"], dtype=np.float64).reshape(n_leaves, -1)
    n_inner = n_leaves - 1
    n_nodes = n_inner + n_leaves
    feature = np.full(n_nodes, LEAF)
    border = np.zeros(n_nodes)
    missing_left = np.zeros(n_nodes, dtype=np.bool_)
    subset = np.full(n_nodes, LEAF)
    for level, split in enumerate(reversed(splits)):
        nodes = slice(2**level - 1, 2 ** (level + 1) - 1)
        if split["split_type"] in _BY_CATEGORY:
            feature[nodes] = columns.place[split["split_index"]]
            # Their columns hold the side itself: by the one set below, 0 goes left and 1 right.
            subset[nodes] = 0
            continue
        number = split["float_feature_index"]
        feature[nodes] = columns.flat[number]
        border[nodes] = split["border"]
        # The question of CatBoost is whether a number is greater: what is true goes right.
        missing_left[nodes] = not missing_greater[number]
    value = np.zeros((n_nodes, values.shape[1]))
    value[n_inner:] = values
    node = np.arange(n_nodes)
    inner = node < n_inner
    return Tree(
        feature=feature,
        threshold=edge_for_float32(border, strict=False),
        missing_left=missing_left,
        left=np.where(inner, 2 * node + 1, LEAF),
        right=np.where(inner, 2 * node + 2, LEAF),
        value=value,
        subset=subset,
        left_categories=np.array([[True, False]]),
    )
