"""Scorers of scikit-learn as criteria of a comparison: the time of each as a ratio to that of ``neg_log_loss``.

Of 3 models of 400 rows in 2 classes and in 5, with their intervals from 200 resamples. Scorers that are not defined
for so many classes are left out. A scorer without a quick form would be asked again for every model and resample, and
stand last.
"""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
from _machine import best_of, header, table
from sklearn.metrics import get_scorer_names

from shiftmetrics import Resampling, compare_agreement

N_ROWS = 400
N_MODELS = 3
N_RESAMPLES = 200


def main() -> None:
    print(header())
    for n_classes in (2, 5):
        times = _times(n_classes)
        rows = []
        for name, seconds in sorted(times.items(), key=lambda pair: pair[1]):
            ratio = seconds / times["neg_log_loss"]
            rows.append((name, f"{seconds:.2f}", f"{ratio:.1f}"))
        print(f"{n_classes} classes")
        print(table(("scorer", "seconds", "times neg_log_loss"), rows))


def _times(n_classes: int) -> dict[str, float]:
    """Return the seconds of a comparison by each scorer that takes these classes."""
    rng = np.random.default_rng(0)
    labels = rng.integers(n_classes, size=N_ROWS)
    models = {}
    for number in range(N_MODELS):
        signal = (0.5 + number) * np.eye(n_classes)[labels]
        models[f"model {number}"] = signal + rng.normal(size=(N_ROWS, n_classes))
    before = {name: scores + rng.normal(size=scores.shape) for name, scores in models.items()}

    def compare(name: str, n_resamples: int = N_RESAMPLES) -> None:
        compare_agreement(
            models,
            before,
            labels=labels,
            criterion=name,
            resampling=Resampling(rng=0, n_resamples=n_resamples),
        )

    times = {}
    for name in sorted(get_scorer_names()):
        with warnings.catch_warnings(), contextlib.suppress(ValueError):
            warnings.simplefilter("ignore")
            # First a few resamples: what does not answer is no criterion here.
            compare(name, 50)
            times[name] = best_of(lambda name=name: compare(name), repeats=3)
    return times


if __name__ == "__main__":
    main()
