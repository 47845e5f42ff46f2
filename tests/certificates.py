"""A search for results whose certificate is wrong: small hard cases of each measure against high precision.

The cases are directed at what floating-point numbers find hard: tiny thresholds, large dual prices, ties, rows that
hardly differ. A certificate is wrong where the exact value lies further from ``value`` than ``error_bound``.

    python tests/certificates.py stability --cases 20000

``all`` searches every measure, and a tenth as many cases of each route of models; its last line counts what broke.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import mpmath
import numpy as np
from mpmath import mpf

from shiftmetrics import Computing, posterior_agreement
from shiftmetrics.novelty import kernel_entropic_novelty
from shiftmetrics.stability import (
    CandidateLoss,
    FixedLoss,
    HingeLoss,
    LogisticLoss,
    SquaredLoss,
    ZeroOneLoss,
    stability_criterion,
)

DIGITS = 60


class Case(NamedTuple):
    """A result, its exact value, and the words that let one find it again."""

    value: float
    error_bound: float
    exact: Any
    words: str

    @property
    def excess(self) -> float:
        """How many times its bound the error is; above 1 the certificate is wrong."""
        if math.isinf(self.error_bound) or (math.isinf(self.value) and self.exact == self.value):
            return 0.0
        error = abs(mpf(self.value) - self.exact)
        return (
            float(error / self.error_bound)
            if self.error_bound > 0.0
            else (math.inf if error else 0.0)
        )


def wrong(cases: Iterator[Case]) -> tuple[int, list[Case]]:
    """Return how many cases there were, and those with a wrong certificate."""
    n_cases, found = 0, []
    for case in cases:
        n_cases += 1
        if case.excess > 1.0:
            found.append(case)
    return n_cases, found


# --- stability -------------------------------------------------------------------------------------------


def stability_cases(n_cases: int, seed: int = 0) -> Iterator[Case]:
    """Yield least costs of small samples, with tiny and almost unreachable thresholds, ties and extreme prices."""
    rng = np.random.default_rng(seed)
    kinds = list(_LOSSES)
    for number in range(n_cases):
        kind = kinds[number % len(kinds)]
        divergence = ("kl", "chi2")[number // len(kinds) % 2]
        loss, places = _LOSSES[kind](rng)
        theta1, theta2 = _price(rng), _price(rng)
        masses = (
            np.ones(loss.n_samples)
            if rng.random() < 0.7
            else 10.0 ** rng.uniform(-6, 0, loss.n_samples)
        )
        base = loss.base(slice(0, loss.n_samples))
        risk = float(np.average(base, weights=masses))
        if np.isinf(theta1):
            places = [unmoved_place(value) for value in base]
        if rng.random() < 0.3:
            threshold = float(10.0 ** rng.uniform(-12, -1))
        else:
            top = max(float(base.max()), 1.0)
            threshold = float(risk + (top - risk) * 10.0 ** rng.uniform(-9, 0.3))
        if abs(threshold - risk) <= 1e-14 * threshold:
            continue  # counts as the risk itself
        highest = loss.reach(theta1, slice(0, loss.n_samples)).loss.max()
        counts_errors = loss.may_count_errors and np.isin(base, (0, 1)).all() and highest <= 1.0
        if counts_errors and threshold > 1.0:
            continue  # refused: it is no error rate
        settings = {"theta1": theta1, "theta2": theta2, "divergence": divergence}
        result = stability_criterion(
            loss, threshold, **settings, sample_weight=masses, resampling=None,
            computing=Computing(progress=False),
        )  # fmt: skip
        words = f"{loss!r}, {threshold!r}, {settings}: {result.status}"
        if not result.status.ok or result.status.code == "unbounded_loss":
            continue
        with mpmath.workdps(DIGITS):
            guess = result.slopes.threshold if 0.0 < result.slopes.threshold < math.inf else 1.0
            upper = loss.largest_dual(theta1)
            exact = least_cost(places, masses, threshold, theta1, theta2, divergence, guess, upper)
        if result.status.code == "boundary" and math.isinf(exact):
            continue  # the threshold lies above the highest risk by less than the rounding of a loss
        yield Case(result.value, result.error_bound, exact, words)


def _price(rng: np.random.Generator) -> float:
    draw = rng.random()
    return math.inf if draw < 0.12 else 0.4 if draw < 0.4 else float(10.0 ** rng.uniform(-6, 6))


def _numbers(rng: np.random.Generator, n: int) -> Any:
    """Return positive numbers of one scale, sometimes with ties or almost ties."""
    numbers = 10.0 ** rng.uniform(-3, 3) * rng.exponential(size=n)
    draw = rng.random()
    if draw < 0.25:
        numbers[: n // 2 + 1] = numbers[0]
    elif draw < 0.5:
        numbers = numbers[0] * (1.0 + rng.integers(-4, 5, n) * 2.0 ** rng.integers(-52, -20))
    return numbers


def _zero_one(rng: np.random.Generator) -> Any:
    distances = _numbers(rng, rng.integers(1, 6)) * (
        rng.random() < 0.5 or 10.0 ** rng.uniform(0, 4)
    )
    distances[rng.random(len(distances)) < 0.15] = 0.0
    distances[rng.random(len(distances)) < 0.1] = np.inf
    return ZeroOneLoss(distances), [zero_one_place(float(distance)) for distance in distances]


def zero_one_place(distance: float) -> Callable[[Any, Any], Any]:
    """Return the worst case of a row at this distance from an error: its value and its loss, at two prices."""

    def at(h: Any, theta1: Any) -> Any:
        if math.isinf(distance):
            return mpf(0), mpf(0)
        if distance == 0.0:
            return h, mpf(1)
        value = h - theta1 * mpf(distance) ** 2
        return (value, mpf(1)) if value > 0 else (mpf(0), mpf(0))

    return at


def _fixed(rng: np.random.Generator) -> Any:
    losses = _numbers(rng, rng.integers(1, 6))
    return FixedLoss(losses), [unmoved_place(value) for value in losses]


def unmoved_place(loss: float) -> Callable[[Any, Any], Any]:
    return lambda h, theta1: (h * mpf(float(loss)), mpf(float(loss)))


def _hinge(rng: np.random.Generator) -> Any:
    margins = 1.0 + _numbers(rng, rng.integers(1, 6)) * rng.choice([-1.0, 1.0])
    norm = float(10.0 ** rng.uniform(-4, 2))

    def place(margin: float) -> Callable[[Any, Any], Any]:
        def at(h: Any, theta1: Any) -> Any:
            gain = h * mpf(norm) ** 2 / (2 * theta1)
            value = h * (1 - mpf(margin) + gain / 2)
            if h == 0:
                return value, max(1 - mpf(margin), mpf(0))
            return (value, 1 - mpf(margin) + gain) if value > 0 else (mpf(0), mpf(0))

        return at

    return HingeLoss(margins, norm), [place(float(margin)) for margin in margins]


def _logistic(rng: np.random.Generator) -> Any:
    margins = _numbers(rng, rng.integers(1, 4)) * rng.choice([-1.0, 1.0])
    margins = np.clip(margins, -100.0, 40.0)
    norm = float(10.0 ** rng.uniform(-3, 1))

    def place(margin: float) -> Callable[[Any, Any], Any]:
        def at(h: Any, theta1: Any) -> Any:
            gain, m = h * mpf(norm) ** 2 / (2 * theta1), mpf(margin)
            upper = m < gain / 2
            low = gain - m if upper else m
            point = min(-low, mpf(0))
            for _ in range(
                400
            ):  # Newton's method from below, as monotone as in floating-point numbers
                sigmoid = 1 / (1 + mpmath.exp(-point))
                step = (gain * sigmoid - low - point) / (1 - gain * sigmoid * (1 - sigmoid))
                point = min(point + step, mpf(0))
                if abs(step) <= mpf(10) ** (-DIGITS + 8) * max(1, abs(point)):
                    break
            z = -point if upper else point
            moved = z + m  # |w| times the move
            loss = mpmath.log1p(mpmath.exp(z))
            return h * loss - theta1 * (moved / mpf(norm)) ** 2, loss

        return at

    return LogisticLoss(margins, norm), [place(float(margin)) for margin in margins]


def _squared(rng: np.random.Generator) -> Any:
    residuals = _numbers(rng, rng.integers(1, 6)) * rng.choice([-1.0, 1.0])
    norm = float(10.0 ** rng.uniform(-3, 2))

    def place(residual: float) -> Callable[[Any, Any], Any]:
        def at(h: Any, theta1: Any) -> Any:
            growth = theta1 / (theta1 - h * mpf(norm) ** 2)
            return h * growth * mpf(residual) ** 2, growth**2 * mpf(residual) ** 2

        return at

    return SquaredLoss(residuals, norm), [place(float(residual)) for residual in residuals]


def _candidates(rng: np.random.Generator) -> Any:
    n, m = rng.integers(1, 5), rng.integers(2, 5)
    losses = np.stack([_numbers(rng, m) for _ in range(n)]) * (rng.random((n, m)) < 0.8)
    distances = np.stack([_numbers(rng, m) for _ in range(n)])
    distances[:, 0] = 0.0

    def place(row: int) -> Callable[[Any, Any], Any]:
        points = [
            (mpf(a), mpf(b))
            for a, b in zip(losses[row].tolist(), distances[row].tolist(), strict=True)
        ]
        return lambda h, theta1: max((h * a - theta1 * b**2, a) for a, b in points)

    return CandidateLoss(losses, distances, kind="exact"), [place(row) for row in range(n)]


_LOSSES = {
    "zero_one": _zero_one, "hinge": _hinge, "fixed": _fixed, "candidates": _candidates, "squared": _squared,
    "logistic": _logistic,
}  # fmt: skip


def least_cost(
    places: list[Any],
    masses: Any,
    threshold: float,
    theta1: float,
    theta2: float,
    divergence: str,
    guess: float,
    upper: float,
) -> Any:
    """Return the greatest value of the dual to about forty digits, by its tangents: it is concave.

    ``guess`` is a dual price to start from, ``upper`` the price at which the values become infinite.
    """
    sizes = [mpf(float(mass)) for mass in masses]
    sizes = [size / mpmath.fsum(sizes) for size in sizes]
    r, price = mpf(threshold), mpf(theta1) if not math.isinf(theta1) else mpf(1)
    end = mpf("inf") if math.isinf(upper) else price / mpf(1) * (mpf(upper) / mpf(theta1))

    def dual(h: Any) -> tuple[Any, Any]:
        # Values of size h differ by about a price in the weights: a large h takes its own digits away from them.
        lost = max(0, int(mpmath.log10(h / min(price, theta2, 1)))) if h > 0 else 0
        with mpmath.workdps(DIGITS + lost):
            values, losses = zip(*(place(h, price) for place in places), strict=True)
            conjugate, risk = _conjugate(values, losses, sizes, theta2, divergence)
            return h * r - conjugate, r - risk

    def slope_at_rest() -> Any:
        return dual(mpf(0))[1]

    if slope_at_rest() <= 0:
        return mpf(0)
    low, high = (mpf(0), *dual(mpf(0))), None  # type: ignore
    h = min(mpf(guess), (low[0] + end) / 2)
    for _ in range(400):
        value, slope = dual(h)
        if slope > 0:
            low = (h, value, slope)
        else:
            high = (h, value, slope)
        if slope == 0:
            return value
        if high is None:
            if (
                h > mpf(10) ** 45
            ):  # the slope stays positive where the threshold is above every loss
                return mpf("inf") if h * slope > mpf(10) ** 20 * r else value
            h = h * 2 if mpmath.isinf(end) else (h + end) / 2
            continue
        width = high[0] - low[0]
        meet = low[0] + (high[1] - low[1] - high[2] * width) / (low[2] - high[2])
        most = low[1] + low[2] * (meet - low[0])
        best = max(low[1], high[1])
        if most - best <= mpf(10) ** -38 * abs(best):
            return best
        middle = (low[0] + high[0]) / 2
        if low[0] > 0 and high[0] > 4 * low[0]:
            middle = mpmath.sqrt(low[0] * high[0])
        elif low[0] == 0:
            middle = high[0] / 16
        h = meet if _ % 2 and low[0] < meet < high[0] else middle
    return best


def _conjugate(
    values: Any, losses: Any, sizes: Any, theta2: float, divergence: str
) -> tuple[Any, Any]:
    def mean(*parts: Any) -> Any:
        return mpmath.fsum(math.prod(row) for row in zip(sizes, *parts, strict=True))

    if math.isinf(theta2):
        return mean(values), mean(losses)
    price, top = mpf(theta2), max(values)
    if divergence == "kl":
        weights = [mpmath.exp((value - top) / price) for value in values]
        return top + price * mpmath.log(mean(weights)), mean(weights, losses) / mean(weights)
    held = gained = mpf(0)
    level = mpf("-inf")
    for value, size in sorted(
        zip(values, sizes, strict=True), reverse=True
    ):  # the greatest keep a weight
        if level >= value:
            break
        held, gained = held + size, gained + size * value
        level = (gained - 2 * price) / held
    weights = [max(value - level, 0) / (2 * price) for value in values]
    penalty = mean([(weight - 1) ** 2 for weight in weights])
    return mean(weights, values) - price * penalty, mean(weights, losses)


# --- novelty ---------------------------------------------------------------------------------------------


def novelty_cases(n_cases: int, seed: int = 0) -> Iterator[Case]:
    """Yield scores of few rows whose kernels are nearly singular: rows that almost repeat, wide kernels."""
    rng = np.random.default_rng(seed)
    for _ in range(n_cases):
        n, m = rng.integers(2, 4, 2)
        x, y = rng.normal(size=(n, 2)), rng.normal(size=(m, 2))
        gap = 10.0 ** rng.uniform(-12, 0) * (rng.random() < 0.8)
        y[0] = x[0] + gap * rng.normal(size=2)
        x[1] = x[rng.integers(2)] + gap * rng.normal(size=2)
        eta, bandwidth = float(10.0 ** rng.uniform(0, 2)), float(10.0 ** rng.uniform(-2, 4))
        method = ("dense", "landmarks")[rng.integers(2)]
        given: dict[str, Any] = {"eta": eta, "bandwidth": bandwidth, "method": method}
        result = kernel_entropic_novelty(
            x, y, **given, resampling=None, computing=Computing(progress=False)
        )
        with mpmath.workdps(DIGITS):
            exact = _novelty(x, y, eta, bandwidth)
        yield Case(
            result.value, result.error_bound, exact, f"{x!r}, {y!r}, {given}: {result.status}"
        )


def _novelty(x: Any, y: Any, eta: float, bandwidth: float) -> Any:
    """Return the entropy of the positive eigenvalues of K diag(share), by two symmetric problems, which converge."""
    joint = [[mpf(float(value)) for value in row] for row in np.concatenate([x, y])]
    share = [mpf(1) / len(x)] * len(x) + [-mpf(eta) / len(y)] * len(y)
    scale = 2 * mpf(bandwidth) ** 2
    gram = mpmath.matrix(
        [
            [
                mpmath.exp(-sum((p - q) ** 2 for p, q in zip(a, b, strict=True)) / scale)
                for b in joint
            ]
            for a in joint
        ]
    )
    squares, vectors = mpmath.eigsy(gram)
    roots = vectors * mpmath.diag(
        [mpmath.sqrt(max(value, mpf(0))) for value in squares]
    )  # K = roots roots'
    values = mpmath.eigsy(roots.T * mpmath.diag(share) * roots, eigvals_only=True)
    positive = [value for value in values if value > mpf(10) ** -45]
    total = sum(positive, mpf(0))
    return sum((value * mpmath.log(total / value) for value in positive), mpf(0))


# --- agreement ---------------------------------------------------------------------------------------------


def agreement_cases(n_cases: int, seed: int = 0) -> Iterator[Case]:
    """Yield agreements of few pairs whose margins span many orders, with ties, contradictions and rare classes."""
    rng = np.random.default_rng(seed)
    for _ in range(n_cases):
        n_rows, n_classes = int(rng.integers(1, 8)), int(rng.integers(2, 5))
        scale = 10.0 ** rng.uniform(-4, 3, size=(n_rows, 1))
        reference = scale * rng.normal(size=(n_rows, n_classes))
        scores = reference + scale * 10.0 ** rng.uniform(-6, 1) * rng.normal(
            size=(n_rows, n_classes)
        )
        if rng.random() < 0.3:
            scores[0], reference[:, 1] = -reference[0], reference[:, 0]
        prior = (
            rng.dirichlet(np.full(n_classes, 0.3)) + 1e-9
            if rng.random() < 0.5
            else np.ones(n_classes)
        )
        prior = prior / prior.sum()
        result = posterior_agreement(scores, reference, prior=prior, kind="scores")
        # The maximum is not known exactly: no beta near the one found, or far from it, may do better.
        betas = (
            *10.0 ** rng.uniform(-6, 6, 8),
            *(result.beta * 10.0 ** rng.uniform(-1e-3, 1e-3, 4)),
        )
        with mpmath.workdps(DIGITS):
            exact = max(
                _agreement(scores, reference, prior, beta) for beta in (result.beta, *betas)
            )
        words = (
            f"posterior_agreement({scores.tolist()}, {reference.tolist()}, prior={prior.tolist()})"
        )
        yield Case(result.value, result.error_bound, exact, words)


def _agreement(scores: Any, reference: Any, prior: Any, beta: float) -> Any:
    """Return the agreement at one beta; at infinity the posteriors sit on the largest scores."""
    total = mpf(0)
    weights = [mpf(float(value)) for value in prior]
    whole = sum(weights, mpf(0))
    for a, b in zip(scores.tolist(), reference.tolist(), strict=True):
        one, other = (_posterior(row, weights, beta) for row in (a, b))
        shared = sum(
            (p * q * whole / w for p, q, w in zip(one, other, weights, strict=True)), mpf(0)
        )
        total += mpmath.log(shared) if shared > 0 else -mpmath.inf
    return total / len(scores)


def _posterior(row: list[float], weights: list[Any], beta: float) -> list[Any]:
    top = max(row)
    if math.isinf(beta):
        terms = [w if value == top else mpf(0) for value, w in zip(row, weights, strict=True)]
    else:
        terms = [
            w * mpmath.exp(mpf(beta) * (mpf(value) - mpf(top)))
            for value, w in zip(row, weights, strict=True)
        ]
    total = sum(terms, mpf(0))
    return [term / total for term in terms]


# --- run -------------------------------------------------------------------------------------------------

SEARCHES = {"agreement": agreement_cases, "stability": stability_cases, "novelty": novelty_cases}


def main() -> int:
    """Search, print what is wrong, then one line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("measure", choices=[*SEARCHES, *ROUTES, "all"])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    searches: dict[str, Iterator[Case]] = {}
    for name, cases in SEARCHES.items():
        if given.measure in (name, "all"):
            searches[name] = cases(given.cases, given.seed)
    for name in ROUTES:
        n_cases = given.cases // 10 if given.measure == "all" else given.cases
        if given.measure in (name, "all"):
            searches[name] = route_cases(name, n_cases, given.seed)
    n_all = 0
    n_broken = 0
    for name, search in searches.items():
        n_cases, found = wrong(search)
        n_all += n_cases
        n_broken += len(found)
        for case in sorted(found, key=lambda case: -case.excess)[:20]:
            print(
                f"{case.excess:9.3g} times {case.error_bound:.3g}: {case.value!r} for {case.words}"
            )
        print(f"{name}: {len(found)} of {n_cases}", flush=True)
    print(f"{n_broken} wrong of {n_all} certificates")
    return int(bool(n_broken))


if __name__ == "__main__":
    # So that the routes find the classes of this module, and not those of a copy of it.
    sys.modules["certificates"] = sys.modules[__name__]
    from route_certificates import ROUTES, route_cases

    raise SystemExit(main())
