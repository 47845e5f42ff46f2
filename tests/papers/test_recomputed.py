"""Values behind the claims, computed again by code that shares nothing with the library: the first seed of each."""

import json
import math

import numpy as np
import pytest
from index import FOLDER
from numpy.typing import NDArray
from scipy import stats
from scipy.optimize import brentq, minimize_scalar
from scipy.spatial.distance import cdist
from scipy.special import expit, logsumexp
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression

Array = NDArray[np.float64]
SIX_DIGITS = 2e-6
"""Records keep six digits."""


def record(script: str) -> dict:
    return json.loads((FOLDER / "results" / f"{script}.json").read_text(encoding="utf-8"))


def first_seed(script: str) -> dict:
    return record(script)["runs"][0]


def log_kernel(one: Array, other: Array, beta: float, prior: Array | None = None) -> Array:
    """Return log sum_k p'(k) p''(k) / prior(k) of each pair, where p(k) ~ prior(k) exp(beta score(k))."""
    log_prior = np.log(np.full(one.shape[1], 1.0 / one.shape[1]) if prior is None else prior)
    joint = logsumexp(beta * (one + other) + log_prior, axis=1)
    alone = [logsumexp(beta * scores + log_prior, axis=1) for scores in (one, other)]
    return np.asarray(joint - alone[0] - alone[1])


def agreement(one: Array, other: Array, beta: float, prior: Array | None = None) -> float:
    return float(log_kernel(one, other, beta, prior).mean())


def best_agreement(one: Array, other: Array, prior: Array | None = None) -> float:
    """Return the largest agreement over a fine grid of beta, refined about its best point."""
    grid = np.logspace(-4, 3, 400)
    values = [agreement(one, other, beta, prior) for beta in grid]
    place = int(np.argmax(values))
    around = (math.log(grid[max(place - 1, 0)]), math.log(grid[min(place + 1, len(grid) - 1)]))
    refined = minimize_scalar(
        lambda log_beta: -agreement(one, other, math.exp(log_beta), prior),
        bounds=around,
        method="bounded",
        options={"xatol": 1e-10},
    )
    return max(-float(refined.fun), max(values))


def overlap_slope(margin: Array, other: Array, beta: float) -> Array:
    """Return the derivative in beta of log sum_k p'(k) p''(k), for two classes with these margins."""

    def log_overlap(value: float) -> Array:
        both = np.logaddexp(value * (margin + other) / 2, -value * (margin + other) / 2)
        alone = np.logaddexp(value * margin / 2, -value * margin / 2)
        return both - alone - np.logaddexp(value * other / 2, -value * other / 2)

    step = 1e-6
    return (log_overlap(beta + step) - log_overlap(beta - step)) / (2 * step)


class Adam:
    """Adam on one number, upwards, cut off at 0."""

    def __init__(self, start: float) -> None:
        self.value, self.mean, self.square, self.n_steps = start, 0.0, 0.0, 0

    def step(self, slope: float) -> None:
        self.n_steps += 1
        self.mean = 0.9 * self.mean + 0.1 * slope
        self.square = 0.999 * self.square + 0.001 * slope**2
        mean = self.mean / (1 - 0.9**self.n_steps)
        square = self.square / (1 - 0.999**self.n_steps)
        self.value = max(0.0, self.value + 0.1 * mean / (math.sqrt(square) + 1e-8))


# --- agreement --------------------------------------------------------------------------------


def test_the_agreement_of_random_classifiers_is_the_entropy_of_their_matches() -> None:
    """Figure 1: with one margin for all rows the maximum over beta is -N Hb(share of matches)."""
    kept = first_seed("agreement_classifiers")["random"]
    rng = np.random.default_rng(0)
    for p, log_pa in zip(np.round(np.linspace(0.05, 0.95, 19), 2), kept, strict=True):
        targets = rng.permutation(np.arange(1000) < round(p * 1000))
        matches = max(0.5, np.mean(rng.permutation(targets) == rng.permutation(targets)))
        entropy = stats.bernoulli(matches).entropy()
        assert log_pa == pytest.approx(-1000 * float(entropy), rel=SIX_DIGITS)


def test_the_printed_beta_is_where_adam_stands_after_100_epochs() -> None:
    """Table 4.1: 12.33 from 0.1, in batches of 16 of 1,000 rows, with the summed loss."""
    adam = Adam(0.1)
    for _ in range(100):
        for size in [16] * 62 + [8]:
            # q = s^2 + (1 - s)^2 with s = expit(beta); d log q = 2 (2 s - 1) s (1 - s) / q.
            s, other = expit(adam.value), expit(-adam.value)
            adam.step(size * 2 * (s - other) * s * other / (s**2 + other**2))
    kept = first_seed("agreement_classifiers")["corrected_beta"]
    assert abs(adam.value - 12.33) == pytest.approx(kept, abs=1e-5)


