"""A search over hyper-parameters that looks at no labels when it judges a candidate."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid, StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing, check_random_state, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.numerics import entropy
from shiftmetrics._core.record import StatusEnum as Status
from shiftmetrics._core.validation import describe
from shiftmetrics.adapters.sklearn.scorer import AgreementScorer, agreement_scorer, response_of, shifted_pair
from shiftmetrics.agreement import posterior_agreement
from shiftmetrics.comparison import has_collapsed

MEASURED = ("equivalent_error", "disagreement", "effective_classes")


class SelectionStatus(Status):
    """What became of a candidate, or of the whole search."""

    fit = ("fit", True, "It uses the classes, so that its agreement can be compared.")
    collapsed = (
        "collapsed",
        False,
        "It predicts far fewer classes than there are, and agrees with itself for that reason. "
        "Offer candidates that use the classes.",
    )


class _Fold(NamedTuple):
    """Rows of one split: to fit on, in one part or two, and, shifted and not, to agree on."""

    parts: list[Any]
    sample: Any
    reference: Any
    expected: float


def _refitted_has(method: str) -> Callable[[Any], bool]:
    def check(search: Any) -> bool:
        getattr(getattr(search, "best_estimator_", search.estimator), method)
        return True

    return check


class AgreementSearchCV(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Search hyper-parameters by agreement on held-out rows; labels train the candidates but do not judge them.

    With a ``shift``, each candidate's predictions for held-out rows are set against those for the shifted copies.
    Without one, two copies of it are fitted on disjoint halves of the training rows, and must agree on the held-out
    ones.

    Parameters
    ----------
    estimator : classifier
        With ``decision_function`` or ``predict_proba``; pipelines are welcome.
    param_grid : mapping, sequence of mappings, or iterable of settings
        As in ``GridSearchCV``; any other iterable, such as a ``ParameterSampler``, is tried as it stands.
    shift : callable, optional
        As in `agreement_scorer`. Default: agreement between models fitted on disjoint halves.
    strength : float, optional
        How much of the shift.
    response_method : {"auto", "decision_function", "predict_proba", "predict_log_proba"}, default "auto"
        As in `agreement_scorer`.
    prior : array, "predicted" or None, default "predicted"
        As in `agreement_scorer`.
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
        As in ``GridSearchCV``, with ``mean_equivalent_error``, ``mean_disagreement``, ``mean_effective_classes`` and
        ``status`` ("fit" or "collapsed") beside the scores. ``rank_test_score`` puts collapsed candidates last.
    best_index_, best_params_, best_score_ : int, dict, float
        The candidate of the highest mean agreement (nats per sample) among those that have not collapsed.
    best_estimator_, classes_, n_features_in_, feature_names_in_
        Of the refitted estimator.
    status_ : SelectionStatus
        ``collapsed`` where every candidate has.
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
            Rows that belong together stay together in folds and halves, if the splitter heeds groups.
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
            scorer = agreement_scorer(
                self.shift,
                strength=self.strength,
                response_method=self.response_method,
                prior=self.prior,
                rng=seed,
            )
        candidates = _candidates(self.param_grid)
        splits = list(check_cv(self.cv, y, classifier=True).split(X, y, groups))
        folds = [self._fold(X, y, groups, train, test, scorer, seed) for train, test in splits]
        found = Parallel(n_jobs=self.n_jobs)(
            delayed(_measure)(
                clone(self.estimator).set_params(**clone(params, safe=False)),
                fold, X, y, fit_params, self.response_method, self.prior,
            )
            for params in candidates
            for fold in folds
        )  # fmt: skip
        table = {
            key: np.asarray([part[key] for part in found]).reshape(len(candidates), -1) for key in found[0]
        }
        self.n_splits_ = len(splits)
        self.cv_results_ = _results_table(candidates, table, [fold.expected for fold in folds])
        self.best_index_ = int(self.cv_results_["rank_test_score"].argmin())
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        fallen = self.cv_results_["status"] == "collapsed"
        self.status_ = SelectionStatus.collapsed if fallen.all() else SelectionStatus.fit
        if fallen.all():
            warnings.warn(f"All {len(candidates)} candidates: {self.status_.text}", stacklevel=2)
        if self.refit:
            self.best_estimator_ = clone(self.estimator).set_params(**clone(self.best_params_, safe=False))
            self.best_estimator_.fit(X, y, **fit_params)
            if hasattr(self.best_estimator_, "feature_names_in_"):
                self.feature_names_in_ = self.best_estimator_.feature_names_in_
        return self

    def _fold(
        self, X: Any, y: Any, groups: Any, train: Any, test: Any, scorer: AgreementScorer | None, seed: int
    ) -> _Fold:
        held_out, labels = _safe_indexing(X, test), np.asarray(_safe_indexing(y, test))
        expected = float(np.exp(entropy(np.unique(labels, return_counts=True)[1] / len(labels))))
        if scorer is not None:
            sample, reference = shifted_pair(
                scorer.shift, held_out, strength=scorer.strength, seed=scorer.seed
            )
            return _Fold([train], sample, reference, expected)
        known = np.asarray(_safe_indexing(y, train))
        if groups is None:
            halves = StratifiedKFold(2, shuffle=True, random_state=seed).split(train, known)
        else:
            own = np.asarray(_safe_indexing(groups, train))
            halves = StratifiedGroupKFold(2, shuffle=True, random_state=seed).split(train, known, own)
        first, second = next(halves)
        classes = [np.unique(known[half]).tolist() for half in (first, second)]
        if classes[0] != classes[1]:
            raise ValueError(
                describe(
                    "y",
                    "labels of which both halves of each training fold have every class",
                    f"the classes {classes[0]} and {classes[1]}",
                    "Merge rare classes, give fewer folds, or judge by a shift.",
                )
            )
        return _Fold([train[first], train[second]], held_out, held_out, expected)

    @property
    def classes_(self) -> Any:
        """Class labels of the refitted estimator."""
        return self._refitted().classes_

    @property
    def n_features_in_(self) -> int:
        """Number of features of the refitted estimator."""
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(f"{type(self).__name__} has no n_features_in_ before it is fitted.")
        return int(self.best_estimator_.n_features_in_)

    @available_if(_refitted_has("predict"))  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Any:
        """Return the classes that the refitted estimator predicts."""
        return self._refitted().predict(X)

    @available_if(_refitted_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return the class probabilities of the refitted estimator."""
        return self._refitted().predict_proba(X)

    @available_if(_refitted_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithms of the class probabilities of the refitted estimator."""
        return self._refitted().predict_log_proba(X)

    @available_if(_refitted_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Return the decision function of the refitted estimator."""
        return self._refitted().decision_function(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of the refitted estimator: what labels say of the choice."""
        return float(super().score(X, y, sample_weight))

    def _refitted(self) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        own = get_tags(self.estimator)
        tags.classifier_tags = own.classifier_tags
        tags.input_tags.sparse, tags.input_tags.pairwise = own.input_tags.sparse, own.input_tags.pairwise
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "cv_results_")


def _candidates(param_grid: Any) -> list[dict[str, Any]]:
    is_grid = isinstance(param_grid, Mapping) or (
        isinstance(param_grid, Sequence)
        and all(isinstance(part, Mapping) for part in param_grid)
        and any(np.ndim(value) == 1 for part in param_grid for value in part.values())
    )
    if not is_grid and not isinstance(param_grid, Iterable):
        raise TypeError(describe("param_grid", "a mapping, or an iterable of settings", repr(param_grid)))
    candidates = [dict(part) for part in (ParameterGrid(param_grid) if is_grid else param_grid)]
    if not candidates:
        raise ValueError(describe("param_grid", "of at least one candidate", "none"))
    return candidates


def _measure(
    estimator: Any,
    fold: _Fold,
    X: Any,
    y: Any,
    fit_params: Mapping[str, Any],
    response_method: str,
    prior: Any,
) -> dict[str, float]:
    """Fit one candidate on the part or parts of a fold, and let the two sides agree."""
    start = time.perf_counter()
    fitted = []
    for rows in fold.parts:
        own = {
            name: _safe_indexing(value, rows) if _is_per_row(value, len(y)) else value
            for name, value in fit_params.items()
        }
        fitted.append(clone(estimator).fit(_safe_indexing(X, rows), _safe_indexing(y, rows), **own))
    middle = time.perf_counter()
    scores, kind = response_of(fitted[0], fold.sample, response_method)
    reference_scores, _ = response_of(fitted[-1], fold.reference, response_method)
    result = posterior_agreement(scores, reference_scores, kind=kind, prior=prior, keep_rows=False)
    return {
        "score": result.value,
        "fit_time": middle - start,
        "score_time": time.perf_counter() - middle,
        **{what: getattr(result, what) for what in MEASURED},
    }


def _is_per_row(value: Any, n_rows: int) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str) and len(value) == n_rows


def _results_table(
    candidates: list[dict[str, Any]], table: Mapping[str, FloatArray], expected: Sequence[float]
) -> dict[str, Any]:
    """Return the columns of ``cv_results_``; the rows of ``table`` are candidates, its columns splits."""
    results: dict[str, Any] = {}
    for key in ("fit_time", "score_time"):
        results[f"mean_{key}"], results[f"std_{key}"] = table[key].mean(axis=1), table[key].std(axis=1)
    for name in sorted({name for params in candidates for name in params}):
        column: Any = np.ma.MaskedArray(np.empty(len(candidates), dtype=object), mask=True)
        for position, params in enumerate(candidates):
            if name in params:
                column[position] = params[name]
        results[f"param_{name}"] = column
    results["params"] = candidates
    for split in range(table["score"].shape[1]):
        results[f"split{split}_test_score"] = table["score"][:, split]
    mean = table["score"].mean(axis=1)
    results["mean_test_score"], results["std_test_score"] = mean, table["score"].std(axis=1)
    for what in MEASURED:
        results[f"mean_{what}"] = table[what].mean(axis=1)
    wanted = float(np.mean(expected))
    fallen = np.asarray([has_collapsed(float(used), wanted) for used in results["mean_effective_classes"]])
    results["status"] = np.where(fallen, str(SelectionStatus.collapsed), str(SelectionStatus.fit))
    ahead = (fallen[None, :] < fallen[:, None]) | (
        (fallen[None, :] == fallen[:, None]) & (mean[None, :] > mean[:, None])
    )
    results["rank_test_score"] = (1 + ahead.sum(axis=1)).astype(np.int32)
    return results
