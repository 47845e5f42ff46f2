"""The arguments of `model_stability`, validated: a model, rows, labels, a loss, and where the rows may move."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray, is_table
from shiftmetrics._core.labels import check_labels
from shiftmetrics._core.validation import check_vector, describe, first_few
from shiftmetrics.models.domain import Domain
from shiftmetrics.models.moves import Moves, Search
from shiftmetrics.models.outputs import (
    call,
    check_model,
    class_log_probabilities,
    class_scores,
    encoded_categories,
    is_module,
    predicted_labels,
    predicted_values,
)
from shiftmetrics.models.table import Table

LossName = Literal["zero_one", "hinge", "log_loss", "squared"]
LOSSES: tuple[LossName, ...] = ("zero_one", "hinge", "log_loss", "squared")
_MOST_TRIED = 256  # rows with missing cells


@dataclass
class QueryCount:
    """How many rows the model has predicted."""

    rows: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Question:
    """What loss the rows can reach, and how far away.

    Attributes
    ----------
    model : object
        The fitted model.
    table : Table
        The rows; ``table.decode`` turns coded points into what the model accepts.
    y : array of shape (n_samples,)
        Positions of the labels among ``classes``; the values themselves for the squared loss.
    classes : array of shape (n_classes,) or None
        The classes of the model, in its order; None for the squared loss.
    loss : {"zero_one", "hinge", "log_loss", "squared"}
        The loss.
    domain : Domain
        Where rows may move.
    theta1, theta2 : float
        Prices, for searches that depend on them.
    rng : numpy.random.Generator
        For searches that are random.
    n_queries : int
        Most queries for each row, for searches that only predict.
    background : array of shape (n_background, n_features) or None
        Other coded rows that searches may start from.
    progress : bool
        Whether to show progress bars for work of more than two seconds.
    memory_limit : int or None
        Bytes that the points of a search may take.
    count : QueryCount
        Counts the rows that `predict` and `losses` pass to the model.
    """

    model: Any
    table: Table
    y: npt.NDArray[Any]
    classes: npt.NDArray[Any] | None
    loss: LossName
    domain: Domain
    theta1: float = 0.4
    theta2: float = 0.4
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    n_queries: int = 500
    background: FloatArray | None = None
    progress: bool = True
    memory_limit: int | None = None
    count: QueryCount = field(default_factory=QueryCount)

    @property
    def codes(self) -> FloatArray:
        """The rows, coded, of shape (n_samples, n_features)."""
        return self.table.codes

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def immovable(self) -> bool:
        """Whether neither rows nor labels may change, so that their weights alone do."""
        labels_fixed = math.isinf(self.domain.label_flip)
        return math.isinf(self.theta1) or (self.domain.immovable and labels_fixed)

    def _decoded(self, points: FloatArray) -> Any:
        self.count.rows += len(points)
        return self.table.decode(points)

    def predict(self, points: FloatArray) -> npt.NDArray[Any]:
        """Return the position of the predicted class at coded points (-1: none of them); values for regressions."""
        if self.classes is None:
            return self.scores(points)[:, 0]
        return class_positions(predicted_labels(self.model, self._decoded(points)), self.classes)

    def scores(self, points: FloatArray) -> FloatArray:
        """Return the scores of each class at coded points, or values in one column for regressions."""
        if self.classes is None:
            return predicted_values(self.model, self._decoded(points))[:, None]
        return class_scores(self.model, self._decoded(points))

    def losses(self, points: FloatArray, rows: IntArray | slice) -> FloatArray:
        """Return the loss of the model at coded points, for the labels of ``rows``."""
        y = self.y[rows]
        if self.loss == "squared":
            residuals = self.predict(points) - y
            return np.asarray(residuals * residuals)
        if self.loss == "zero_one":
            return np.asarray(self.predict(points) != y, dtype=np.float64)
        everyone = np.arange(len(points))
        if self.loss == "log_loss":
            logs = class_log_probabilities(self.model, self._decoded(points))
            return np.asarray(np.maximum(-logs[everyone, y], 0.0))
        scores = self.scores(points)
        rivals = scores.copy()
        rivals[everyone, y] = -np.inf
        return np.asarray(np.maximum(1.0 + rivals.max(axis=1) - scores[everyone, y], 0.0))

    def is_wrong(self, points: FloatArray, rows: IntArray | slice) -> BoolArray:
        """Tell where the model misclassifies coded points, for the labels of ``rows``."""
        return np.asarray(self.predict(points) != self.y[rows])


def class_positions(labels: npt.NDArray[Any], classes: npt.NDArray[Any]) -> IntArray:
    """Return the position of each label among the classes, -1 where it is none of them."""
    order = np.argsort(classes, kind="stable")
    place = np.minimum(np.searchsorted(classes, labels, sorter=order), len(classes) - 1)
    found = order[place]
    return np.where(classes[found] == labels, found, -1).astype(np.int64)


def check_columns(model: Any, X: Any) -> None:
    """Refuse a table whose columns are not those that the model was fitted on, in their order.

    Raises
    ------
    ValueError
        If a column is missing, unknown or in another place; the first three differences are listed.
    """
    known, n_features = getattr(model, "feature_names_in_", None), getattr(model, "n_features_in_", None)
    if known is None or not is_table(X):
        shape = np.shape(X)
        if n_features is None or shape[1:] == (n_features,):
            return
        if len(shape) == 2:
            expected, got, remedy = f"of {n_features} columns", f"{shape[1]} columns", ""
        else:
            expected, got = f"of shape (n_samples, {n_features})", f"shape {shape}"
            remedy = "Pass X.reshape(len(X), -1)."
        raise ValueError(describe("X", f"{expected}, as the model was fitted on", got, remedy))
    names, columns = list(known), list(X.columns)
    if names == columns:
        return
    missing = [name for name in names if name not in set(columns)]
    extra = [name for name in columns if name not in set(names)]
    remedy = "Give the table that the model predicts on."
    parts = [f"without {first_few(missing)}"] if missing else []
    parts += [f"with {first_few(extra)}, unknown to the model"] if extra else []
    if not parts:
        pairs = enumerate(zip(names, columns, strict=True))
        moved = [f"{there!r} where {here!r} was (column {k})" for k, (here, there) in pairs if here != there]
        parts, remedy = [first_few(moved, show=str)], "Pass X[list(model.feature_names_in_)]."
    expected = "a table with the columns that the model was fitted on, in their order"
    raise ValueError(describe("X", expected, " and ".join(parts), remedy))


def check_missing_cells(model: Any, table: Table, codes: FloatArray, argument: str = "X") -> None:
    """Refuse missing cells that the model does not take, by its outputs for a row of each column that has some.

    Raises
    ------
    ValueError
        If the model raises an error for these rows but not for a complete one, or returns NaN; the columns are named.
    """
    missing = np.isnan(codes)
    incomplete = missing.any(axis=1)
    if not incomplete.any():
        return
    columns = np.flatnonzero(missing.any(axis=0))
    tried = np.unique(missing[:, columns].argmax(axis=0))[:_MOST_TRIED]
    reason, cause = None, "its output is NaN"
    try:
        if not any(np.isnan(part).any() for part in _outputs(model, table.decode(codes[tried]))):
            return
    except Exception as error:
        if not incomplete.all():  # an error that is not about missing cells is raised again
            _outputs(model, table.decode(codes[~incomplete][:1]))
        reason, cause = error, str(error).strip().partition("\n")[0] or type(error).__name__
    counts = missing.sum(axis=0)
    shown = first_few(columns, show=lambda k: f"{counts[k]:,} in column {table.names[k]!r}")
    raise ValueError(
        describe(
            argument, f"free of missing cells for this {type(model).__name__}", shown,
            f"Put an imputer before it in a pipeline, or drop {int(incomplete.sum()):,} rows. "
            f"The model: {cause}",
        )
    ) from reason  # fmt: skip


def _outputs(model: Any, X: Any) -> list[FloatArray]:
    """Return the outputs of a model that are numbers."""
    methods = [getattr(model, name, None) for name in ("predict", "predict_proba", "decision_function")]
    outputs = [np.asarray(method(X)) for method in methods if method is not None] or [call(model, X)]
    return [output.astype(np.float64) for output in outputs if output.dtype.kind == "f"]


def check_targets(
    model: Any, X: Any, y: Any, loss: LossName, table: Table
) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None]:
    """Return labels as positions among the classes of the model, and these; or values and None for a regression.

    Raises
    ------
    ValueError
        If labels are missing, or unknown to the model, or the loss does not fit the model.
    """
    if loss == "squared":
        if hasattr(model, "classes_"):
            raise ValueError(
                describe("loss", "one of a classifier", "'squared'", 'Use "zero_one", "hinge" or "log_loss".')
            )
        return check_vector(y, "y", length=len(table.codes)), None
    if _is_regressor(model):
        raise ValueError(describe("loss", "'squared' for a regression", repr(loss)))
    labels = check_labels(y, "y", length=len(table.codes))
    if hasattr(model, "classes_"):
        classes = np.asarray(model.classes_)
    elif is_module(model):
        classes = np.arange(class_scores(model, table.decode(table.codes[:1])).shape[1])
    else:
        seen = predicted_labels(model, table.decode(table.codes))
        classes = np.unique(np.concatenate([seen, labels.astype(seen.dtype, copy=False)]))
    positions = class_positions(labels, classes)
    if (positions < 0).any():
        unknown = np.unique(labels[positions < 0]).tolist()
        raise ValueError(
            describe(
                "y", f"labels that the model knows ({first_few(classes.tolist())})",
                f"{first_few(unknown)} in {int((positions < 0).sum())} rows",
                "Drop these rows, or fit the model on them.",
            )
        )  # fmt: skip
    return positions, classes


def _is_regressor(model: Any) -> bool:
    if "sklearn" not in sys.modules or not hasattr(model, "get_params"):
        return False
    from sklearn.base import is_regressor

    return bool(is_regressor(model))


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
        memory_limit=search.memory_limit,
    )
