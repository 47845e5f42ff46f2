"""How much of a sample is new: estimators of the mixture proportion on cross-fitted scores of both samples.

The cases are the classes withheld alone of `_novelty_tasks.py`, detected or not. Scores come from ridge classifiers,
of kernels and linear, from boosted trees, and from the ranks of both together, each from folds without the row. The
estimators are the excess above a posterior of 2/3, best bin estimation (S. Garg et al., NeurIPS 2021,
arXiv:2111.00980), and the largest jump of DEDPUL (D. Ivanov, arXiv:1902.06965). Printed are the mean
absolute error and the bias.

    SHIFTMETRICS_DATA=... python benchmarks/fraction_estimators.py [--every 4]
"""

from __future__ import annotations

import argparse
import warnings

import _novelty_tasks as tasks
import numpy as np
from _machine import header, table
from _novelty_rivals import contamination, joint, posterior
from scipy.stats import gaussian_kde, rankdata
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def scores_of(rows: np.ndarray, is_new: np.ndarray) -> dict[str, np.ndarray]:
    """Return scores of each row from folds without it: the higher, the more like the sample."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    boosted = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=15, random_state=0)
    trees = cross_val_predict(boosted, rows, is_new, cv=folds, method="predict_proba")[:, 1]
    ridge = np.zeros(len(rows))
    spread = np.median(np.linalg.norm(rows - rows.mean(axis=0), axis=1)) + 1e-12
    n_landmarks = min(300, len(rows) // 2)
    for width in (0.5, 1.0, 2.0):
        kernel = Nystroem(
            gamma=0.5 / (width * spread) ** 2, n_components=n_landmarks, random_state=0
        )
        model = make_pipeline(kernel, RidgeClassifier(1.0))
        found = cross_val_predict(model, rows, is_new, cv=folds, method="decision_function")
        ridge += found / (found.std() + 1e-12)
    linear = make_pipeline(StandardScaler(), RidgeClassifier(0.1 * len(rows)))
    found = cross_val_predict(linear, rows, is_new, cv=folds, method="decision_function")
    ridge += found / (found.std() + 1e-12)
    return {"ridge": ridge, "boosted": trees, "both": rankdata(ridge) + rankdata(trees)}


def best_bin(scores: np.ndarray, is_new: np.ndarray, error: float = 0.1) -> float:
    """Return 1 minus the least ratio of both samples among the rows most like the reference."""
    cuts = np.sort(scores)
    other = np.array([(scores[~is_new] <= cut).mean() for cut in cuts])
    own = np.array([(scores[is_new] <= cut).mean() for cut in cuts])
    slack = sum(np.sqrt(np.log(4.0 / error) / 2.0 / n) for n in (is_new.sum(), (~is_new).sum()))
    held = other > 0.0
    best = np.argmin((own[held] + slack) / other[held])
    return float(max(0.0, 1.0 - own[held][best] / other[held][best]))


def largest_jump(scores: np.ndarray, is_new: np.ndarray) -> float:
    """Return 1 minus the known fraction at which the mean known posterior leaves it most abruptly."""
    values = (scores - scores.mean()) / scores.std()
    own, other = gaussian_kde(values[is_new]), gaussian_kde(values[~is_new])
    places = np.sort(values[is_new])
    ratio = IsotonicRegression(increasing=False).fit_transform(
        places, other(places) / np.maximum(own(places), 1e-12)
    )
    fractions = np.linspace(0.01, 0.99, 99)
    gaps = [part - np.minimum(1.0, part * ratio).mean() for part in fractions]
    return float(1.0 - fractions[int(np.argmax(np.diff(gaps, 2))) + 1])


def excess(scores: np.ndarray, is_new: np.ndarray) -> float:
    """Return the excess above a posterior of 2/3, the scores calibrated by isotonic regression."""
    chance = IsotonicRegression(out_of_bounds="clip").fit(scores, is_new).predict(scores)
    return contamination(posterior(chance, is_new), is_new)


ESTIMATORS = {"excess above 2/3": excess, "best bin": best_bin, "largest jump": largest_jump}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    errors: dict[tuple[str, str], list[float]] = {}
    n_cases = 0
    for case in tasks.singles(asked.every):
        n_cases += 1
        rows, is_new = joint(case)
        for source, scores in scores_of(rows, is_new).items():
            for name, estimate in ESTIMATORS.items():
                found = estimate(scores, is_new) - case.share
                errors.setdefault((name, source), []).append(found)
    lines = [
        [name, source, f"{np.abs(part).mean():.3f}", f"{np.mean(part):+.3f}"]
        for (name, source), part in errors.items()
    ]
    print(header())
    print("\n" + table(["estimator", "scores", "error", "bias"], lines, title=f"{n_cases} cases"))


if __name__ == "__main__":
    main()
