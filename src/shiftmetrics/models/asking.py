"""From the arguments of `model_stability` to a question that routes can answer."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftmetrics._core.arrays import is_table
from shiftmetrics.models.arguments import check_columns, check_missing_cells, check_targets
from shiftmetrics.models.encoders import encoded_categories
from shiftmetrics.models.moves import Moves, Search
from shiftmetrics.models.outputs import check_model
from shiftmetrics.models.question import LossName, Question
from shiftmetrics.models.table import Table


def question_of(
    model: Any,
    X: Any,
    y: Any,
    *,
    loss: LossName = "zero_one",
    theta1: float = 0.4,
    theta2: float = 0.4,
    moves: Moves | None = None,
    search: Search | None = None,
    everything: bool = False,
) -> Question:
    """Validate the arguments of `model_stability`; with ``everything``, ``moves.features`` restricts nothing."""
    moves, search = moves or Moves(), search or Search()
    check_model(model)
    check_columns(model, X)
    levels = encoded_categories(model, list(X.columns) if is_table(X) else range(np.shape(X)[-1]))
    table = Table.of(X, categorical=moves.categorical or (), levels=levels)
    check_missing_cells(model, table, table.codes)
    others = None
    if search.background is not None:
        check_columns(model, search.background)
        others = table.coded(search.background, "background")
        check_missing_cells(model, table, others, "background")
    positions, classes = check_targets(model, X, y, loss, table)
    return Question(
        model=model,
        table=table,
        y=positions,
        classes=classes,
        loss=loss,
        domain=moves.domain(table, everything=everything),
        theta1=theta1,
        theta2=theta2,
        rng=np.random.default_rng(search.rng),
        n_queries=search.n_queries,
        background=others,
        progress=search.progress,
    )
