"""Which library grew a model, told without importing any."""

from __future__ import annotations

from typing import Any

from shiftmetrics.models.forests.forest import Forest


def forest_of(model: Any) -> Forest | None:
    """Return a fitted model as a forest, or None where it is not made of trees that this package reads.

    Parameters
    ----------
    model : object
        A fitted decision tree, extra tree, random forest, extra trees, gradient boosting or histogram gradient
        boosting of scikit-learn, or a scikit-learn wrapper of XGBoost or LightGBM. Splits are on numbers or on codes
        of categories (see `category_codes`), each leaf has one value, and a classifier has one label.

    Returns
    -------
    Forest or None

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from shiftmetrics.models.forests import forest_of
    >>> model = DecisionTreeClassifier().fit([[0.0], [1.0]], ["no", "yes"])
    >>> forest_of(model).threshold[0].round(6)
    np.float64(0.5)
    """
    libraries = {cls.__module__.partition(".")[0] for cls in type(model).__mro__}
    if "xgboost" in libraries and hasattr(model, "get_booster"):
        from shiftmetrics.models.forests.from_xgboost import read_xgboost

        return read_xgboost(model)
    if "lightgbm" in libraries and hasattr(model, "booster_"):
        from shiftmetrics.models.forests.from_lightgbm import read_lightgbm

        return read_lightgbm(model)
    if "sklearn" in libraries:
        from shiftmetrics.models.forests.from_sklearn import read_sklearn

        return read_sklearn(model)
    return None
