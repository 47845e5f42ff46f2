"""Kernel entropic novelty: what one sample holds more of than a reference, in nats and in modes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.memory import check_memory_limit
from shiftmetrics._core.options import Computing, Resampling, computing_of
from shiftmetrics._core.result import settings_of
from shiftmetrics._core.validation import check_number, check_rng
from shiftmetrics.novelty.confirm import split, tested_modes
from shiftmetrics.novelty.inputs import (
    KernelChoice,
    bandwidth_of,
    check_eta,
    check_kernel,
    check_pairs,
    check_samples,
    make_gram,
    shares,
)
from shiftmetrics.novelty.intervals import subsample
from shiftmetrics.novelty.kernels import CallableKernel
from shiftmetrics.novelty.modes import describe_modes
from shiftmetrics.novelty.null import relabel
from shiftmetrics.novelty.options import FourierMap, LandmarkMap, NoveltyResampling, novelty_resampling_of
from shiftmetrics.novelty.outcome import cautions, status_of
from shiftmetrics.novelty.result import NoveltyResult
from shiftmetrics.novelty.routes import Method, PointSource, check_method, solve
from shiftmetrics.novelty.solution import Problem

TESTED_LEVEL = 0.95
"""Of tests of modes on held-out rows, where no level is given."""


def kernel_entropic_novelty(
    features: Any,
    reference: Any,
    *,
    eta: float = 1.0,
    kernel: KernelChoice = "gaussian",
    bandwidth: float | Literal["auto", "median"] = "auto",
    method: Method | FourierMap | LandmarkMap = "auto",
    sample_weight: Any = None,
    reference_weight: Any = None,
    resampling: NoveltyResampling | Resampling | float | None = None,
    computing: Computing | None = None,
) -> NoveltyResult:
    """Measure what a sample shows more often than a reference, and find the modes that it does.

    The positive eigenvalues l of C_X - eta C_Y, the difference of the kernel covariances of both samples, are the
    excess weights of the novel modes; with their sum S the novelty is ``sum(l * log(S / l))``. It is 0 for the same
    rows, and the entropy of the novel modes where modes are far apart.

    Parameters
    ----------
    features : array or DataFrame of shape (n_samples, n_columns), or iterable of batches
        The sample under test: any array of the Python array API, a memory map, a table, or an iterable of batches of
        rows that can be read several times. Batches of more than 16,384 rows in all are never held in memory
        together; the routes "landmarks", "fourier" and "cosine" serve them.
    reference : array or DataFrame of shape (n_reference, n_columns), or iterable of batches
        The reference. Columns of two tables match by name.
    eta : float, default 1.0
        How many times as frequent as in the reference counts as new; at least 1. To find what a generator leaves out,
        pass its training data as ``features``, what it generated as ``reference`` and ``eta=10``.
    kernel : {"gaussian", "cosine", "precomputed"} or callable, default "gaussian"
        Similarity of two rows. A callable maps arrays of shape (a, d) and (b, d) to a symmetric similarity of shape
        (a, b); a diagonal other than 1 is divided out. With "precomputed", ``features`` holds the similarities of
        the test rows to all rows, those of the test sample first and those of the reference after them, of shape
        ``(n_samples, n_samples + n_reference)``, and ``reference`` those of the reference rows to the same, of shape
        ``(n_reference, n_samples + n_reference)``: the upper and the lower rows of one symmetric matrix.
    bandwidth : float, "auto" or "median", default "auto"
        Bandwidth of the Gaussian kernel, in units of the features; "auto" and "median" are the rules of
        `choose_bandwidth`, of both samples together.
    method : str, FourierMap or LandmarkMap, default "auto"
        The route; ``settings["reason"]`` of the result says why "auto" took which.

        - "dense" factors the whole kernel matrix: exact, for some ten thousand rows at most.
        - "cholesky" factors it from as few of its columns as explain all rows to the tolerance: for any number of
          rows where these are few (low dimension, or a wide kernel).
        - "landmarks" takes the columns from a random part of the rows and passes over all rows once: memory does not
          grow with the rows, and the error bound covers what is left out.
        - "fourier" finds the first modes nearly, by random frequencies (Gaussian kernel only), for any number of rows
          in any dimension. It gives no score of all rows: the score is that of 1,000 rows of each sample, by an exact
          route.
        - "cosine" is exact for the cosine kernel, with a row and a column for each feature.
        - ``LandmarkMap(n_landmarks)`` and ``FourierMap(n_frequencies, score_rows)`` set their sizes.
    sample_weight, reference_weight : array of shape (n_rows,), optional
        Non-negative weights of the rows of each sample. A sample keeps its weights when rows are relabelled. Where
        one sample alone has weights, and they depend on its rows, p-values are larger than they should be.
    resampling : NoveltyResampling, Resampling or float, optional
        How the score and its modes are set against chance: relabelled rows (by default 20 relabellings), intervals
        by subsampling (a number is their level), tests of the modes on held-out rows, pairs, and the seed.
    computing : Computing, optional
        Executor, memory_limit, progress, and rtol: the share of the kernel matrix's trace that "cholesky" and
        "landmarks" may leave out (default 1e-12).

    Returns
    -------
    NoveltyResult
        With ``held_out`` rows, the score, eigenvalues and modes are those of the other rows.

    Raises
    ------
    ValueError
        If an argument is out of range, values are not finite, a sample has fewer than two rows, or columns differ.
    TypeError
        If the data are not numbers, or come from two array libraries.
    MemoryError
        If the chosen route needs more than ``memory_limit``.

    See Also
    --------
    choose_bandwidth : The default bandwidth.
    novelty_table : Each of several samples against each other.

    Notes
    -----
    Zhang, Li and Farnia, "An Interpretable Evaluation of Entropy-based Novelty of Generative Models", ICML 2024
    (arXiv:2402.17287). Its algorithm 1 is corrected here: eigenvectors of the reduced matrix are mapped back to rows.

    Finite samples of one distribution differ, so they score more than 0, the more so in high dimension and at a
    narrow bandwidth. So the score is set against relabelled rows: ``result.excess``, ``result.p_value``, and the
    modes above the largest eigenvalue of any relabelling, ``result.n_significant``. That tests whether the two
    samples are of one distribution; it does not show that a mode is more than ``eta`` times as frequent. Held-out
    rows do.

    Examples
    --------
    Four far clusters, two of which the reference lacks:

    >>> import numpy as np
    >>> centers = np.array([[0.0, 0.0], [0.0, 9.0], [9.0, 0.0], [9.0, 9.0]])
    >>> sample, reference = np.repeat(centers, 10, axis=0), np.repeat(centers[:2], 20, axis=0)
    >>> result = kernel_entropic_novelty(sample, reference, bandwidth=1.0)
    >>> round(result.value, 4), round(result.total, 4), [round(mode.eigenvalue, 4) for mode in result.modes]
    (0.3466, 0.5, [0.25, 0.25])
    >>> result.n_significant, round(result.p_value, 3)
    (2, 0.048)
    >>> result.point_novelty([[9.0, 9.0], [0.0, 0.0]]).round(4)
    array([1., 0.])
    """
    eta = check_eta(eta)
    kernel = check_kernel(kernel)
    route, sizes = check_method(method, kernel)
    options = novelty_resampling_of(resampling)
    computing = computing_of(computing, rtol=1e-12, memory_limit=None)
    rtol = check_number(computing.rtol, "rtol", low=0.0, high=1.0)
    generator = check_rng(0 if options.rng is None else options.rng)
    draw_seed = int(generator.spawn(1)[0].integers(2**31))  # the same for results that are to be compared
    samples = check_samples(features, reference, kernel)
    weights = (
        shares(sample_weight, "sample_weight", samples[0]),
        shares(reference_weight, "reference_weight", samples[1]),
    )
    if options.paired:
        check_pairs(*weights)
    held_out = None
    if options.held_out is not None:
        how = {"paired": options.paired, "precomputed": kernel == "precomputed"}
        found_on, held_out = split(samples, weights, options.held_out, generator, **how)
        samples, weights = found_on.samples, found_on.weights
    given = (
        None if sample_weight is None else weights[0],
        None if reference_weight is None else weights[1],
    )
    width, choice = bandwidth_of(bandwidth, kernel, samples, given, generator)
    problem = Problem(
        gram=make_gram(*samples, kernel, width),
        test_weights=weights[0],
        reference_weights=weights[1],
        eta=eta,
        rtol=rtol,
        memory_limit=check_memory_limit(computing.memory_limit),
        paired=options.paired,
        seed=int(generator.integers(2**63)),
        executor=computing.executor,
        progress=computing.progress,
        **sizes,
    )
    solution = solve(problem, route)
    gained, lost = relabel(problem, solution, options)
    part, scored = (problem, solution) if solution.scored is None else solution.scored
    value, error_bound, positive = scored.score(int(np.count_nonzero(part.test_weights)))
    sizes_of_part = part.gram.n_test, part.gram.n_reference
    total = min(1.0, float(positive.sum()))
    name = kernel if isinstance(kernel, str) else CallableKernel(kernel).name
    result = NoveltyResult(
        value=value,
        error_bound=error_bound,
        status=status_of(solution, problem.gram.n_rows),
        n_samples=problem.gram.n_test,
        settings=settings_of(
            eta=eta,
            kernel=name,
            bandwidth=bandwidth,
            bandwidth_choice=None if choice is None else choice.to_dict(),
            method=route,
            **sizes,
            reason=solution.reason,
            weighted=(sample_weight is not None, reference_weight is not None),
            resampling=options.settings(),
            computing=computing.settings(),
        ),
        warnings=cautions(problem, solution, total, unpaired_null=gained is not None and not problem.paired),
        total=total,
        eigenvalues=solution.eigenvalues[solution.eigenvalues > solution.cutoff],
        modes=describe_modes(problem, solution, gained),
        lost_modes=describe_modes(problem, solution, lost, lost=True),
        eta=eta,
        kernel=name,
        bandwidth=width,
        method=solution.method,
        rank=solution.rank,
        n_reference=problem.gram.n_reference,
        mode_count=solution.mode_counts[0],
        reference_mode_count=solution.mode_counts[1],
        score_rows=sizes_of_part if part.gram.n_rows < problem.gram.n_rows else None,
        n_frequencies=problem.n_frequencies if solution.method == "fourier" else None,
        null=gained,
        reverse_null=lost,
        source=PointSource.of(problem, solution),
    )
    if eta == 1.0:
        n_weighted = int(np.count_nonzero(part.reference_weights))
        other, other_bound, lost_values = scored.score(n_weighted, reverse=True)
        kept = lost_values if solution.scored is None else None
        result = replace(result, reverse=other, reverse_error_bound=other_bound, reverse_eigenvalues=kept)
    if options.level is not None:
        drawn = subsample(problem, solution, level=options.level, n_draws=options.n_draws, seed=draw_seed)
        result = replace(result, **drawn)
    if held_out is None:
        return result
    level = TESTED_LEVEL if options.level is None else options.level
    tests = tested_modes(result.grouped_modes(), held_out, eta, level)
    return replace(
        result,
        tests=tests,
        tested_level=level,
        tested_rows=(len(held_out.rows[0]), len(held_out.rows[1])),
    )
