"""The nearest errors of a network: gradient attacks in the metric of the costs, then queries where they fail."""

from __future__ import annotations

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.attacks import AttackOptions, nearest_error
from shiftmetrics.models.blackbox import answer_of_errors, find_counterexamples
from shiftmetrics.models.domain import Domain
from shiftmetrics.models.networks.network import Network
from shiftmetrics.models.question import Question
from shiftmetrics.models.route import Answer


def attack_network(question: Question, network: Network) -> Answer:
    """Answer for the 0/1 loss."""
    points = _attacked(question, network)
    domain, codes = question.domain, question.codes
    # errors and distances are those of the model at the points in its own precision
    wrong = question.is_wrong(codes, slice(None))
    success = question.is_wrong(points, slice(None))
    distances = np.where(success, domain.distances(points, codes), np.inf)
    distances[wrong] = 0.0
    left = np.isinf(distances)
    if left.any() or domain.movable_flips or (domain.sliding & domain.integer).any():
        # jumps have no gradient, and a gradient may lead nowhere
        found = find_counterexamples(question, n_queries=question.n_queries, known=points)
        nearer = found.distances < distances
        points = np.where(nearer[:, None], found.points, points)
        distances = np.minimum(found.distances, distances)
    return answer_of_errors(points, distances, warnings=network.warnings)


def _attacked(question: Question, network: Network) -> FloatArray:
    """Return where gradient attacks bring each row; the row itself where they find nothing."""
    domain, codes = question.domain, question.codes
    free = domain.sliding & ~domain.integer
    if not free.any():
        return codes.copy()
    with network.evaluating():
        found = nearest_error(
            network,
            network.tensor(codes).to(network.dtype),
            question.y,
            options=AttackOptions(
                bounds=_bounds(domain, codes),
                feature_costs=np.where(free, domain.unit, 1.0) ** -2.0,
                frozen=~free,
                rng=question.rng,
                progress=question.progress,
            ),
        )
    moved = np.asarray(found.x_adv.detach().cpu().double().numpy())
    inside = domain.clip(np.where(free, moved, codes), codes)
    return network.seen(inside, codes)


def _bounds(domain: Domain, codes: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return bounds that hold every row: those of the domain, widened to rows that stand outside."""
    low, high = domain.limits(codes)
    if np.isinf(low[:, domain.sliding]).all() and np.isinf(high[:, domain.sliding]).all():
        return None
    return np.minimum(low.min(axis=0), codes.min(axis=0)), np.maximum(high.max(axis=0), codes.max(axis=0))
