"""Kernel entropic novelty: what one sample holds more of than a reference, in nats and in modes."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.memory import check_memory_limit
from shiftmetrics._core.result import settings_of
from shiftmetrics._core.tables import Align
from shiftmetrics._core.validation import check_choice, check_integer, check_number, check_rng
from shiftmetrics.novelty.calibration import N_PERMUTATIONS, NULL_ROWS, Nulls, calibrate
from shiftmetrics.novelty.cautions import cautions
from shiftmetrics.novelty.eigensolver import check_torch
from shiftmetrics.novelty.fourier import N_FREQUENCIES
from shiftmetrics.novelty.inputs import (
    KernelChoice,
    check_eta,
    check_kernel,
    check_pairs,
    check_samples,
    choose_bandwidth,
    make_gram,
    shares,
)
from shiftmetrics.novelty.intervals import N_RESAMPLES, Resampled, resample
from shiftmetrics.novelty.kernels import CallableKernel
from shiftmetrics.novelty.problem import METHODS, Eigensolver, Method, Problem, Solution
from shiftmetrics.novelty.result import NoveltyResult, PointSource, status_of
from shiftmetrics.novelty.routes import check_method, solve
from shiftmetrics.novelty.solved import gained_modes, lost_modes


def kernel_entropic_novelty(
    features: Any,
    reference: Any,
    *,
    eta: float = 1.0,
    kernel: KernelChoice = "gaussian",
    bandwidth: float | Literal["auto", "median"] = "auto",
    method: Method = "auto",
    eigensolver: Eigensolver = "scipy",
    sample_weight: Any = None,
    reference_weight: Any = None,
    reverse: bool | None = None,
    n_modes: int = 10,
    rotation: Literal["varimax", "none"] = "varimax",
    rtol: float = 1e-12,
    max_rank: int | None = None,
    n_frequencies: int = N_FREQUENCIES,
    score_rows: int = 1000,
    n_permutations: int = N_PERMUTATIONS,
    null_rows: int = NULL_ROWS,
    paired: bool = False,
    confidence_level: float | None = None,
    n_resamples: int = N_RESAMPLES,
    memory_limit: int | None = None,
    align: Align = "labels",
    rng: Any = None,
    executor: Executor | None = None,
    progress: bool = True,
) -> NoveltyResult:
    """Measure what a sample shows more often than a reference, and find the modes that it does.

    The positive eigenvalues l of C_X - eta C_Y, the difference of the kernel covariances of both samples, are the
    excess weights of the novel modes; with their sum S the novelty is ``sum(l * log(S / l))``. It is 0 for the same
    rows, and the entropy of the novel modes where modes are far apart.

    Parameters
    ----------
    features : array or DataFrame of shape (n_samples, n_columns)
        The sample under test: any array of the Python array API, or a table.
    reference : array or DataFrame of shape (n_reference, n_columns)
        The reference. Columns of two tables match by name.
    eta : float, default 1.0
        How many times as frequent as in the reference counts as new; at least 1.
    kernel : {"gaussian", "cosine", "precomputed"} or callable, default "gaussian"
        Similarity of two rows. A callable maps arrays of shape (a, d) and (b, d) to a symmetric similarity of shape
        (a, b); a diagonal other than 1 is divided out. With "precomputed", ``features`` holds the similarities of
        the test rows to all rows, those of the test sample first and those of the reference after them, of shape
        ``(n_samples, n_samples + n_reference)``, and ``reference`` those of the reference rows to the same, of shape
        ``(n_reference, n_samples + n_reference)``: the upper and the lower rows of one symmetric matrix.
    bandwidth : float, "auto" or "median", default "auto"
        Bandwidth of the Gaussian kernel, in units of the features; "auto" is `variance_bandwidth` and "median"
        `median_bandwidth`, of both samples together.
    method : {"auto", "dense", "cholesky", "landmarks", "krylov", "fourier", "cosine"}, default "auto"
        The route; ``settings["reason"]`` of the result says why "auto" took which.

        - "dense" factors the whole kernel matrix: exact, for some ten thousand rows at most.
        - "cholesky" factors it from as few of its columns as explain all rows to ``rtol``: for any number of rows
          where these are few (low dimension, or a wide kernel).
        - "landmarks" takes the columns from a random part of the rows and passes over all rows once: memory does not
          grow with the rows, and the error bound covers what is left out.
        - "krylov" finds the first modes of the whole kernel matrix, each with a bound; "fourier" nearly finds them
          by random frequencies (Gaussian kernel only), for any number of rows in any dimension. Neither gives a score
          of all rows: it is that of ``score_rows`` rows of each sample, by an exact route.
        - "cosine" is exact for the cosine kernel, with a row and a column for each feature.
    eigensolver : {"scipy", "torch"}, default "scipy"
        Library of the eigenproblems of "dense" and "cholesky". Torch's is about twice as fast on Intel's processors.
    sample_weight, reference_weight : array of shape (n_rows,), optional
        Non-negative weights of the rows of each sample. A sample keeps its own when rows are relabelled. Where one
        sample alone has weights, and they depend on its rows, p-values are larger than they should be.
    reverse : bool, optional
        Whether to measure the reference against the sample too. Default: at eta = 1, where it comes for nothing.
    n_modes : int, default 10
        How many modes to describe, gained and lost.
    rotation : {"varimax", "none"}, default "varimax"
        Whether the significant modes that are described are rotated, so that each row belongs to few of them.
        Eigenfunctions mix patterns of nearly equal frequency.
    rtol : float, default 1e-12
        Share of the kernel matrix's trace that the pivoted route may leave out, and the bound on an eigenvalue at
        which Krylov stops, but not below 1e-10.
    max_rank : int, optional
        Most columns that the pivoted route may take (default: 4096, fewer where the dense route can step in), and
        most landmarks (default: 1024).
    n_frequencies : int, default 1000
        Random frequencies of the "fourier" route.
    score_rows : int, default 1000
        Rows of each sample that the score is of by the routes "krylov" and "fourier".
    n_permutations : int, default 20
        Random relabellings of the rows, which tell what the score and the eigenvalues are where nothing is new; 0 for
        none.
    null_rows : int, default 500
        Rows of each sample to relabel where all would take too long; a low rank takes all of them.
    paired : bool, default False
        Whether row i of both samples belong together, such as a text and what became of it. Relabelled rows are then
        swapped within their pairs, and drawn as pairs.
    confidence_level : float, optional
        Of intervals by subsampling, for the expected score of samples of these sizes, their ``total`` and their
        largest eigenvalue. Default: none are made.
    n_resamples : int, default 200
        Subsamples for the intervals.
    memory_limit : int, optional
        Bytes that the computation may take. Default: half of what is free.
    align : {"labels", "position"}, default "labels"
        Whether the columns of two tables match by name or by position.
    rng : int or Generator, optional
        Draws the rows and halves of the bandwidth's rule, and the landmarks, frequencies and rows of the score.
        Default: a fixed seed, so that equal data score the same.
    executor : concurrent.futures.Executor, optional
        Threads in which blocks are mapped. Default: one for each CPU.
    progress : bool, default True
        Whether to show progress bars for work of more than two seconds.

    Returns
    -------
    NoveltyResult

    Raises
    ------
    ValueError
        If an argument is out of range, values are not finite, a sample has fewer than two rows, or columns differ.
    TypeError
        If the data are not numbers, or come from two array libraries.
    MemoryError
        If the route asked for needs more than ``memory_limit``.

    See Also
    --------
    variance_bandwidth : The default bandwidth.
    group_modes : Modes of one kind of rows together.
    novelty_against_size : How the score grows with the rows.

    Notes
    -----
    Zhang, Li and Farnia, "An Interpretable Evaluation of Entropy-based Novelty of Generative Models", ICML 2024
    (arXiv:2402.17287). Its algorithm 1 is corrected here: eigenvectors of the reduced matrix are mapped back to rows.

    Finite samples of one distribution differ, so they score more than 0, the more so in high dimension and at a
    narrow bandwidth. So the score is set against relabelled rows: ``result.excess``, ``result.p_value``, and the
    modes above the largest eigenvalue of any relabelling, ``result.n_significant``. That tests whether the two
    samples are of one distribution; it does not show that a mode is more than ``eta`` times as frequent, which
    `confirm_modes` does.

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
    method = check_choice(method, "method", METHODS)
    check_method(method, kernel)
    if check_choice(eigensolver, "eigensolver", ("scipy", "torch")) == "torch":
        check_torch()
    n_modes = check_integer(n_modes, "n_modes", low=0)
    rotate = check_choice(rotation, "rotation", ("varimax", "none")) == "varimax"
    rtol = check_number(rtol, "rtol", low=0.0, high=1.0)
    max_rank = None if max_rank is None else check_integer(max_rank, "max_rank", low=1)
    n_frequencies = check_integer(n_frequencies, "n_frequencies", low=1)
    score_rows = check_integer(score_rows, "score_rows", low=2)
    n_permutations = check_integer(n_permutations, "n_permutations", low=0)
    null_rows = check_integer(null_rows, "null_rows", low=2)
    n_resamples = check_integer(n_resamples, "n_resamples", low=2)
    if confidence_level is not None:
        confidence_level = check_number(
            confidence_level, "confidence_level", low=0.0, high=1.0, open_low=True, open_high=True
        )
    limit = check_memory_limit(memory_limit)
    generator = check_rng(0 if rng is None else rng)
    draw_seed = int(generator.spawn(1)[0].integers(2**31))  # the same for results that are to be compared
    test, base = check_samples(features, reference, kernel, align)
    test_weights = shares(sample_weight, "sample_weight", test)
    reference_weights = shares(reference_weight, "reference_weight", base)
    if paired:
        check_pairs(test_weights, reference_weights)
    width, choice = choose_bandwidth(
        bandwidth,
        kernel,
        test,
        base,
        rng=generator,
        sample_weight=sample_weight,
        reference_weight=reference_weight,
    )
    problem = Problem(
        gram=make_gram(test, base, kernel, width),
        test_weights=test_weights,
        reference_weights=reference_weights,
        eta=eta,
        rtol=rtol,
        max_rank=max_rank,
        memory_limit=limit,
        eigensolver=eigensolver,
        n_frequencies=n_frequencies,
        score_rows=score_rows,
        paired=paired,
        n_lost=n_modes if reverse or (reverse is None and eta == 1.0) else 0,
        seed=int(generator.integers(2**63)),
        executor=executor,
        progress=progress,
    )
    solution = solve(problem, method, n_modes=n_modes, reverse=bool(reverse))
    nulls = None
    if n_permutations:
        nulls = calibrate(
            problem,
            solution,
            n_permutations=n_permutations,
            null_rows=null_rows,
            reverse=bool(reverse),
        )
    draws = None
    if confidence_level is not None:
        draws = resample(problem, solution, n_resamples=n_resamples, seed=draw_seed)
    name = kernel if isinstance(kernel, str) else CallableKernel(kernel).name
    settings = settings_of(
        eta=eta,
        kernel=name,
        bandwidth=bandwidth,
        bandwidth_choice=None if choice is None else choice.to_dict(),
        method=method,
        eigensolver=eigensolver,
        reason=solution.reason,
        weighted=(sample_weight is not None, reference_weight is not None),
        reverse=reverse,
        n_modes=n_modes,
        rotation=rotation,
        rtol=rtol,
        max_rank=max_rank,
        n_frequencies=n_frequencies,
        score_rows=score_rows,
        n_permutations=n_permutations,
        null_rows=null_rows,
        paired=paired,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        memory_limit=memory_limit,
        align=align,
        rng=0 if rng is None else rng,
    )
    return _result(problem, solution, nulls, draws, rotate, name, width, reverse, settings)


