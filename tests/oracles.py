"""Slow, obvious implementations to test against: loops and textbook formulas, nothing shared with ``src``."""

import warnings

import numpy as np
import pytest

# --- posterior agreement ---------------------------------------------------------------------------------


def agreement_rows(scores, reference_scores, beta, prior=None):
    """log sum_k p_k q_k / pi_k of each row, from probabilities, with extended exponents instead of shifts."""
    a, b = (np.asarray(x, np.longdouble) for x in (scores, reference_scores))
    pi = (
        np.full(a.shape[1], np.longdouble(1) / a.shape[1])
        if prior is None
        else np.asarray(prior, np.longdouble)
    )
    a, b, pi = a[:, pi > 0], b[:, pi > 0], pi[pi > 0]
    p, q = (pi * np.exp(np.longdouble(beta) * (x - x.max(axis=1, keepdims=True))) for x in (a, b))
    p, q = (x / x.sum(axis=1, keepdims=True) for x in (p, q))
    with np.errstate(divide="ignore"):
        return np.log(np.sum(p * q / pi, axis=1))


def agreement(scores, reference_scores, beta, prior=None, weights=None):
    """Mean of the rows' agreement at one beta, in nats."""
    return float(np.average(agreement_rows(scores, reference_scores, beta, prior), weights=weights))


def binary_scores(*groups):
    """Scores of shape (n, 2) from groups (count, margin)."""
    margins = np.concatenate([np.full(count, float(margin)) for count, margin in groups])
    return np.stack([np.zeros_like(margins), margins], axis=1)


def noisy_pairs(seed, n, k, noise=2.0):
    """Scores of a reference and of the same rows with noise: the noisy ones first."""
    rng = np.random.default_rng(seed)
    reference = rng.normal(size=(n, k)) * 3
    return reference + rng.normal(size=(n, k)) * noise, reference


