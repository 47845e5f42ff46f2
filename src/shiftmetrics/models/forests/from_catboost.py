"""CatBoost models on columns of numbers, from the JSON that the library writes, as a `Forest`."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shiftmetrics.models.forests.forest import LEAF, Forest, Link, Tree, edge_for_float32

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


def read_catboost(model: Any) -> Forest | None:
    """Return a fitted model of CatBoost as a forest, or None where it is of another kind."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        document = json.loads(path.read_text(encoding="utf-8"))
    loss = model.get_all_params().get("loss_function", "")
    return forest_of_catboost(document, loss.partition(":")[0])


def forest_of_catboost(document: Mapping[str, Any], loss: str) -> Forest | None:
    """Read a parsed JSON model.

    Returns None for columns of categories, texts or embeddings, for trees that are not oblivious, and losses with
    another link.
    """
    link = _LINKS.get(loss)
    trees = document.get("oblivious_trees")
    columns = document["features_info"].get("float_features", [])
    if link is None or not trees or len(document["features_info"]) != 1:
        return None
    scale, bias = document["scale_and_bias"]
    bias = np.atleast_1d(np.asarray(bias, dtype=np.float64))
    flat = {column["feature_index"]: column["flat_feature_index"] for column in columns}
    missing_greater = {
        column["feature_index"]: column["nan_value_treatment"] == "AsTrue" for column in columns
    }
    parts = []
    for tree in trees:
        part = _oblivious(tree, flat, missing_greater, scale)
        if part is None:
            return None
        parts.append(part)
    n_outputs = parts[0].value.shape[1]
    base = np.broadcast_to(bias, (n_outputs,)).copy()
    return Forest.joined(parts, base=base, link=link, n_features=max(flat.values()) + 1)


# All nodes of a level split alike, and the number of a leaf has a bit for each level: the first split is the lowest.
# Nodes are numbered as in a heap, so that the children of node k are 2 k + 1 and 2 k + 2; the last split is the root.
def _oblivious(
    tree: Mapping[str, Any],
    flat: Mapping[int, int],
    missing_greater: Mapping[int, bool],
    scale: float,
) -> Tree | None:
    """Return an oblivious tree; None where it splits what is no number."""
    splits = tree.get("splits") or []
    if any(split["split_type"] != "FloatFeature" for split in splits):
        return None
    depth = len(splits)
    n_leaves = 2**depth
    values = scale * np.asarray(tree["leaf_values"], dtype=np.float64).reshape(n_leaves, -1)
    n_inner = n_leaves - 1
    n_nodes = n_inner + n_leaves
    feature = np.full(n_nodes, LEAF)
    border = np.zeros(n_nodes)
    missing_left = np.zeros(n_nodes, dtype=np.bool_)
    for level, split in enumerate(reversed(splits)):
        nodes = slice(2**level - 1, 2 ** (level + 1) - 1)
        number = split["float_feature_index"]
        feature[nodes] = flat[number]
        border[nodes] = split["border"]
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
    )
