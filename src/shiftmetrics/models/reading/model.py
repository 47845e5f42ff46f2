"""A fitted model on a sample, validated: its scores, decisions and losses at coded points, and where these may be."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray, is_table
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import check_choice, check_number, first_few
from shiftmetrics.models.domain.arguments import domain_of
from shiftmetrics.models.domain.domain import Domain
from shiftmetrics.models.domain.perturbation import Perturbation, Search
from shiftmetrics.models.domain.table import CodedTable
from shiftmetrics.models.reading.checks import (
    check_fits_in_memory,
    check_missing_cells,
    check_same,
    check_targets,
    class_positions,
    columns_of,
    decides_by_probability,
)
from shiftmetrics.models.reading.estimators import (
    LEAST_PROBABILITY,
    category_places,
    check_fitted,
    encoded_categories,
    estimator_of,
    is_module,
    known_categories,
    least_probability,
)
from shiftmetrics.models.reading.outputs import (
    class_log_probabilities,
    predicted_values,
    refuse_probabilities,
    scores_of_classes,
)
from shiftmetrics.models.reading.rules import Cut, Decision, behind
from shiftmetrics.models.reading.sessions import asked_for_outputs

T = TypeVar("T")
LossName = Literal["zero_one", "hinge", "log_loss", "squared"]
LOSSES: tuple[LossName, ...] = ("zero_one", "hinge", "log_loss", "squared")
LOSSES_IN_WORDS: dict[LossName, str] = {
    "zero_one": "loss",  # only with costs, which have words of their own, is it no error rate
    "hinge": "hinge loss",
    "log_loss": "log loss",
    "squared": "squared error",
}
_MOST_AGAIN = 200  # samples whose predictions are compared in the end


@dataclass
class QueryCount:
    """How many rows the model has predicted."""

    rows: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class ModelProblem:
    """What loss the samples can reach, and how far away.

    Attributes
    ----------
    model : object
        The fitted model whose scores decide.
    table : CodedTable
        The samples; ``table.decode`` turns coded points into what the model accepts.
    is_frame : bool
        Whether the samples were given as a table, whatever the model accepts.
    y : array of shape (n_samples,)
        Positions of the labels among ``classes``; the values themselves for the squared loss.
    classes : array of shape (n_classes,) or None
        The classes of the model, in its order; None for the squared loss.
    loss : {"zero_one", "hinge", "log_loss", "squared"}
        The loss.
    domain : Domain
        Where samples may go.
    rule : Decision
        What predicts: the model, or a rule around it.
    cut : Cut or None
        Where this rule cuts the scores of ``model``; None where it decides by the highest score.
    costs : array of shape (n_classes,) or None
        What an error on a sample of each class costs, for the 0/1 loss; None for 1.
    clip : float
        Least probability that counts in the log loss.
    theta1 : float
        Price of changes, for searches that depend on it.
    search : Search
        How to search, and how to compute.
    rng : numpy.random.Generator
        For searches that are random.
    count : QueryCount
        Counts the rows that `predict` and `losses` pass to the model.
    known : dict
        What routes found out about the model, whatever may change; see `once`.
    """

    model: Any
    table: CodedTable
    is_frame: bool
    y: npt.NDArray[Any]
    classes: npt.NDArray[Any] | None
    loss: LossName
    domain: Domain
    rule: Decision
    cut: Cut | None = None
    costs: FloatArray | None = None
    clip: float = LEAST_PROBABILITY
    theta1: float = 0.4
    search: Search = field(default_factory=Search)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    count: QueryCount = field(default_factory=QueryCount)
    known: dict[str, Any] = field(default_factory=dict)

    @property
    def codes(self) -> FloatArray:
        """The samples, coded, of shape (n_samples, n_features)."""
        return self.table.codes

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.codes)

    @property
    def is_fixed(self) -> bool:
        """Whether no sample may change, so that only the weights do."""
        return math.isinf(self.theta1) or self.domain.is_fixed

    def restricted(self, features: Any) -> Self:
        """Return the problem in which these columns alone may change."""
        return replace(self, domain=self.domain.restricted(features))

    def once(self, name: str, find: Callable[[Self], T]) -> T:
        """Return what ``find`` finds out about the model, once for all problems that restrict this one."""
        if name not in self.known:
            self.known[name] = find(self)
        return cast(T, self.known[name])

    def note(self, text: str) -> None:
        """Keep in words why a route with a better answer does not know the model."""
        self.known.setdefault("notes", {})[text] = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What was noted."""
        return tuple(self.known.get("notes", ()))

    def settings(self) -> dict[str, Any]:
        """Return how outputs of the model are read, for the ``settings`` of a result."""
        reading: dict[str, Any] = {
            "model": type(self.rule.model).__name__,
            "loss": self.loss,
            "loss_in_words": LOSSES_IN_WORDS[self.loss],
        }
        decision = self.rule.settings()
        if decision:
            reading["decision"] = decision
        if self.loss == "log_loss":
            reading["clip"] = self.clip
        return reading

    def with_samples(self, codes: FloatArray, y: npt.NDArray[Any]) -> ModelProblem:
        """Return the problem of other coded samples, and their labels."""
        return replace(self, table=replace(self.table, codes=codes), y=y)

    # The model at coded points.

    def _decoded(self, points: FloatArray) -> Any:
        self.count.rows += len(points)
        return self.table.decode(points)

    def predict(self, points: FloatArray) -> npt.NDArray[Any]:
        """Return the position of the predicted class at coded points (-1: none of them); values for regressions."""
        if self.classes is None:
            return predicted_values(self.model, self._decoded(points))
        return class_positions(self.rule.predict(self._decoded(points)), self.classes)

    def is_wrong(self, points: FloatArray, rows: IntArray | slice) -> BoolArray:
        """Return where the model misclassifies coded points, for the labels of ``rows``."""
        return np.asarray(self.predict(points) != self.y[rows])

    def scores(self, points: FloatArray) -> FloatArray:
        """Return the scores of each class at coded points, or values in one column for regressions."""
        if self.classes is None:
            return self.predict(points)[:, None]
        scores = scores_of_classes(self.model, self._decoded(points))
        if self.cut is None:
            return scores
        return scores - [0.0, self.cut.logit]

    def losses(self, points: FloatArray, rows: IntArray | slice) -> FloatArray:
        """Return the loss of the model at coded points, for the labels of ``rows``."""
        y = self.y[rows]
        # Errors are those of the rule; the other losses are of the model inside it.
        if self.loss == "zero_one":
            errors = self.is_wrong(points, rows).astype(np.float64)
            if self.costs is not None:
                errors *= self.costs[y]
            return errors
        if self.loss == "log_loss":
            logs = class_log_probabilities(self.model, self._decoded(points), self.clip)
            own = logs[np.arange(len(points)), y]
            return np.asarray(np.maximum(-own, 0.0))
        return losses_of_scores(self.loss, y, self.scores(points))

    # What is refused once the threshold is known, and in the end.

    def check_threshold(self, threshold: float | None) -> None:
        """Refuse a threshold that no error rate has, such as a percentage.

        Raises
        ------
        ValueError
            If it is above the cost of an error, for the 0/1 loss.
        """
        if threshold is not None:
            check_number(threshold, "threshold", low=0.0)
        elif self.loss != "zero_one" or self.costs is not None:
            expected = "given for losses other than 0 and 1"
            raise ArgumentValueError("threshold", expected, "None")
        if threshold is None or self.loss != "zero_one":
            return
        if self.costs is None:
            expected = "an error rate from 0 to 1"
            highest = 1.0
        else:
            highest = float(self.costs.max())
            expected = f"a mean cost of errors from 0 to {highest:g}, the highest cost"
        if threshold > highest:
            remedy = "Write a percentage as a fraction: 0.2 for 20 %."
            raise ArgumentValueError("threshold", expected, f"{threshold:g}", remedy)

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Refuse a model that calls change: after the work it must lose what it lost before.

        Raises
        ------
        ValueError
            If the losses of some samples differ.
        """
        # What is not counted as queries: samples before the work, and after it.
        evenly = np.linspace(0, self.n_samples - 1, _MOST_AGAIN)
        some = np.unique(evenly.astype(int))
        uncounted = replace(self, count=QueryCount())
        first = uncounted.losses(self.codes[some], some)
        yield
        check_same(uncounted.losses(self.codes[some], some), first)


def losses_of_scores(loss: LossName, y: npt.NDArray[Any], scores: FloatArray) -> FloatArray:
    """Return the loss of each sample from its scores; no probability is rounded to 0 on the way.

    Parameters
    ----------
    loss : {"hinge", "log_loss", "squared"}
        The loss.
    y : array of shape (n,)
        Positions of the labels, or values.
    scores : array of shape (n, n_classes)
        Scores of the classes; values in one column for the squared loss.
    """
    from scipy.special import logsumexp

    if loss == "squared":
        return np.asarray((scores[:, 0] - y) ** 2)
    everyone = np.arange(len(scores))
    own = scores[everyone, y]
    gaps = scores - own[:, None]
    if loss == "log_loss":
        # log sum_k exp(s_k - s_y), of which the term of the label is 1
        return np.asarray(logsumexp(gaps, axis=1))
    # The hinge: 1 plus the lead of the best rival over the label.
    gaps[everyone, y] = -np.inf
    leads = gaps.max(axis=1)
    return np.asarray(np.maximum(1.0 + leads, 0.0))


def problem_of(
    model: Any,
    X: Any,
    y: Any,
    *,
    loss: LossName = "zero_one",
    theta1: float = 0.4,
    perturbation: Perturbation | None = None,
    search: Search | None = None,
    everything: bool = False,
) -> ModelProblem:
    """Validate the arguments of `model_stability`; with ``everything``, ``features`` restricts nothing.

    Without ``y``, the labels are the model's own predictions.
    """
    check_choice(loss, "loss", LOSSES)
    perturbation = perturbation or Perturbation()
    search = search or Search()
    rule = model
    if not isinstance(rule, Decision):
        rule = Decision(model)
    # The model as an estimator, and what routes see: the model inside it whose scores decide, and where they are cut.
    check_fitted(rule.model)
    model = estimator_of(rule.model)
    # The columns that it was fitted on; a network of scores, not of probabilities.
    X = columns_of(model, X)
    check_fits_in_memory(model, X, search)
    model = asked_for_outputs(model, X, loss)
    rule = replace(rule, model=model)
    decides = loss == "zero_one"
    core, cut = behind(rule, decides=decides)
    if is_module(model) and loss != "squared":
        refuse_probabilities(model, X)
    # The table, with the categories that the model knows.
    is_frame = is_table(X)
    names: Sequence[Any]
    if is_frame:
        names = list(X.columns)
    else:
        n_columns = np.shape(X)[-1]
        names = range(n_columns)
    categories = encoded_categories(core, names) or known_categories(core)
    marked = [*(perturbation.categorical or ()), *category_places(core)]
    table = CodedTable.of(X, categorical=marked, levels=categories)
    fitted_on_array = hasattr(model, "n_features_in_") and not hasattr(model, "feature_names_in_")
    if fitted_on_array and list(getattr(model, "feature_names_", ())) != list(names):  # CatBoost's
        table = replace(table, is_frame=False)  # it was fitted on an array
    check_missing_cells(model, table)
    known: dict[str, Any] = {}
    if decides and decides_by_probability(rule, y, table):
        text = (
            "What the model predicts was read as a probability; it decides for class 1 from 0.5 on."
        )
        known["notes"] = {text: None}
        rule = replace(rule, threshold=0.5)
        core = rule
    positions, classes = check_targets(rule, y, loss, table, categories)
    deciding = rule
    if not decides:
        deciding = Decision(core)
    return ModelProblem(
        model=core,
        table=table,
        is_frame=is_frame,
        y=positions,
        classes=classes,
        loss=loss,
        domain=domain_of(table, perturbation, everything=everything),
        rule=deciding,
        cut=cut,
        costs=_costs(rule, classes, loss),
        clip=search.clip or least_probability(core),
        theta1=check_number(theta1, "theta1", low=0.0, open_low=True, allow_inf=True),
        search=search,
        rng=np.random.default_rng(search.rng),
        known=known,
    )


def _costs(rule: Decision, classes: npt.NDArray[Any] | None, loss: LossName) -> FloatArray | None:
    """Return what an error on a sample of each class costs; None where all cost the same.

    Raises
    ------
    ValueError
        If costs are given for another loss, or for labels outside the classes.
    """
    if rule.costs is None:
        return None
    if loss != "zero_one" or classes is None:
        raise ArgumentValueError("loss", "'zero_one' where errors have costs", value=loss)
    labels = classes.tolist()
    unknown = [label for label in rule.costs if label not in labels]
    if unknown:
        expected = f"by labels that the model knows ({first_few(labels)})"
        raise ArgumentValueError("costs", expected, first_few(unknown))
    return np.array([float(rule.costs.get(label, 1.0)) for label in labels])