def hard_pairs(seed):
    """Pairs that are hard to maximise over beta: several maxima, ties, one contradiction, mixed scales."""
    rng = np.random.default_rng(seed)
    n, k = 300, (2, 3, 10, 50, 200)[seed % 5]
    kind = ("several maxima", "ties", "one contradiction", "mixed scales")[seed % 4]
    reference = rng.normal(size=(n, k)) * 3
    if (
        kind == "several maxima"
    ):  # agreeing groups of very different scales, few and faint contradictions
        scales = np.repeat(10.0 ** rng.uniform(-2, 2, size=3), n // 3)[:, None]
        reference = reference * scales
        scores = reference + rng.normal(size=(n, k)) * 0.3 * scales
        scores[:2] = -reference[:2] * 3
    elif kind == "ties":
        reference = np.round(reference)
        scores = np.round(reference + rng.normal(size=(n, k)) * 0.7)
    elif kind == "one contradiction":
        scores = reference * 1.3
        scores[0] = -5 * reference[0]
    else:
        scales = 10.0 ** rng.uniform(-3, 3, size=(n, 1))
        scores, reference = (reference + rng.normal(size=(n, k))) * scales, reference * scales
    return scores, reference


# --- stability -------------------------------------------------------------------------------------------


def stability_primal(values, slope_norms, threshold, theta1, theta2, divergence):
    """Least cost of a shift, as a convex program over how each row splits over the pieces of its loss.

    Row i puts the weight w_ik on piece k and moves it by v_ik / w_ik along the slope of that piece.
    """
    cp = pytest.importorskip("cvxpy")

    n, pieces = values.shape
    norms = np.broadcast_to(slope_norms, values.shape)
    w, v, square = (cp.Variable((n, pieces)) for _ in range(3))
    density = cp.sum(w, axis=1)
    constraints = [
        w >= 0,
        cp.sum(cp.multiply(w, values) + cp.multiply(norms, v)) / n >= threshold,
        cp.sum(density) == n,
    ]
    cost = 0
    if np.isinf(theta1):
        constraints.append(v == 0)
    else:
        constraints.append(cp.multiply(v, norms == 0) == 0)
        flat_w, flat_v, flat_square = (cp.vec(x, order="C") for x in (w, v, square))
        cone = cp.vstack([2 * flat_v, flat_w - flat_square])  # v^2 <= w square
        constraints.append(cp.SOC(flat_w + flat_square, cone, axis=0))
        cost += theta1 * cp.sum(square) / n
    return _solve_primal(cost, constraints, density, theta2, divergence)


def candidate_primal(losses, distances, threshold, theta1, theta2, divergence):
    """Least cost of a shift that splits each row over a list of points."""
    cp = pytest.importorskip("cvxpy")

    n, m = losses.shape
    reachable = np.isfinite(distances) & ((distances == 0) | np.isfinite(theta1))
    price = np.zeros(losses.shape)
    moved = reachable & (distances > 0)
    price[moved] = theta1 * distances[moved] ** 2
    w = cp.Variable((n, m), nonneg=True)
    density = cp.sum(w, axis=1)
    constraints = [
        cp.sum(cp.multiply(w, np.where(reachable, losses, 0.0))) / n >= threshold,
        cp.sum(density) == n,
        cp.multiply(w, ~reachable) == 0,
    ]
    return _solve_primal(
        cp.sum(cp.multiply(w, price)) / n, constraints, density, theta2, divergence
    )


def _solve_primal(cost, constraints, density, theta2, divergence):
    cp = pytest.importorskip("cvxpy")

    n = density.shape[0]
    if np.isinf(theta2):
        constraints.append(density == 1)
    elif divergence == "kl":
        cost += theta2 * cp.sum(cp.kl_div(density, 1)) / n  # t log t - t + 1
    else:
        cost += theta2 * cp.sum_squares(density - 1) / n
    problem = cp.Problem(cp.Minimize(cost), constraints)
    precise = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
    with warnings.catch_warnings():  # asked for more digits than it can always give
        warnings.filterwarnings("ignore", "Solution may be inaccurate")
        return float(problem.solve(solver=cp.CLARABEL, **precise))


def zero_one_stability(error_rate, threshold, theta2, divergence):
    """Stability of a 0/1 loss whose rows cannot move."""
    p, r = error_rate, threshold
    if divergence == "chi2":
        return theta2 * (r - p) ** 2 / (p * (1 - p))
    rest = (
        (1 - r) * (np.log((1 - r) / (1 - p)) if r > 0.5 else np.log1p((p - r) / (1 - p)))
        if r < 1
        else 0.0
    )
    return theta2 * (r * np.log1p((r - p) / p) + rest)


def zero_one_corruption(distances, threshold, theta1):
    """Stability of a 0/1 loss whose weights cannot change: the nearest rows move, the last of them in part."""
    nearest = np.sort(distances) ** 2
    n = len(nearest)
    k = int(np.ceil(round(n * threshold, 9)))
    return theta1 * (nearest[: k - 1].sum() / n + (threshold - (k - 1) / n) * nearest[k - 1])


def worst_case_on_grid(loss_of_move, dual, theta1, longest, points=200_001):
    """Greatest ``dual * loss - theta1 * t^2`` over moves t of a row along the slope of its score."""
    moves = np.linspace(0.0, longest, points)
    scores = dual * loss_of_move(moves) - theta1 * moves**2
    best = int(np.argmax(scores))
    return scores[best], loss_of_move(moves[best]), moves[best] ** 2


def plan_cost(weights, splits, distances, theta1, theta2, divergence):
    """Cost of a shift from its parts: ``splits`` are (row, weight, distance) of second places."""
    first = np.array(weights, dtype=float)
    moves = 0.0
    for row, weight, distance in splits:
        first[row] -= weight
        moves += weight * distance**2
    moves += float(np.sum(first * np.asarray(distances) ** 2))
    t = np.asarray(weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.where(t > 0, t * np.log(t), 0.0)
    penalty = log - t + 1 if divergence == "kl" else (t - 1) ** 2
    cost = 0.0 if np.isinf(theta1) else theta1 * moves / len(t)
    return cost + (0.0 if np.isinf(theta2) else theta2 * penalty.mean())


def nearest_error_by_enumeration(predict, x, y, axes, units):
    """Return each row's distance to the nearest point of a grid that is misclassified; a NaN axis stands still."""
    distances = np.full(len(x), np.inf)
    for row, start in enumerate(x):
        own = [
            np.array([here]) if np.isnan(axis).all() else axis
            for axis, here in zip(axes, start, strict=True)
        ]
        points = np.stack(np.meshgrid(*own, indexing="ij"), axis=-1).reshape(-1, len(axes))
        points = np.concatenate([points, start[None]])
        wrong = predict(points) != y[row]
        if wrong.any():
            distances[row] = np.linalg.norm((points[wrong] - start) * units, axis=1).min()
    return distances


# --- novelty ---------------------------------------------------------------------------------------------


def gaussian_kernel(x, y, bandwidth):
    """Entry by entry, from differences."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    return np.array([[np.exp(-np.sum(((a - b) / bandwidth) ** 2) / 2) for b in y] for a in x])


def differential_kernel_matrix(x, y, kernel, eta=1.0, weights=None, reference_weights=None):
    """The non-symmetric matrix of the paper, whose nonzero eigenvalues are those of C_X - eta C_Y."""
    a = np.full(len(x), 1 / len(x)) if weights is None else np.asarray(weights) / np.sum(weights)
    b = (
        np.full(len(y), 1 / len(y))
        if reference_weights is None
        else np.asarray(reference_weights) / np.sum(reference_weights)
    )
    root = np.sqrt(np.concatenate([a, eta * b]))
    joint = np.concatenate([x, y])
    signs = np.concatenate([np.ones(len(x)), -np.ones(len(y))])
    return signs[:, None] * root[:, None] * kernel(joint, joint) * root


def novelty_eigenvalues(matrix, tolerance=1e-10):
    """Positive eigenvalues of a differential kernel matrix, largest first."""
    eigenvalues = np.linalg.eigvals(matrix)
    assert np.abs(eigenvalues.imag).max() < 1e-6
    return np.sort(eigenvalues.real[eigenvalues.real > tolerance])[::-1]


def novelty(eigenvalues):
    """The entropy of positive eigenvalues that need not sum to 1, term by term."""
    total = sum(eigenvalues)
    return sum(value * np.log(total / value) for value in eigenvalues)


def novel_mode(x, y, kernel, eta, position, points):
    """Values at ``points`` of the unit eigenfunction of C_X - eta C_Y with the ``position``-th largest eigenvalue.

    From the right eigenvectors v of the non-symmetric matrix: u(t) = sum_j s_j v_j k(z_j, t), scaled to unit norm.
    """
    matrix = differential_kernel_matrix(x, y, kernel, eta)
    eigenvalues, vectors = np.linalg.eig(matrix)
    v = vectors[:, np.argsort(-eigenvalues.real)[position]].real
    root = np.sqrt(np.concatenate([np.full(len(x), 1 / len(x)), np.full(len(y), eta / len(y))]))
    joint = np.concatenate([x, y])
    coefficients = root * v
    norm = np.sqrt(coefficients @ kernel(joint, joint) @ coefficients)
    return kernel(points, joint) @ coefficients / norm


# --- shifts ----------------------------------------------------------------------------------------------


def levenshtein(first: str, second: str) -> int:
    """Return the smallest number of insertions, deletions and replacements from one text to the other."""
    table = [[max(i, j) for j in range(len(second) + 1)] for i in range(len(first) + 1)]
    for i, a in enumerate(first, start=1):
        for j, b in enumerate(second, start=1):
            table[i][j] = min(
                table[i - 1][j] + 1,  # delete a
                table[i][j - 1] + 1,  # insert b
                table[i - 1][j - 1] + (a != b),  # keep, or replace a by b
            )
    return table[-1][-1]


def nearest_error_on_grid(predict, x, y, axes, costs, norm):
    """Unsquared weighted distance of each row of the plane to the nearest grid point predicted otherwise."""
    grid = (
        np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        .reshape(-1, len(axes))
        .astype(np.float32)
    )
    predicted = predict(grid)
    distances = []
    for row, label in zip(x, y, strict=True):
        moves = np.sqrt(costs) * np.abs(grid[predicted != label] - row)
        lengths = np.sqrt((moves**2).sum(axis=1)) if norm == "l2" else moves.max(axis=1)
        distances.append(lengths.min(initial=np.inf))
    return np.where(predict(x) != y, 0.0, distances)


def largest_loss_on_grid(loss, x, y, radius, bounds, costs, norm, n=121):
    """Largest loss of each row of the plane within a weighted ball and bounds, on a grid of its own."""
    unit = np.linspace(-1.0, 1.0, n)
    moves = np.stack(np.meshgrid(unit, unit, indexing="ij"), axis=-1).reshape(-1, 2)
    if norm == "l2":
        moves = (
            moves
            / np.maximum(np.linalg.norm(moves, axis=1), 1e-12)[:, None]
            * np.abs(moves).max(axis=1)[:, None]
        )
    moves = radius * moves / np.sqrt(costs)
    return np.array(
        [
            loss(np.clip(row + moves, *bounds).astype(np.float32), np.full(len(moves), label)).max()
            for row, label in zip(x, y, strict=True)
        ]
    )


# --- moves of rows ---------------------------------------------------------------------------------------


def valid_moves(domain, points, start):
    """Which points the rows at ``start`` may move to, by the rules of their domain."""
    low, high = domain.limits(start)
    same = (points == start) | (np.isnan(points) & np.isnan(start))
    fine = np.all(((points >= low) & (points <= high)) | domain.categorical | same, axis=1)
    whole = domain.numeric & domain.integer
    step = np.where(same, 0.0, points - start)[:, whole]
    fine &= np.all(np.abs(step - np.rint(step)) <= 1e-9 * np.maximum(1.0, np.abs(step)), axis=1)
    for flip in domain.flips:
        stays = same[:, flip.columns].all(axis=1)
        if domain.mutable[flip.columns].all() and len(flip.states) > 1:
            state = flip.state_of(points)
            stays |= (state >= 0) & (state < len(flip.states)) & ~flip.is_stuck(start)
        fine &= stays
    return fine


# --- choosing models ---------------------------------------------------------------------------------------


def weighted_vote(predictions, rounds=4):
    """The weighted vote in each row, and the models' weights, one row and one model at a time."""
    from sklearn.metrics import cohen_kappa_score

    n_models, n_rows = predictions.shape

    def kappa(first, second):
        found = cohen_kappa_score(first, second)
        return 0.0 if np.isnan(found) else max(0.0, found)

    def votes(models):
        found = []
        for i in range(n_rows):
            tally = dict.fromkeys(range(predictions.max() + 1), 0.0)
            for j in models:
                tally[predictions[j, i]] += trust[j]
            found.append(min(k for k in tally if tally[k] == max(tally.values())))
        return np.array(found)

    others = [[j for j in range(n_models) if j != m] for m in range(n_models)]
    trust = [1.0] * n_models
    if n_models < 4:
        trust = [
            np.mean([kappa(predictions[m], predictions[j]) for j in others[m]]) ** 2
            for m in range(n_models)
        ]
    for _ in range(rounds):
        trust = [kappa(predictions[m], votes(others[m])) ** 2 for m in range(n_models)]
    return votes(range(n_models)), np.array(trust)


def chained_confusion(labels, labelled, before, shifted, n_classes):
    """Spread each pair over the labels that its unshifted prediction has on the labelled rows."""
    found = np.zeros((n_classes, n_classes))
    for old, new in zip(before, shifted, strict=True):
        like = [
            label for label, predicted in zip(labels, labelled, strict=True) if predicted == old
        ] or labels
        for label in like:
            found[label, new] += 1.0 / len(like) / len(before)
    return found
