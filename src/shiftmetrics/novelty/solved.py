"""From a solved spectrum to modes: those that the test sample has in excess, and those that it lost."""

from __future__ import annotations

from shiftmetrics.novelty.calibration import Null
from shiftmetrics.novelty.modes import Mode, describe_lost_modes, describe_modes
from shiftmetrics.novelty.problem import Problem, Solution


def gained_modes(problem: Problem, solution: Solution, null: Null | None, rotate: bool) -> tuple[Mode, ...]:
    """Describe what the test sample has in excess; significant modes are rotated where ``rotate`` says so."""
    shown = solution.values.shape[1]
    return describe_modes(
        solution.eigenvalues[:shown],
        solution.values,
        problem.gram.n_test,
        problem.test_weights,
        problem.reference_weights,
        solution.functions,
        solution.coefficients[:, :shown],
        n_significant=None if null is None else null.significant(solution.eigenvalues),
        rotate=rotate,
        gram=problem.gram,
    )


def lost_modes(problem: Problem, solution: Solution, null: Null | None, rotate: bool) -> tuple[Mode, ...]:
    """Describe what the reference has in excess, where the route was asked for it."""
    values, coefficients = solution.lost_values, solution.lost_coefficients
    if values is None or coefficients is None or solution.reverse_eigenvalues is None:
        return ()
    eigenvalues = solution.reverse_eigenvalues
    return describe_lost_modes(
        eigenvalues[: values.shape[1]],
        values,
        problem.gram.n_test,
        problem.test_weights,
        problem.reference_weights,
        solution.functions,
        coefficients,
        n_significant=None if null is None else null.significant(eigenvalues),
        rotate=rotate,
    )