def test_agreement_has_two_maxima() -> None:
    """Theorem 3: margins of 50 and 1, and one contradiction of 10."""
    margin = np.repeat([50.0, 1.0, 10.0], [100, 60, 1])
    sign = np.repeat([1.0, 1.0, -1.0], [100, 60, 1])
    one, other = (np.stack([side, -side], axis=1) / 2 for side in (margin, sign * margin))
    curve = np.array([agreement(one, other, beta) for beta in np.logspace(-2, 1, 300)])
    kept = first_seed("agreement_traces")
    np.testing.assert_allclose(curve, kept["curve"], rtol=1e-5)
    inner = curve[1:-1]
    assert ((inner > curve[:-2]) & (inner > curve[2:])).sum() == kept["concave"] == 2


def test_the_gradient_search_stops_below_the_maximum() -> None:
    margin = np.repeat([100.0, 1.0, 10.0], [100, 60, 4])
    shifted = margin * np.repeat([1.0, 1.0, -1.0], [100, 60, 4])
    adam = Adam(1.0)
    for _ in range(500):
        adam.step(float(overlap_slope(margin, shifted, adam.value).mean()))
    one, other = (np.stack([side, -side], axis=1) / 2 for side in (margin, shifted))
    gap = best_agreement(one, other) - agreement(one, other, adam.value)
    assert gap == pytest.approx(first_seed("agreement_traces")["found"], abs=1e-5)


def test_two_posteriors_over_a_mean_agree_best_at_one_temperature() -> None:
    """Figure 2: beta* = 1 / (n d^2), and what a hundredth of it loses."""
    one, other = np.random.default_rng(0).normal(size=(2, 25))
    grid = np.linspace(-6.0, 6.0, 4001)
    scores, reference = (
        -((v[:, None] - grid) ** 2).sum(axis=0, keepdims=True) for v in (one, other)
    )
    beta = 1.0 / (25 * (one.mean() - other.mean()) ** 2)
    kept = first_seed("agreement_continuous")
    assert beta == pytest.approx(kept["beta"], rel=SIX_DIGITS)
    lost = agreement(scores, reference, beta) - agreement(scores, reference, beta / 100)
    assert lost == pytest.approx(kept["underfit"], rel=1e-5)


def test_agreement_finds_the_number_of_clusters() -> None:
    rng = np.random.default_rng(0)
    angles = 2 * np.pi * np.arange(5) / 5
    centres = 4.0 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    objects = centres[rng.integers(5, size=400)]
    first, second = (objects + rng.normal(size=objects.shape) for _ in range(2))
    values = {}
    for count in (4, 5, 10):
        found = KMeans(count, n_init=10, random_state=0).fit(first).cluster_centers_
        scores, reference = (-cdist(points, found, "sqeuclidean") for points in (second, first))
        chosen = np.concatenate([scores, reference]).argmax(axis=1)
        prior = np.bincount(chosen, minlength=count) / len(chosen)
        values[count] = best_agreement(scores, reference, prior)
    kept = first_seed("agreement_clustering")
    assert values[5] - values[4] == pytest.approx(kept["rises"], abs=1e-5)
    assert values[5] - values[10] == pytest.approx(kept["falls"], abs=1e-5)


# --- stability --------------------------------------------------------------------------------


