"""A search over hyper-parameters for use under a shift."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.model_selection import (
    GridSearchCV,
    ParameterGrid,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)
from sklearn.utils import _safe_indexing, check_random_state, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params

from shiftmetrics._core.result import Status
from shiftmetrics._core.validation import describe
from shiftmetrics.adapters.sklearn.scorer import AgreementScorer, response_of, score_by
from shiftmetrics.agreement import posterior_agreement
from shiftmetrics.agreement.predictions import predicted_columns
from shiftmetrics.agreement.result import has_collapsed
from shiftmetrics.agreement.scores import prepare_pairs
from shiftmetrics.comparison.criteria import accuracy_and_f1, confusion, weighted_vote
from shiftmetrics.comparison.judges import AGREEMENT, OVER_CEILING, VOTE, choose_criterion

MEASURED = ("disagreement", "kappa", "normalized", "equivalent_error")

FIT = Status("fit", "It uses the classes, so that its agreement can be compared.")
COLLAPSED = Status(
    "collapsed",
    "It predicts far fewer classes than there are, and agrees with itself for that reason.",
    "Offer candidates that use the classes.",
    ok=False,
)


class AgreementSearchCV(ClassifierMixin, GridSearchCV):  # type: ignore[misc]
    """Search hyper-parameters for use under a shift, judged on held-out rows.

    With a ``shift``, each candidate predicts held-out rows and their shifted copies, and is judged by the labels that
    the shift keeps. Without one, two copies of it are fitted on disjoint halves of the training rows, and candidates
    are judged without labels by what both predict for the held-out rows, one taking the place of the shifted.

    Parameters
    ----------
    estimator : classifier
        With ``decision_function`` or ``predict_proba``; pipelines are welcome.
    param_grid : mapping, sequence of mappings, or iterable of settings
        As in ``GridSearchCV``; any other iterable, such as a ``ParameterSampler``, is tried as it stands.
    shift : callable, optional
        As in `AgreementScorer`. Default: models fitted on disjoint halves are compared.
    strength : float, optional
        How much of the shift.
    response_method : {"auto", "decision_function", "predict_proba", "predict_log_proba"}, default "auto"
        As in `AgreementScorer`.
    criterion : str, default "auto"
        Of `AgreementScorer`, or "vote": the match with the weighted vote of three or more candidates, without labels,
        as in `compare_agreement`. By default "accuracy_and_f1" with a shift; without one "vote", or for fewer
        candidates "agreement_over_ceiling".
    prior : array of shape (n_classes,), "uniform" or "predicted", default "predicted"
        As in `AgreementScorer`.
    cv : int, splitter or iterable, default 5
        As in scikit-learn; a number means stratified folds.
    refit : bool, default True
        Fit the best candidate on all rows.
    n_jobs : int, optional
        Processes, as in scikit-learn.
    random_state : int, RandomState or None
        Seed of the shift and of the halves, the same for every candidate.

    Attributes
    ----------
    cv_results_ : dict of arrays
        As in ``GridSearchCV``, without times, and with ``mean_disagreement`` (changed predictions), ``mean_kappa``,
        ``mean_normalized`` (agreement over its ceiling), ``mean_equivalent_error`` and ``status`` ("fit" or
        "collapsed") beside the scores. By agreement ``rank_test_score`` puts collapsed candidates last.
    criterion_ : str
        What candidates were judged by.
    best_index_, best_params_, best_score_ : int, dict, float
        The candidate of the highest mean score; by agreement, among those that have not collapsed.
    best_estimator_, classes_, n_features_in_, feature_names_in_
        Of the refitted estimator.
    status_ : Status
        With the code "collapsed", and not ok, where every candidate has collapsed; else "fit".
    n_splits_ : int
        Number of splits.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from shiftmetrics.adapters.sklearn import AgreementSearchCV
    >>> search = AgreementSearchCV(KNeighborsClassifier(), {"n_neighbors": [5, 49]}, cv=3, random_state=0)
    >>> search.fit(*load_iris(return_X_y=True)).best_params_
    {'n_neighbors': 5}
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        shift: Any = None,
        strength: float | None = None,
        response_method: str = "auto",
        criterion: str = "auto",
        prior: Any = "predicted",
        cv: Any = 5,
        refit: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.shift = shift
        self.strength = strength
        self.response_method = response_method
        self.criterion = criterion
        self.prior = prior
        self.cv = cv
        self.refit = refit
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, groups: Any = None, **fit_params: Any) -> Self:
        """Try all candidates and refit the best.

        Parameters
        ----------
        X : array, DataFrame or list of length n_samples
            Inputs.
        y : array of shape (n_samples,)
            Labels to train on.
        groups : array of shape (n_samples,), optional
            Rows that belong together stay together in folds and halves, if the splitter uses groups.
        **fit_params
            For ``fit`` of the estimator; those of length n_samples, such as ``sample_weight``, are split.

        Returns
        -------
        self
        """
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        check_classification_targets(y)
        X, y, groups = indexable(X, y, groups)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        scorer = None
        if self.shift is not None:
            scorer = AgreementScorer(
                self.shift, self.strength, self.response_method, prior=self.prior, random_state=seed
            )
        candidates = _candidates(self.param_grid)
        by_labels = scorer is not None or self.criterion != "auto"
        self.criterion_ = choose_criterion(
            self.criterion, len(candidates), labels=by_labels, other_rows=False
        )
        splits = list(check_cv(self.cv, y, classifier=True).split(X, y, groups))
        options = (self.criterion_, scorer, self.response_method, self.prior, seed)
        fitted = [clone(self.estimator).set_params(**clone(params, safe=False)) for params in candidates]
        work, data = delayed(_held_out), (X, y, groups, fit_params)
        found = Parallel(n_jobs=self.n_jobs)(
            work(estimator, *data, split, *options) for estimator in fitted for split in splits
        )
        if self.criterion_ == VOTE:
            for part in range(len(splits)):
                _vote(found[part :: len(splits)])
        self.n_splits_ = len(splits)
        self.cv_results_ = _results_table(candidates, found, self.criterion_)
        self.best_index_ = int(self.cv_results_["rank_test_score"].argmin())
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.status_ = COLLAPSED if (self.cv_results_["status"] == COLLAPSED.code).all() else FIT
        if not self.status_.ok:
            warnings.warn(f"All {len(candidates)} candidates: {self.status_.text}", stacklevel=2)
        if self.refit:
            self.best_estimator_ = clone(self.estimator).set_params(**clone(self.best_params_, safe=False))
            self.best_estimator_.fit(X, y, **fit_params)
            if hasattr(self.best_estimator_, "feature_names_in_"):
                self.feature_names_in_ = self.best_estimator_.feature_names_in_
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of the refitted estimator: what labels say of the choice."""
        return float(ClassifierMixin.score(self, X, y, sample_weight))


def _halves(rows: Any, y: Any, groups: Any, seed: int) -> list[Any]:
    """Return two disjoint halves of rows with the same classes; rows of one group stay together."""
    y, groups = np.asarray(y)[rows], None if groups is None else np.asarray(groups)[rows]
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    halves = next(kind(2, shuffle=True, random_state=seed).split(np.empty(len(y)), y, groups))
    classes = [np.unique(y[half]).tolist() for half in halves]
    if classes[0] != classes[1]:
        expected = "labels of which both halves of each training fold have every class"
        got = f"the classes {classes[0]} and {classes[1]}"
        remedy = "Merge rare classes, give fewer folds, or judge by a shift."
        raise ValueError(describe("y", expected, got, remedy))
    return [rows[half] for half in halves]


def _held_out(
    estimator: Any, X: Any, y: Any, groups: Any, fit_params: Mapping[str, Any], split: Any,
    criterion: str, scorer: AgreementScorer | None, response_method: str, prior: Any, seed: int,
) -> dict[str, Any]:  # fmt: skip
    """Fit one copy, or two on halves, and return what it makes of held-out rows: its score, or what it predicts."""
    train, test = split
    fitted = [
        clone(estimator).fit(
            _safe_indexing(X, rows), _safe_indexing(y, rows), **_check_method_params(X, fit_params, rows)
        )
        for rows in (_halves(train, y, groups, seed) if scorer is None else [train])
    ]
    X_test, y_test = _safe_indexing(X, test), np.asarray(_safe_indexing(y, test))
    sample, reference = (X_test, X_test) if scorer is None else scorer.pair(X_test)
    scores, kind = response_of(fitted[0], sample, response_method)
    reference_scores, _ = response_of(fitted[-1], reference, response_method)
    result = posterior_agreement(scores, reference_scores, kind=kind, prior=prior)
    found = {what: getattr(result, what) for what in MEASURED}
    expected = np.unique(y_test, return_counts=True)[1] / len(y_test)
    found["collapsed"] = float(has_collapsed(result.shares, expected))
    if criterion == VOTE:
        pair = predicted_columns(prepare_pairs(scores, reference_scores, kind=kind))
        return {**found, "predicted": fitted[0].classes_[np.stack(pair)]}
    return {**found, "score": score_by(criterion, result, fitted[0], sample, y_test)}


def _vote(found: list[dict[str, Any]]) -> None:
    """Judge the candidates of one split by the vote among them."""
    classes, codes = np.unique(np.stack([part.pop("predicted") for part in found]), return_inverse=True)
    shifted, before = codes.reshape(len(found), 2, -1).transpose(1, 0, 2)
    weights = np.ones(shifted.shape[1])
    vote, _ = weighted_vote(before, len(classes), weights)
    for part, row in zip(found, shifted, strict=True):
        part["score"] = accuracy_and_f1(confusion(vote, row, len(classes), weights))


def _candidates(param_grid: Any) -> list[dict[str, Any]]:
    if not isinstance(param_grid, Iterable):
        raise TypeError(describe("param_grid", "a mapping, or an iterable of settings", repr(param_grid)))
    is_grid = isinstance(param_grid, Mapping | Sequence)
    candidates = list(ParameterGrid(param_grid) if is_grid else param_grid)
    if not candidates:
        raise ValueError(describe("param_grid", "of at least one candidate", "none"))
    return candidates


def _results_table(
    candidates: list[dict[str, Any]], found: list[dict[str, Any]], criterion: str
) -> dict[str, Any]:
    """Return the columns of ``cv_results_``; ``found`` holds the splits of each candidate one after the other."""
    figures = {
        name: np.array([part[name] for part in found]).reshape(len(candidates), -1) for name in found[0]
    }
    results: dict[str, Any] = {}
    for name in sorted({name for params in candidates for name in params}):
        column = np.full(len(candidates), None)
        for place, params in enumerate(candidates):
            column[place] = params.get(name)
        results[f"param_{name}"] = np.ma.MaskedArray(column, [name not in params for params in candidates])
    results["params"] = candidates
    scores = figures["score"]
    results |= {f"split{part}_test_score": column for part, column in enumerate(scores.T)}
    results |= {"mean_test_score": scores.mean(axis=1), "std_test_score": scores.std(axis=1)}
    results |= {f"mean_{what}": figures[what].mean(axis=1) for what in MEASURED}
    collapsed = figures["collapsed"].mean(axis=1) > 0.5  # in most of the splits
    results["status"] = np.where(collapsed, COLLAPSED.code, FIT.code)
    mean, last = results["mean_test_score"], collapsed & (criterion in (AGREEMENT, OVER_CEILING))
    ahead = (last < last[:, None]) | ((last == last[:, None]) & (mean > mean[:, None]))
    results["rank_test_score"] = (1 + ahead.sum(axis=1)).astype(np.int32)
    return results
