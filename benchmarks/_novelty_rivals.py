"""What else tells what is new in a sample: the rivals of the novelty decision, each as a user would put it together.

All get standardised columns where units differ; with each comes a p-value, and where a method only scores rows, those
that it flags are clustered, so that it can name more than one kind.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from _novelty_tasks import Case
from scipy.spatial.distance import cdist
from scipy.stats import mannwhitneyu
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import silhouette_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from shiftmetrics.novelty import choose_bandwidth

N_PERMUTATIONS = 199
LEVEL = 0.05
MEMBER = 2 / 3
"""Of the rows that are flagged, at most half would be there without anything new."""

UNITS_DIFFER = 10.0
"""Times that the spread of a column is that of the median column."""


@dataclass(frozen=True)
class Answer:
    """What a method says: a p-value, rows of the sample by kind (best first), a score of each row, the share new."""

    p_value: float
    scores: np.ndarray
    kinds: list[np.ndarray] = field(default_factory=list)
    members: np.ndarray | None = None
    share: float = np.nan
    interval: tuple[float, float] = (np.nan, np.nan)
    n_lost: int = 0
    columns: list[list[int]] = field(default_factory=list)
    """The first three columns that set each kind apart, where the method says any."""


def witness(case: Case, seed: int) -> Answer:
    """MMD over five bandwidths by one joint relabelling; rows by the witness function of the best bandwidth."""
    rows, is_new = joint(case)
    relabelled = labels(is_new, seed)
    signed = np.where(relabelled, 1 / is_new.sum(), -1 / (~is_new).sum())
    distances = cdist(rows, rows, "sqeuclidean")
    middle = np.median(distances[distances > 0])
    kernels = (np.exp(-distances / (2 * middle * scale**2)) for scale in (0.25, 0.5, 1.0, 2.0, 4.0))
    found, functions = [], []
    for kernel in kernels:
        np.fill_diagonal(kernel, 0.0)
        product = signed @ kernel
        found.append(np.einsum("bi,bi->b", product, signed))
        functions.append(product[0])
    p_value, best = joint_p_value(np.array(found))
    return flagged(case, p_value, functions[best][is_new], most=round(0.1 * is_new.sum()))


def neighbour_share(case: Case, seed: int, k: int = 20) -> Answer:
    """Scan of the share of the sample among each row's neighbours: the mean of its largest hundredth, relabelled."""
    rows, is_new = joint(case)
    k = min(k, len(rows) // 4)
    near = NearestNeighbors(n_neighbors=k + 1).fit(rows).kneighbors(return_distance=False)[:, 1:]
    most = max(5, len(rows) // 100)
    found = np.array(
        [np.sort(drawn[near][drawn].sum(axis=1))[-most:].mean() for drawn in labels(is_new, seed)]
    )
    p_value, _ = joint_p_value(found[None])
    counts = is_new[near].sum(axis=1)
    share = posterior(counts / k, is_new)
    return flagged(case, p_value, share[is_new], share=contamination(share, is_new))


def distance(case: Case, seed: int, k: int = 5) -> Answer:
    """Mean distance to the nearest rows of one half of the reference, against that of the other half."""
    rows, is_new = joint(case)
    reference = np.random.default_rng(seed).permutation(rows[~is_new])
    kept, held = np.array_split(reference, 2)
    nearest = NearestNeighbors(n_neighbors=min(k, len(kept))).fit(kept)
    mine, theirs = (nearest.kneighbors(part)[0].mean(axis=1) for part in (rows[is_new], held))
    p_value = float(mannwhitneyu(mine, theirs, alternative="greater").pvalue)
    return flagged(case, p_value, mine, most=round(0.1 * is_new.sum()))


def classifier(case: Case, seed: int) -> Answer:
    """Boosted trees that tell the samples apart, cross-validated; the rows of which they are sure, clustered."""
    rows, is_new = joint(case)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    model = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=15, random_state=seed)
    share = posterior(
        cross_val_predict(model, rows, is_new, cv=folds, method="predict_proba")[:, 1], is_new
    )
    p_value = float(mannwhitneyu(share[is_new], share[~is_new], alternative="greater").pvalue)
    return flagged(case, p_value, share[is_new], share=contamination(share, is_new))


def entropy(case: Case, seed: int, *, most: int = 250, n_permutations: int = 39) -> Answer:
    """The entropy score of the paper and its modes, against relabelled rows; of some rows where there are many."""
    rows, is_new = joint(case)
    rng = np.random.default_rng(seed)
    kept = np.sort(
        np.concatenate(
            [rng.permutation(np.flatnonzero(is_new == side))[:most] for side in (True, False)]
        )
    )
    mine = is_new[kept]
    width = choose_bandwidth(rows[kept][mine], rows[kept][~mine]).value
    values, vectors = np.linalg.eigh(
        np.exp(-cdist(rows[kept], rows[kept], "sqeuclidean") / (2 * width**2))
    )
    factor = vectors[:, values > 1e-10] * np.sqrt(values[values > 1e-10])
    found, largest = [], []
    for drawn in labels(mine, seed, n_permutations):
        spectrum, modes = np.linalg.eigh(moment(factor[drawn]) - moment(factor[~drawn]))
        positive = spectrum[spectrum > 1e-12]
        found.append(positive @ np.log(positive.sum() / positive))
        largest.append(spectrum[-1])
        if len(found) == 1:
            first, functions = spectrum, modes
    p_value, _ = joint_p_value(np.array(found)[None])
    # A mode's function at any row, by way of the rows of the factor.
    kernel = np.exp(-cdist(rows[is_new], rows[kept], "sqeuclidean") / (2 * width**2))
    mapped = kernel @ vectors[:, values > 1e-10] / np.sqrt(values[values > 1e-10])
    membership = (mapped @ functions[:, ::-1]) ** 2
    above = first[::-1] > max(largest[1:])
    kinds = [np.argsort(-membership[:, j], kind="stable") for j in np.flatnonzero(above)[:10]]
    members = (membership[:, : len(kinds)] > 0.25).any(axis=1)
    scores = membership[:, first[::-1] > 1e-12].sum(axis=1)
    return Answer(p_value, scores, kinds, members, share=float(first[first > 0].sum()))


RIVALS = {
    "entropy score (paper)": entropy,
    "MMD, kernel witness": witness,
    "distance to reference": distance,
    "neighbour share": neighbour_share,
    "boosted classifier": classifier,
}


# Common parts -------------------------------------------------------------------------------------


def joint(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of both samples, and which are of the first."""
    rows = np.concatenate([case.sample, case.reference])
    return scaled(rows), np.arange(len(rows)) < len(case.sample)


def scaled(rows: np.ndarray) -> np.ndarray:
    """Return standardised columns where their units differ, and columns of one unit (components) as they are."""
    spread = rows.std(axis=0)
    differ = spread.max() > UNITS_DIFFER * np.median(spread[spread > 0])
    return StandardScaler().fit_transform(rows) if differ else rows


def labels(is_new: np.ndarray, seed: int, n_permutations: int = N_PERMUTATIONS) -> np.ndarray:
    """Return the true labels, and relabellings of them."""
    rng = np.random.default_rng(seed)
    return np.stack([is_new, *(rng.permutation(is_new) for _ in range(n_permutations))])


def joint_p_value(found: np.ndarray) -> tuple[float, int]:
    """Return the p-value of the largest standardised statistic (the true one first), and which it is."""
    spread = found.std(axis=1, keepdims=True) + 1e-300
    scores = (found - found.mean(axis=1, keepdims=True)) / spread
    largest = scores.max(axis=0)
    return float((largest >= largest[0]).mean()), int(scores[:, 0].argmax())


def moment(factor: np.ndarray) -> np.ndarray:
    """Return the second moment of rows."""
    return factor.T @ factor / len(factor)


def posterior(share: np.ndarray, is_new: np.ndarray) -> np.ndarray:
    """Return the chance of the sample, from that among rows as they are, as if both samples had equally many."""
    mine, theirs = share / is_new.mean(), (1 - share) / (~is_new).mean()
    return mine / (mine + theirs)


def contamination(share: np.ndarray, is_new: np.ndarray) -> float:
    """Return how much of the sample is new, from the rows that are flagged in each sample."""
    mine, theirs = (share[is_new] >= MEMBER).mean(), (share[~is_new] >= MEMBER).mean()
    return float(max(0.0, (mine - theirs) / (1 - theirs))) if theirs < 1 else 0.0


def flagged(
    case: Case, p_value: float, scores: np.ndarray, *, share: float = np.nan, most: int = 0
) -> Answer:
    """Cluster the rows whose posterior is high (or the ``most`` highest) into kinds, where the test says new."""
    order = np.argsort(-scores, kind="stable")
    count = max(10, most or int((scores >= MEMBER).sum()))
    top = order[:count]
    members = np.zeros(len(scores), dtype=bool)
    if p_value > LEVEL:
        return Answer(p_value, scores, [], members, share=0.0 if np.isfinite(share) else share)
    members[top] = True
    rows = scaled(case.sample)[top]
    fits = [
        KMeans(k, n_init=3, random_state=0).fit_predict(rows) for k in (2, 3, 4) if k < len(rows)
    ]
    clear = [silhouette_score(rows, fit) if len(set(fit)) > 1 else 0.0 for fit in fits]
    groups = (
        fits[int(np.argmax(clear))]
        if clear and max(clear) > 0.25
        else np.zeros(len(rows), dtype=int)
    )
    kinds = [top[groups == group] for group in np.unique(groups) if (groups == group).sum() >= 3]
    return Answer(p_value, scores, kinds, members, share=share)
