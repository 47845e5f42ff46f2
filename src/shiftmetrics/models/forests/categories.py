"""Categories that a model made of trees takes as they are: which ones it knows, and the codes that its trees see."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np


def category_codes(model: Any) -> Callable[[Any], Any] | None:
    """Return what a model does to rows before its trees see them, or None where it does nothing.

    Histogram gradient boosting of scikit-learn puts columns of categories first, as ordinal numbers. LightGBM and
    XGBoost number the categories of a data frame as in training; what is unknown counts as missing.
    """
    if getattr(model, "_preprocessor", None) is not None:
        return lambda rows: model._preprocessor.transform(rows)
    booster = getattr(model, "booster_", None)
    if booster is not None:
        lists = getattr(booster, "pandas_categorical", None)
        return None if not lists else lambda rows: _in_order(rows, lists)
    if not _splits_categories(model):
        return None
    known = known_categories(model)
    return lambda rows: _by_position(rows, known)


def known_categories(model: Any) -> dict[int, list[Any]]:
    """Return the categories that a fitted XGBoost model knows, by the position of their column."""
    if not _splits_categories(model):
        return {}
    document = json.loads(bytes(model.get_booster().save_raw("json")))
    booster = document["learner"]["gradient_booster"]
    stored = booster.get("gbtree", booster).get("model", {}).get("cats") or {}
    lists = {column: _values(part) for column, part in enumerate(stored.get("enc") or [])}
    return {column: values for column, values in lists.items() if values}


def _splits_categories(model: Any) -> bool:
    """Tell whether a model is one of XGBoost with columns of categories."""
    if not type(model).__module__.startswith("xgboost") or not hasattr(model, "get_booster"):
        return False
    return "c" in (model.get_booster().feature_types or ())


def _values(part: Mapping[str, Any]) -> list[Any]:
    """Return stored categories: numbers, or texts as bytes one after another; none where the texts are not whole.

    XGBoost counts characters where it should count bytes, and so cuts texts that are not ASCII.
    """
    if "offsets" not in part:
        return list(part["values"])
    text, ends = bytes(value % 256 for value in part["values"]), part["offsets"]
    if not text.isascii():
        return []
    return [text[start:stop].decode() for start, stop in pairwise(ends)]


def _in_order(rows: Any, lists: Sequence[Sequence[Any]]) -> Any:
    """Return a table with numbers for its categories: those of the first such column by the first list."""
    places = [k for k, dtype in enumerate(getattr(rows, "dtypes", ())) if str(dtype) == "category"]
    return _by_position(rows, dict(zip(places, lists, strict=False)))


def _by_position(rows: Any, lists: Mapping[int, Sequence[Any]]) -> Any:
    import pandas as pd

    if not isinstance(rows, pd.DataFrame):
        return rows
    columns = {}
    for place, name in enumerate(rows.columns):
        column = rows.iloc[:, place]
        own = column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else None
        known = lists.get(place, own)
        if known is not None:
            codes = pd.Index(list(known), dtype=object).get_indexer(column.astype(object))
            columns[name] = np.where(codes < 0, np.nan, codes)
        else:
            columns[name] = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return pd.DataFrame(columns)
