"""The nearest errors of models that are constant between edges, found by trying all that stands beside these."""

import numpy as np


def beside_edges(edges):
    """Return edges with their neighbours in float32 and float64, on either side."""
    values = np.asarray(edges, dtype=np.float64)
    for dtype in (np.float32, np.float64):
        held = values.astype(dtype)
        below, above = (np.nextafter(held, dtype(way)) for way in (-np.inf, np.inf))
        values = np.concatenate([values, held, below, above])
    return np.unique(values)


def nearest_error_beside_edges(predict, x, y, edges, units):
    """Each row's distance to the nearest error among all pairs of numbers beside edges, and its own two numbers."""
    within = []
    for column, of_column in zip(x.T, edges, strict=True):
        values = np.append(beside_edges(of_column), [column.min(), column.max()])
        within.append(values[(column.min() <= values) & (values <= column.max())])
    distances = np.full(len(x), np.inf)
    shared = np.stack(np.meshgrid(*within, indexing="ij"), axis=-1).reshape(-1, 2)
    labels = predict(shared)
    for row, start in enumerate(x):
        first = np.stack([within[0], np.full(len(within[0]), start[1])], axis=1)
        second = np.stack([np.full(len(within[1]), start[0]), within[1]], axis=1)
        own = np.concatenate([first, second, start[None]])
        wrong = np.concatenate([labels != y[row], predict(own) != y[row]])
        apart = np.linalg.norm((np.concatenate([shared, own]) - start) / units, axis=1)
        distances[row] = apart[wrong].min(initial=np.inf)
    return distances


def nearest_error_with_categories(predict, frame, y, edges):
    """Each row's distance to the nearest error, for a number and a category: beside all edges, in all levels."""
    number, category = frame.columns
    values = beside_edges(edges)
    values = values[(frame[number].min() <= values) & (values <= frame[number].max())]
    levels = frame[category].unique().tolist()
    frequencies = frame[category].value_counts(normalize=True)
    flip = 2.0 / (1.0 - (frequencies**2).sum())
    distances = np.full(len(frame), np.inf)
    for row in range(len(frame)):
        start, level = frame.iloc[row]
        own = np.append(values, start)
        points = frame.iloc[[0] * (len(own) * len(levels))].reset_index(drop=True)
        points[number] = np.tile(own, len(levels))
        points[category] = np.repeat(np.array(levels), len(own))
        squared = ((points[number] - start) / frame[number].std(ddof=0)) ** 2
        squared = squared + flip * (points[category] != level)
        wrong = np.asarray(predict(points)).ravel() != y[row]
        distances[row] = np.sqrt(squared[wrong].min()) if wrong.any() else np.inf
    return distances
