"""Trees and sums of trees of scikit-learn, as a `Forest`."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.models.forests.forest import LEAF, Forest, Link, Tree, bits, edge_for_float32

_HISTOGRAM_LINKS: dict[str, Link] = {
    "squared_error": "identity",
    "absolute_error": "identity",
    "quantile": "identity",
    "poisson": "exp",
    "gamma": "exp",
}


def read_sklearn(model: Any) -> Forest | None:
    """Return a fitted model of scikit-learn as a forest, or None where it is not one (or not of this kind)."""
    from sklearn import ensemble, tree

    if isinstance(model, tree.DecisionTreeClassifier | tree.DecisionTreeRegressor):
        return _averaged([model], model)
    if isinstance(
        model,
        ensemble.RandomForestClassifier
        | ensemble.ExtraTreesClassifier
        | ensemble.RandomForestRegressor
        | ensemble.ExtraTreesRegressor,
    ):
        return _averaged(model.estimators_, model)
    if isinstance(model, ensemble.GradientBoostingClassifier | ensemble.GradientBoostingRegressor):
        return _boosted(model)
    if isinstance(
        model, ensemble.HistGradientBoostingClassifier | ensemble.HistGradientBoostingRegressor
    ):
        return _histogram(model)
    return None


def _averaged(estimators: list[Any], model: Any) -> Forest | None:
    """Read trees whose class frequencies, or means, are averaged."""
    # With several targets each leaf holds a value for each, and a forest predicts one.
    if model.n_outputs_ != 1:
        return None
    classes = getattr(model, "classes_", None)
    trees = []
    for estimator in estimators:
        value = estimator.tree_.value[:, 0, :]
        if classes is not None:  # proportions already, or counts in older versions
            value = value / value.sum(axis=1, keepdims=True)
        trees.append(_tree(estimator.tree_, value))
    link: Link = "identity"
    if classes is not None:
        link = "probability"
    n_outputs = trees[0].value.shape[1]
    return Forest.joined(
        trees,
        base=np.zeros(n_outputs),
        link=link,
        n_features=model.n_features_in_,
        factor=1.0 / len(trees),
    )


def _boosted(model: Any) -> Forest | None:
    """Read gradient boosting: a constant, and steps of the size of the learning rate."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    # A first guess by another model is no constant.
    if not isinstance(model.init_, str | DummyClassifier | DummyRegressor):
        return None
    trees = []
    for stage in model.estimators_:
        for output, estimator in enumerate(stage):
            tree = estimator.tree_
            value = tree.value[:, 0, 0]
            trees.append(_tree(tree, value, output))
    # The constant is the same for every row.
    any_row = np.zeros((1, model.n_features_in_), dtype=np.float32)
    base = model._raw_predict_init(any_row)[0]
    link: Link = "identity"
    if hasattr(model, "classes_"):
        link = "softmax"
    # With the exponential loss the log-odds are twice the score.
    slope = 1.0
    if getattr(model, "loss", "") == "exponential":
        slope = 2.0
    return Forest.joined(
        trees,
        base=base,
        link=link,
        n_features=model.n_features_in_,
        factor=model.learning_rate,
        slope=slope,
    )


def _tree(tree: Any, value: FloatArray, output: int = 0) -> Tree:
    inner = tree.children_left >= 0
    nowhere = np.zeros(len(inner), dtype=np.bool_)
    return Tree(
        feature=np.where(inner, tree.feature, LEAF),
        threshold=edge_for_float32(tree.threshold, strict=False),
        missing_left=getattr(tree, "missing_go_to_left", nowhere),
        left=tree.children_left,
        right=tree.children_right,
        value=value,
        output=output,
    )


def _histogram(model: Any) -> Forest | None:
    """Read histogram gradient boosting, which compares in float64; its categories are codes already."""
    link: Link | None
    if hasattr(model, "classes_"):
        link = "softmax"
    else:
        link = _HISTOGRAM_LINKS.get(model.loss)
    if link is None:
        return None
    trees = []
    for stage in model._predictors:
        for output, predictor in enumerate(stage):
            nodes = predictor.nodes
            leaf = nodes["is_leaf"].astype(bool)
            feature = nodes["feature_idx"].astype(np.int64)
            splits_sets = nodes["is_categorical"] & ~leaf
            subset = nodes["bitset_idx"].astype(np.int64)
            sets = predictor.raw_left_cat_bitsets
            left_categories = None
            if len(sets):
                # One column more, for what is no category.
                left_categories = np.pad(bits(sets), ((0, 0), (0, 1)))
            tree = Tree(
                feature=np.where(leaf, LEAF, feature),
                threshold=nodes["num_threshold"],
                missing_left=nodes["missing_go_to_left"],
                left=nodes["left"],
                right=nodes["right"],
                value=nodes["value"],
                output=output,
                subset=np.where(splits_sets, subset, LEAF),
                left_categories=left_categories,
            )
            trees.append(tree)
    base = np.reshape(model._baseline_prediction, -1)
    return Forest.joined(trees, base=base, link=link, n_features=model.n_features_in_)
