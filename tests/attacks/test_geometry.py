"""Projections on balls and hyperplanes, within boxes: against convex programs and their own definitions."""

import cvxpy as cp
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from shiftmetrics.attacks.geometry import (
    dual_norm,
    move_to_hyperplane,
    project_ball,
    row_norm,
    steepest,
)


def draw(seed, n=6, d=5):
    rng = np.random.default_rng(seed)
    point = rng.uniform(-1, 1, (n, d))
    low, high = point - rng.uniform(0, 1, (n, d)), point + rng.uniform(0, 1, (n, d))
    normal = rng.normal(size=(n, d)) * (rng.random((n, d)) > 0.2)
    return point, normal, low, high, rng.uniform(0, 1.5, n)


@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_the_move_to_a_hyperplane_is_that_of_a_convex_program(norm):
    for seed in range(4):
        point, normal, low, high, gap = draw(seed)
        tensors = [torch.tensor(part) for part in (point, normal, gap, low, high)]
        moves = move_to_hyperplane(*tensors, norm).numpy()
        reachable = np.maximum(normal * (high - point), normal * (low - point)).sum(axis=1)
        for i in range(len(point)):
            assert (point[i] + moves[i] >= low[i] - 1e-12).all()
            assert (point[i] + moves[i] <= high[i] + 1e-12).all()
            if reachable[i] < gap[i]:  # the nearest corner
                assert normal[i] @ moves[i] == pytest.approx(reachable[i])
                continue
            move = cp.Variable(point.shape[1])
            program = cp.Problem(
                cp.Minimize(cp.norm(move, 2 if norm == "l2" else "inf")),
                [normal[i] @ move == gap[i], point[i] + move >= low[i], point[i] + move <= high[i]],
            )
            program.solve(solver="CLARABEL")
            assert normal[i] @ moves[i] == pytest.approx(gap[i])
            length = np.linalg.norm(moves[i], ord=2 if norm == "l2" else np.inf)
            assert length == pytest.approx(program.value, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("norm", ["l2", "linf"])
@given(seed=st.integers(0, 1000))
def test_an_infinite_box_is_no_box(norm, seed):
    point, normal, _, _, gap = (torch.tensor(part) for part in draw(seed))
    wide = torch.full_like(point, torch.inf)
    speed = normal if norm == "l2" else normal.sign()
    free = speed * (gap / (normal * speed).sum(dim=1))[:, None]
    torch.testing.assert_close(move_to_hyperplane(point, normal, gap, -wide, wide, norm), free)


@pytest.mark.parametrize("norm", ["l2", "linf"])
@given(seed=st.integers(0, 1000), radius=st.floats(0.0, 3.0))
def test_norms_are_dual_and_projections_stay_inside(norm, seed, radius):
    point, normal, *_ = (torch.tensor(part) for part in draw(seed))
    direction = steepest(normal, norm)
    torch.testing.assert_close((direction * normal).sum(1), dual_norm(normal, norm))
    inside = project_ball(point, torch.full((len(point),), radius, dtype=point.dtype), norm)
    assert bool((row_norm(inside, norm) <= radius * (1 + 1e-12)).all())
    torch.testing.assert_close(project_ball(inside, row_norm(inside, norm), norm), inside)
