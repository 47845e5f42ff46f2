"""From what users hand over to a question that routes can answer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import is_table
from shiftmetrics._core.validation import check_integer, check_rng
from shiftmetrics.models.arguments import check_columns, check_missing_cells, check_targets
from shiftmetrics.models.domain_arguments import domain_of
from shiftmetrics.models.encoders import encoded_categories
from shiftmetrics.models.outputs import check_model
from shiftmetrics.models.question import LossName, Question
from shiftmetrics.models.table import Table


def ask(
    model: Any,
    X: Any,
    y: Any,
    *,
    loss: LossName = "zero_one",
    theta1: float = 0.4,
    theta2: float = 0.4,
    features: Any = None,
    cost: Any = None,
    bounds: Any = None,
    immutable: Any = None,
    integer: Any = None,
    categorical: Any = None,
    one_hot: Any = None,
    label_flip: float = math.inf,
    n_queries: int = 500,
    background: Any = None,
    rng: Any = 0,
    progress: bool = True,
) -> Question:
    """Check what users hand over and put it as a question; the arguments are those of `model_stability`."""
    check_model(model)
    check_columns(model, X)
    levels = encoded_categories(model, list(X.columns) if is_table(X) else range(np.shape(X)[-1]))
    table = Table.of(X, categorical=() if categorical is None else categorical, levels=levels)
    check_missing_cells(model, table, table.codes)
    others = None
    if background is not None:
        check_columns(model, background)
        others = table.coded(background, "background")
        check_missing_cells(model, table, others, "background")
    positions, classes = check_targets(model, X, y, loss, table)
    domain = domain_of(
        table.codes,
        names=table.names,
        categories=table.n_categories,
        one_hot=one_hot,
        features=features,
        cost=cost,
        bounds=bounds,
        immutable=immutable,
        integer=integer,
        label_flip=label_flip,
    )
    return Question(
        model=model,
        table=table,
        y=positions,
        classes=classes,
        loss=loss,
        domain=domain,
        theta1=theta1,
        theta2=theta2,
        rng=check_rng(rng),
        n_queries=check_integer(n_queries, "n_queries", low=1),
        background=others,
        progress=progress,
    )
