"""Scorers of scikit-learn as criteria of a comparison: the time of each as a ratio to that of ``neg_log_loss``.

Of 3 models of 400 rows in 2 classes, with their intervals from 200 resamples. A scorer without a quick form is asked
again for every model and resample: those stand last.
"""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
from _machine import best_of, header, table
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, get_scorer_names

from shiftmetrics import Resampling, compare_agreement

N_ROWS = 400
N_MODELS = 3
N_RESAMPLES = 200


def main() -> None:
    print(header())
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=N_ROWS)
    models = {}
    for number in range(N_MODELS):
        signal = (0.5 + number) * (2.0 * labels - 1.0)
        models[f"model {number}"] = signal + rng.normal(size=N_ROWS)
    before = {name: scores + rng.normal(size=N_ROWS) for name, scores in models.items()}

    def compare(name: str) -> None:
        compare_agreement(
            models,
            before,
            labels=labels,
            criterion=name,
            resampling=Resampling(rng=0, n_resamples=N_RESAMPLES),
        )

    times = {}
    for name in _of_classes():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            times[name] = best_of(lambda name=name: compare(name), repeats=1)
    rows = [
        (name, f"{seconds:.2f}", f"{seconds / times['neg_log_loss']:.1f}")
        for name, seconds in sorted(times.items(), key=lambda pair: pair[1])
    ]
    print(table(("scorer", "seconds", "times neg_log_loss"), rows))


def _of_classes() -> list[str]:
    """Return the scorers of classifiers: those of regressions are left out, which take numbers of classes too."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    labels = (X[:, 0] > 0.0).astype(int)
    classifier = LogisticRegression().fit(X, labels)
    found = []
    for name in sorted(get_scorer_names()):
        if "error" in name or name in ("r2", "explained_variance"):
            continue
        with contextlib.suppress(ValueError, TypeError, AttributeError):
            get_scorer(name)(classifier, X, labels, sample_weight=np.ones(40))
            found.append(name)
    return found


if __name__ == "__main__":
    main()
