"""Slow, obvious implementations to test against: loops and textbook formulas, nothing shared with ``src``."""

import numpy as np

# --- posterior agreement ---------------------------------------------------------------------------------


# --- stability -------------------------------------------------------------------------------------------


# --- novelty ---------------------------------------------------------------------------------------------


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
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes)).astype(np.float32)
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