def _result(
    problem: Problem,
    solution: Solution,
    nulls: Nulls | None,
    draws: Resampled | None,
    rotate: bool,
    kernel: str,
    bandwidth: float | None,
    reverse: bool | None,
    settings: dict[str, Any],
) -> NoveltyResult:
    gram = problem.gram
    part, scored = (problem, solution) if solution.scored is None else solution.scored
    value, error, positive = scored.score(int(np.count_nonzero(part.test_weights)))
    other: tuple[float | None, float | None, FloatArray | None] = (None, None, None)
    if scored.reverse_eigenvalues is not None and reverse is not False:
        other = scored.score(int(np.count_nonzero(part.reference_weights)), reverse=True)
    gained, lost = (None, None) if nulls is None else (nulls.gained, nulls.lost)
    total = min(1.0, float(positive.sum()))
    eigenvalues = solution.eigenvalues[solution.eigenvalues > solution.cutoff]
    intervals = None if draws is None else draws.intervals(settings["confidence_level"])
    return NoveltyResult(
        value=value,
        error_bound=error,
        interval=None if intervals is None else intervals[0],
        status=status_of(solution, gram.n_rows),
        n_samples=gram.n_test,
        settings=settings,
        warnings=cautions(problem, solution, total, unpaired_null=nulls is not None and not problem.paired),
        reverse=other[0],
        reverse_error_bound=other[1],
        total=total,
        eigenvalues=eigenvalues,
        reverse_eigenvalues=other[2] if solution.scored is None else None,
        modes=gained_modes(problem, solution, gained, rotate),
        lost_modes=lost_modes(problem, solution, lost, rotate),
        eta=problem.eta,
        kernel=kernel,
        bandwidth=bandwidth,
        method=solution.method,
        rank=solution.rank,
        n_reference=gram.n_reference,
        mode_count=solution.mode_counts[0],
        reference_mode_count=solution.mode_counts[1],
        score_rows=(part.gram.n_test, part.gram.n_reference) if part.gram.n_rows < gram.n_rows else None,
        n_frequencies=problem.n_frequencies if solution.method == "fourier" else None,
        eigenvalue_error_bound=solution.bound,
        null=gained,
        reverse_null=None if reverse is False else lost,
        total_interval=None if intervals is None else intervals[1],
        top_interval=None if intervals is None else intervals[2],
        resampled=None if draws is None else draws.scores,
        source=PointSource(problem, solution),
    )
