"""XGBoost models, from the JSON that the library writes, as a `Forest`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.forests.forest import (
    LEAF,
    SINGLE_ROUNDING,
    Forest,
    Link,
    Tree,
    edge_for_float32,
)

_LINKS: dict[str, Link] = {
    "binary:logistic": "softmax",
    "multi:softmax": "softmax",
    "multi:softprob": "softmax",
    "reg:squarederror": "identity",
    "reg:absoluteerror": "identity",
    "reg:pseudohubererror": "identity",
    "reg:logistic": "logistic",
    "reg:gamma": "exp",
    "reg:tweedie": "exp",
    "count:poisson": "exp",
}


def read_xgboost(model: Any) -> Forest | None:
    """Return a fitted scikit-learn wrapper of XGBoost as a forest, or None where its trees are of another kind."""
    missing = getattr(model, "missing", math.nan)
    if not (
        isinstance(missing, float) and math.isnan(missing)
    ):  # other values of x would be missing ones
        return None
    document = json.loads(bytes(model.get_booster().save_raw("json")))
    return forest_of_json(document)


def forest_of_json(document: Mapping[str, Any]) -> Forest | None:
    """Read a parsed JSON model.

    Returns None for linear boosters, leaves with several values, and objectives with another link. Trees of dropout
    (DART) count with their weights.
    """
    learner = document["learner"]
    booster = learner["gradient_booster"]
    objective = learner["objective"]["name"]
    link = _LINKS.get(objective)
    if booster["name"] not in ("gbtree", "dart") or link is None:
        return None
    # DART keeps its trees one level further down, beside a weight for each.
    weights = booster.get("weight_drop")
    booster = booster.get("gbtree", booster)
    parameters = learner["learner_model_param"]
    model = booster["model"]
    n_classes = int(parameters["num_class"])
    n_targets = int(parameters.get("num_target", 1))
    n_outputs = max(1, n_classes)
    # Several targets or labels of a row: losses are of one value for each row.
    if n_targets > 1 or (n_outputs > 1 and link != "softmax"):
        return None
    trees = []
    used = _n_used(learner, model)
    pairs = zip(model["trees"], model["tree_info"], strict=True)
    for k, (tree, output) in enumerate(list(pairs)[:used]):
        leaf_size = tree["tree_param"].get("size_leaf_vector", 1)
        if int(leaf_size) > 1:
            return None
        weight = 1.0
        if weights is not None:
            weight = float(weights[k])
        trees.append(_tree(tree, output, weight))
    if not trees:
        return None
    return Forest.joined(
        trees,
        base=_base(parameters["base_score"], link, n_outputs),
        link=link,
        n_features=int(parameters["num_feature"]),
        rounding=SINGLE_ROUNDING,
    )


def _n_used(learner: Mapping[str, Any], model: Mapping[str, Any]) -> int:
    """Return how many trees predict: up to the best iteration where training stopped early."""
    attributes = learner.get("attributes", {})
    best = attributes.get("best_iteration")
    starts = model.get("iteration_indptr")
    if best is None or not starts:
        return len(model["trees"])
    last = len(starts) - 1
    following = min(int(best) + 1, last)
    return int(starts[following])


def _tree(tree: Mapping[str, Any], output: int, weight: float) -> Tree:
    left = np.asarray(tree["left_children"], dtype=np.int64)
    leaf = left == LEAF
    # A leaf keeps its value where a split keeps its threshold; both are float32.
    split = np.asarray(tree["split_conditions"], dtype=np.float32)
    threshold = np.where(leaf, np.float32(0.0), split)
    value = weight * split.astype(np.float64)
    subset, left_categories = _subsets(tree, len(left))
    return Tree(
        feature=np.where(leaf, LEAF, tree["split_indices"]),
        threshold=edge_for_float32(threshold, strict=True),
        missing_left=np.asarray(tree["default_left"]),
        left=left,
        right=np.asarray(tree["right_children"]),
        value=np.where(leaf, value, 0.0),
        output=output,
        subset=subset,
        left_categories=left_categories,
    )


def _subsets(tree: Mapping[str, Any], n_nodes: int) -> tuple[IntArray, BoolArray | None]:
    """Return which nodes split categories, and which of these go left: those that are not listed."""
    subset = np.full(n_nodes, LEAF)
    nodes = tree.get("categories_nodes") or []
    if not nodes:
        return subset, None
    listed = np.asarray(tree["categories"], dtype=np.int64)
    # One column more than there are listed codes stands for all from there on, which go left.
    width = int(listed.max()) + 2
    left = np.ones((len(nodes), width), dtype=np.bool_)
    starts = tree["categories_segments"]
    sizes = tree["categories_sizes"]
    for row, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        left[row, listed[start : start + size]] = False
    splitting = np.asarray(nodes, dtype=np.int64)
    subset[splitting] = np.arange(len(nodes))
    return subset, left


def _base(score: str, link: Link, n_outputs: int) -> FloatArray:
    """Return the outputs where all trees start: the score stands on the scale of the predictions."""
    parts = score.strip("[]").split(",")
    base = np.asarray([float(part) for part in parts], dtype=np.float64)
    if link == "logistic" or (link == "softmax" and n_outputs == 1):
        base = np.log(base) - np.log1p(-base)
    elif link == "exp":
        base = np.log(base)
    return np.broadcast_to(base, (n_outputs,)).copy()