def clouds(seed: int) -> tuple[LogisticRegression, Array, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    while True:
        parts = [rng.normal([2, 2], 1, (100, 2)), rng.normal([-1, -1], 1, (100, 2))]
        points, labels = np.concatenate(parts), np.repeat([0, 1], 100)
        model = LogisticRegression(C=10.0).fit(points, labels)
        if model.score(points, labels) < 1:
            return model, points, labels


def test_more_rows_move_as_the_threshold_rises() -> None:
    """Figure 4: at the price h a row moves across where h exceeds theta1 d^2, and weighs exp(gain / theta2)."""
    model, points, labels = clouds(0)
    wrong = model.predict(points) != labels
    distance = np.abs(model.decision_function(points)) / np.linalg.norm(model.coef_)
    squared = np.where(wrong, 0.0, distance**2)

    def excess(price: float, threshold: float) -> float:
        gain = np.maximum(price - 1.0 * squared, 0.0)
        weights = np.exp((gain - gain.max()) / 0.25)
        return float(weights[gain > 0].sum() / weights.sum()) - threshold

    shares = []
    for threshold in (0.2, 0.4, 0.6, 0.8):
        low, high = 0.0, 64.0
        while high - low > 1e-12:
            middle = (low + high) / 2
            low, high = (low, middle) if excess(middle, threshold) >= 0 else (middle, high)
        shares.append(float(((high > squared) & ~wrong).mean()))
    assert shares == pytest.approx(first_seed("stability_zero_one")["shares"], abs=1e-9)


def test_few_rows_carry_the_weight_where_nothing_moves() -> None:
    """Figure 2, weights alone: they are proportional to exp(h loss / theta2), with a mean loss of 0.5."""
    model, points, labels = clouds(0)
    loss = -model.predict_log_proba(points)[np.arange(len(labels)), labels]

    def weights(price: float) -> Array:
        raw = np.exp(price * (loss - loss.max()) / 0.2)
        return np.asarray(raw / raw.mean())

    price = brentq(lambda h: float((weights(h) * loss).mean()) - 0.5, 0.0, 10.0, xtol=1e-14)
    found = weights(price)
    kept = first_seed("stability_cross_entropy")
    assert 1.0 / float((found**2).mean()) == pytest.approx(kept["few_rows"], rel=1e-4)
    distance = np.abs(model.decision_function(points))
    added = np.maximum(found - 1.0, 0.0)
    near = float(np.average(distance, weights=added) / distance.mean())
    assert near == pytest.approx(kept["weights_near_boundary"], rel=1e-4)


# --- novelty --------------------------------------------------------------------------------


def ring(rng: np.random.Generator, modes: tuple[int, ...], n: int) -> Array:
    """Draw a mixture of some of eight modes on the unit circle."""
    angles = 2 * np.pi * np.arange(8) / 8
    fractions = np.isin(np.arange(8), modes) / len(modes)
    chosen = rng.choice(8, size=n, p=fractions)
    centres = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return np.asarray(centres[chosen] + 0.031 * rng.standard_normal((n, 2)))


def novelty(sample: Array, reference: Array, bandwidth: float) -> float:
    """Return sum l log(S / l) of the positive eigenvalues of C_X - C_Y, in the span of one row in ten."""
    rows = np.concatenate([sample, reference])

    def kernel(points: Array) -> Array:
        return np.asarray(np.exp(-cdist(points, rows[::10], "sqeuclidean") / (2 * bandwidth**2)))

    values, vectors = np.linalg.eigh(kernel(rows[::10]))
    kept = values > 1e-9 * values.max()
    basis = vectors[:, kept] / np.sqrt(values[kept])
    new, old = (kernel(part) @ basis for part in (sample, reference))
    eigenvalues = np.linalg.eigvalsh(new.T @ new / len(new) - old.T @ old / len(old))
    positive = eigenvalues[eigenvalues > 1e-12]
    return float((positive * np.log(positive.sum() / positive)).sum())


@pytest.mark.parametrize(("kept", "bandwidth"), [("values", 0.4), ("stated_values", 0.5)])
def test_scores_of_mixtures(kept: str, bandwidth: float) -> None:
    """Figure 1 of the novelty paper, at the bandwidth that its numbers need and at the stated one."""
    samples = {"2 new": (1, 5), "4 new": (1, 3, 5, 7), "4 new, 2 shared": (0, 2, 1, 3, 5, 7)}
    values = first_seed("novelty_mixtures")[kept]
    for name, modes in samples.items():
        rng = np.random.default_rng(0)
        found = novelty(ring(rng, modes, 2000), ring(rng, (0, 2, 4, 6), 2000), bandwidth)
        assert found == pytest.approx(values[name], abs=1e-4)


# --- verdicts --------------------------------------------------------------------------------


def interval(values: list) -> tuple[float, float]:
    """Return the t interval of the mean, or for yes and no the fractions that a tail of 2.5 % leaves possible."""
    n = len(values)
    if not all(isinstance(value, bool) for value in values):
        half = stats.t.ppf(0.975, n - 1) * np.std(values, ddof=1) / n**0.5
        return float(np.mean(values) - half), float(np.mean(values) + half)
    yes = sum(values)

    def at_most(k: int, p: float) -> float:
        return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))

    low = brentq(lambda p: 1 - at_most(yes - 1, p) - 0.025, 0, 1) if yes else 0.0
    high = brentq(lambda p: at_most(yes, p) - 0.025, 0, 1) if yes < n else 1.0
    return low, high


def test_verdicts_follow_from_the_kept_runs() -> None:
    """Mean, t interval and verdict of each claim with one number a seed, from the numbers themselves."""
    for path in sorted((FOLDER / "results").glob("[!.]*.json")):
        kept = record(path.stem)
        for key, claim in kept["claims"].items():
            values = [one[key] for one in kept["runs"]]
            if isinstance(values[0], dict) or len(values) < 2 or claim["relation"] == "within":
                continue
            low, high = interval(values)
            assert (low, high) == pytest.approx((claim["low"], claim["high"]), rel=1e-4, abs=1e-9)
            bound, above = claim["bound"], claim["relation"].startswith(">")
            if "=" not in claim["relation"]:
                bound = np.nextafter(bound, np.inf if above else -np.inf)
            sides = [
                end >= bound if above else end <= bound for end in (claim["low"], claim["high"])
            ]
            expected = "holds" if all(sides) else "undecided" if any(sides) else "does not hold"
            assert claim["verdict"] == expected, (path.stem, key)
