"""A search over hyper-parameters that uses no labels to judge a candidate."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import (
    GridSearchCV,
    ParameterGrid,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)
from sklearn.utils import _safe_indexing, check_random_state, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_method_params

from shiftmetrics._core.numerics import entropy
from shiftmetrics._core.status import Status
from shiftmetrics._core.validation import describe
from shiftmetrics.adapters.sklearn.scorer import AgreementScorer, response_of
from shiftmetrics.agreement import posterior_agreement
from shiftmetrics.comparison.ranking import has_collapsed

MEASURED = ("equivalent_error", "disagreement", "effective_classes")

FIT = Status("fit", "It uses the classes, so that its agreement can be compared.")
COLLAPSED = Status(
    "collapsed",
    "It predicts far fewer classes than there are, and agrees with itself for that reason.",
    "Offer candidates that use the classes.",
    ok=False,
)


class AgreementSearchCV(ClassifierMixin, GridSearchCV):  # type: ignore[misc]
    """Search hyper-parameters by agreement on held-out rows; labels train the candidates but do not judge them.

    With a ``shift``, each candidate's predictions for held-out rows are compared with those for the shifted copies.
    Without one, two copies of it are fitted on disjoint halves of the training rows, and must agree on the held-out
    ones.

    Parameters
    ----------
    estimator : classifier
        With ``decision_function`` or ``predict_proba``; pipelines are welcome.
    param_grid : mapping, sequence of mappings, or iterable of settings
        As in ``GridSearchCV``; any other iterable, such as a ``ParameterSampler``, is tried as it stands.
    shift : callable, optional
        As in `AgreementScorer`. Default: agreement between models fitted on disjoint halves.
    strength : float, optional
        How much of the shift.
    response_method : {"auto", "decision_function", "predict_proba", "predict_log_proba"}, default "auto"
        As in `AgreementScorer`.
    prior : array, "predicted" or None, default "predicted"
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
        As in ``GridSearchCV``, with ``mean_equivalent_error``, ``mean_disagreement``, ``mean_effective_classes`` and
        ``status`` ("fit" or "collapsed") beside the scores. ``rank_test_score`` puts collapsed candidates last.
    best_index_, best_params_, best_score_ : int, dict, float
        The candidate of the highest mean agreement (nats per sample) among those that have not collapsed.
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
            scorer = AgreementScorer(self.shift, self.strength, self.response_method, self.prior, seed)
        candidates = _candidates(self.param_grid)
        splits = list(check_cv(self.cv, y, classifier=True).split(X, y, groups))
        search = GridSearchCV(
            _Copies(self.estimator, halves=scorer is None, seed=seed),
            [{f"estimator__{name}": [value] for name, value in params.items()} for params in candidates],
            scoring=_Score(scorer, self.response_method, self.prior),
            refit=False,
            cv=splits,
            n_jobs=self.n_jobs,
            error_score="raise",
        )
        # Under names of their own: scikit-learn warns of a sample_weight that the scoring does not use.
        search.fit(X, y, rows_together=groups, **{f"fit_{name}": part for name, part in fit_params.items()})
        self.n_splits_ = len(splits)
        self.cv_results_ = _results_table(candidates, search.cv_results_)
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


class _Copies(BaseEstimator):  # type: ignore[misc]
    """A copy of an estimator fitted on all rows, or two that are fitted on disjoint halves of them."""

    def __init__(self, estimator: Any, *, halves: bool, seed: int) -> None:
        self.estimator, self.halves, self.seed = estimator, halves, seed

    def fit(self, X: Any, y: Any, rows_together: Any = None, **fit_params: Any) -> Self:
        self.fitted_ = []
        for rows in self._parts(np.asarray(y), rows_together):
            part = {name.removeprefix("fit_"): value for name, value in fit_params.items()}
            part = _check_method_params(X, part, rows)
            fitted = clone(self.estimator).fit(_safe_indexing(X, rows), _safe_indexing(y, rows), **part)
            self.fitted_.append(fitted)
        return self

    def _parts(self, y: Any, groups: Any) -> tuple[Any, ...]:
        if not self.halves:
            return (np.arange(len(y)),)
        kind = StratifiedKFold if groups is None else StratifiedGroupKFold
        halves: tuple[Any, ...] = next(
            kind(2, shuffle=True, random_state=self.seed).split(np.empty(len(y)), y, groups)
        )
        classes = [np.unique(y[half]).tolist() for half in halves]
        if classes[0] != classes[1]:
            expected = "labels of which both halves of each training fold have every class"
            got = f"the classes {classes[0]} and {classes[1]}"
            remedy = "Merge rare classes, give fewer folds, or judge by a shift."
            raise ValueError(describe("y", expected, got, remedy))
        return halves


class _Score:
    """Agreement of the copies on held-out rows; labels only count how many classes there are."""

    def __init__(self, scorer: AgreementScorer | None, response_method: str, prior: Any) -> None:
        self.scorer, self.response_method, self.prior = scorer, response_method, prior

    def __call__(self, copies: _Copies, X: Any, y: Any) -> dict[str, float]:
        sample, reference = (X, X) if self.scorer is None else self.scorer.pair(X)
        scores, kind = response_of(copies.fitted_[0], sample, self.response_method)
        reference_scores, _ = response_of(copies.fitted_[-1], reference, self.response_method)
        result = posterior_agreement(scores, reference_scores, kind=kind, prior=self.prior)
        shares = np.unique(np.asarray(y), return_counts=True)[1] / len(y)
        return {
            "score": result.value,
            **{what: getattr(result, what) for what in MEASURED},
            "expected_classes": float(np.exp(entropy(shares))),
        }


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


def _results_table(candidates: list[dict[str, Any]], found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of ``cv_results_`` from those of the search over `_Copies`."""
    times = {f"{how}_{what}_time" for how in ("mean", "std") for what in ("fit", "score")}
    results: dict[str, Any] = {name: found[name] for name in found if name in times}
    results |= {
        f"param_{name.removeprefix('param_estimator__')}": column
        for name, column in found.items()
        if name.startswith("param_")
    }
    results["params"] = candidates
    results |= {name: found[name] for name in found if name.endswith("test_score") and name[:4] != "rank"}
    results |= {f"mean_{what}": found[f"mean_test_{what}"] for what in MEASURED}
    expected = float(np.mean(found["mean_test_expected_classes"]))
    collapsed = np.asarray(
        [has_collapsed(float(used), expected) for used in results["mean_effective_classes"]]
    )
    results["status"] = np.where(collapsed, COLLAPSED.code, FIT.code)
    mean = results["mean_test_score"]
    ahead = (collapsed < collapsed[:, None]) | ((collapsed == collapsed[:, None]) & (mean > mean[:, None]))
    results["rank_test_score"] = (1 + ahead.sum(axis=1)).astype(np.int32)
    return results
