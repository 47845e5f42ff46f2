"""Kernel entropic novelty: what is new in a sample, in which rows, and the score of it in nats."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import is_labelled, is_table
from shiftmetrics._core.blocks import threads_of
from shiftmetrics._core.options import (
    Computing,
    Resampling,
    check_memory_limit,
    computing_of,
    progress_bar,
)
from shiftmetrics._core.result import settings_of
from shiftmetrics._core.validation import check_number, check_rng
from shiftmetrics.novelty.bandwidth import bandwidth_of
from shiftmetrics.novelty.detection import detect
from shiftmetrics.novelty.inputs import (
    check_eta,
    check_groups,
    check_kernel,
    check_pairs,
    check_samples,
    column_units,
    fractions,
    units_warning,
)
from shiftmetrics.novelty.options import NoveltyResampling, novelty_resampling_of
from shiftmetrics.novelty.result import NoveltyResult, NoveltySource
from shiftmetrics.novelty.result_parts import NoveltyScore
from shiftmetrics.novelty.score.gram import Gram
from shiftmetrics.novelty.score.kernels import DEFAULT_KERNEL, KernelChoice, kernel_of
from shiftmetrics.novelty.score.routes import Method, check_method, solve
from shiftmetrics.novelty.score.solution import NoveltyProblem, cautions, status_of_solution
from shiftmetrics.tables.encoder import TableEncoder
from shiftmetrics.tables.encoder.encoder import encoded_tables


def kernel_entropic_novelty(
    features: Any,
    reference: Any,
    *,
    eta: float = 1.0,
    kernel: KernelChoice = DEFAULT_KERNEL,
    bandwidth: float | Literal["auto"] = "auto",
    method: Method = "auto",
    sample_weight: Any = None,
    reference_weight: Any = None,
    resampling: NoveltyResampling | Resampling | float | None = None,
    computing: Computing | None = None,
) -> NoveltyResult:
    """Find what is new in a sample against a reference: how much, in which modes and samples, and its score in nats.

    Modes that the sample has and the reference lacks are searched for one after the other, and tested against
    permuted labels; so are modes that are missing. Beside them stands the kernel entropic novelty: the positive
    eigenvalues l of C_X - eta C_Y, the difference of the kernel covariances of both samples, have a sum S and the
    entropy ``sum(l * log(S / l))``.

    Parameters
    ----------
    features : array or DataFrame of shape (n_samples, n_columns), or out-of-core data
        The sample under test: any array of the Python array API, a memory map, a table; or data that are read in
        chunks: an iterable of batches that gives the same rows each time, an array of HDF5 or zarr, a pyarrow dataset
        (a folder of parquet files), an array or data frame of Dask. More than 16,384 such rows in all are never held
        in memory together; the routes "landmarks" and "cosine" serve them. Of Dask, the score takes one
        sum from each partition; to look for modes, a part of the rows leaves the workers.
    reference : array or DataFrame of shape (n_reference, n_columns), or out-of-core data
        The reference. Columns of two tables match by name. Two data frames of pandas with words, dates or missing
        cells are encoded by `shiftmetrics.tables.encoder.TableEncoder`, fitted on the reference; what it made of the
        columns stands in ``settings["encoding"]`` and in the summary.
    eta : float, default 1.0
        How many times as frequent as in the reference counts as new; at least 1. Above 1 modes are looked for on one
        half of the samples, and counted on the other.
    kernel : {"gaussian", "cosine"} or callable, default "gaussian"
        Similarity of two samples. A callable maps arrays of shape (a, d) and (b, d) to a symmetric similarity of
        shape (a, b), 1 between a sample and itself. A matrix computed beforehand is a callable too: let the samples
        be their positions in it.
    bandwidth : float or "auto", default "auto"
        Bandwidth of the Gaussian kernel, in units of the features; "auto" is `choose_bandwidth`
        of both samples together. Modes are looked for at half of it and twice it too. With
        "auto", where one column spreads over 10 times as far as the median column, each is divided by its standard
        deviation in both samples together; a warning says so, and ``settings["column_units"]`` holds them. The score
        is then that of the divided columns.
    method : {"auto", "dense", "landmarks", "cosine"}, default "auto"
        The route to the score; ``settings["reason"]`` of the result says why "auto" took which. Where all rows would
        take more than seconds, "auto" scores 1,000 rows of each sample. What is new is counted in all rows, and
        looked for in as many of them as 256 MiB, or a quarter of ``memory_limit``, hold with their coordinates, some
        40,000 of each sample; where that is not all, ``settings["searched"]`` says how many were taken.

        - "dense" factors the whole kernel matrix: exact, for some ten thousand rows at most.
        - "landmarks" takes as few of its columns as explain the rows to the tolerance, at most 1,024 by default, and
          passes over all rows once: memory does not grow with the rows, and the error bound covers what is left out.
        - "cosine" is exact for the cosine kernel, with a row and a column for each feature.
    sample_weight, reference_weight : array of shape (n_rows,), optional
        Non-negative weights of the rows of each sample. Rows keep them when labels are permuted.
    resampling : NoveltyResampling, Resampling or float, optional
        The permutations (by default 199), the confidence level (what a number alone is), pairs and groups of samples
        that belong together, and the seed.
    computing : Computing, optional
        Executor, memory_limit, progress, and rtol: the fraction of the kernel matrix's trace that "landmarks"
        may leave out (default 1e-12).

    Returns
    -------
    NoveltyResult
        `fraction`, `p_value`, `modes` and `missing`, `row_scores`, and the score as its ``value``.

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
    shiftmetrics.comparison.compare_novelty : Several samples against one reference.

    Notes
    -----
    Zhang, Li and Farnia, "An Interpretable Evaluation of Entropy-based Novelty of Generative Models", ICML 2024
    (arXiv:2402.17287). Its algorithm 1 is corrected here: eigenvectors of the reduced matrix are mapped back to rows.

    The score is above 0 for samples of one distribution, and it is not monotone in the fraction that is new: one new
    mode alone has no entropy. So the search takes the same operator relative to the pooled covariance, C_X - C_Y
    whitened, whose largest eigenvalue says how much more of some direction the sample has. It is set against
    permuted labels at three widths together; where it stands out, the members of its direction are removed from both
    samples, and the search goes on with what remains. A sample is a member of a mode where such samples are twice as
    frequent on its side as on the other, by a calibrated membership. Of fractions a of the sample and b of the
    reference that are members, (a - b) / (1 - b) is new.

    Examples
    --------
    Four far clusters, two of which the reference lacks:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> centers = np.array([[0.0, 0.0], [0.0, 9.0], [9.0, 0.0], [9.0, 9.0]])
    >>> sample = np.repeat(centers, 25, axis=0) + rng.normal(scale=0.1, size=(100, 2))
    >>> reference = np.repeat(centers[:2], 50, axis=0) + rng.normal(scale=0.1, size=(100, 2))
    >>> result = kernel_entropic_novelty(sample, reference, bandwidth=1.0)
    >>> round(result.fraction, 1), result.p_value, len(result.new), result.missing
    (0.5, 0.005, 2, ())
    >>> sorted(int(len(mode.members())) for mode in result.new)
    [25, 25]
    >>> round(result.value, 3)
    0.397
    """
    # 1. Everything is checked once.
    eta = check_eta(eta)
    kernel = check_kernel(kernel)
    route = check_method(method, kernel)
    options = novelty_resampling_of(resampling)
    computing = computing_of(computing, rtol=1e-12, memory_limit=None)
    rtol = check_number(computing.rtol, "rtol", low=0.0, high=1.0)
    generator = check_rng(0 if options.rng is None else options.rng)
    names = _names(features), _names(reference)
    encoded = encoded_tables(features, reference)
    encoder = None
    order: tuple[str, ...] = ()
    if encoded is not None:
        encoder = encoded[2]
        names = _ids(features, encoder, names[0]), _ids(reference, encoder, names[1])
        features, reference = encoded[:2]
        order = encoded[3]
    samples = check_samples(features, reference, kernel, computing)
    columns = tuple(f"column {number}" for number in range(int(samples[0].shape[1])))
    if encoder is not None:
        columns = encoder.names
    elif is_table(features):
        columns = tuple(map(str, features.columns))
    weights = (
        fractions(sample_weight, "sample_weight", samples[0]),
        fractions(reference_weight, "reference_weight", samples[1]),
    )
    if options.paired:
        check_pairs(*weights)
    sizes = len(weights[0]), len(weights[1])
    together = check_groups(options.groups, sizes, paired=options.paired)
    # 2. The kernel, its bandwidth, and the units of the columns that it is in.
    given = (
        None if sample_weight is None else weights[0],
        None if reference_weight is None else weights[1],
    )
    # An encoder has given all columns one unit.
    differing = None
    if kernel_of(kernel).knows_columns and encoder is None:
        differing = column_units(samples, weights)
    # A bandwidth that is given is in the units of the features, which then stay as they are.
    units = differing if isinstance(bandwidth, str) else None
    width, choice = bandwidth_of(bandwidth, kernel, samples, given, generator, units)
    problem = NoveltyProblem(
        gram=Gram(*samples, kernel_of(kernel, width), units, encoder),
        test_weights=weights[0],
        reference_weights=weights[1],
        eta=eta,
        rtol=rtol,
        memory_limit=check_memory_limit(computing.memory_limit),
        paired=options.paired,
        seed=int(generator.integers(2**63)),
        executor=computing.executor,
    )
    # 3. The score first, so that its factor gives its memory back before the search.
    bar_of = progress_bar(computing.progress, "novelty: the score, then rounds of the search")
    with threads_of(computing.executor), bar_of as bar:
        solution = solve(problem, route)
        found = detect(
            problem, options, together=together, columns=columns, rng=generator, report=bar.update
        )
    # 4. The result, in parts.
    value, error_bound, positive = solution.score()
    reverse = solution.score(reverse=True) if eta == 1.0 else (None, None, None)
    part = solution.problem
    score = NoveltyScore(
        total=min(1.0, float(positive.sum())),
        eigenvalues=positive,
        reverse=reverse[0],
        reverse_error_bound=reverse[1],
        reverse_eigenvalues=reverse[2],
        eta=eta,
        kernel=problem.gram.kernel.name,
        bandwidth=width,
        method=solution.method,
        rank=solution.rank,
        mode_count=solution.mode_counts[0],
        reference_mode_count=solution.mode_counts[1],
        sizes=(part.gram.n_test, part.gram.n_reference),
    )
    result = NoveltyResult(
        value=value,
        error_bound=error_bound,
        status=status_of_solution(solution, problem.gram.n_rows),
        n_samples=problem.gram.n_test,
        settings=settings_of(
            eta=eta,
            kernel=score.kernel,
            bandwidth=bandwidth,
            bandwidth_choice=None if choice is None else choice.to_dict(),
            column_units=None if units is None else units.tolist(),
            encoding=None if encoder is None else encoder.notes(),
            method=route,
            reason=solution.reason,
            weighted=(sample_weight is not None, reference_weight is not None),
            searched=found.searched,
            resampling=options.settings(),
            computing=computing.settings(),
        ),
        warnings=(
            *found.test.dependence,
            *cautions(problem, solution, score.total),
            *units_warning(differing, divided=units is not None),
        ),
        fraction=found.fraction,
        fraction_interval=found.fraction_interval,
        missing_fraction=found.missing_fraction,
        new=found.new,
        missing=found.missing,
        changes=replace(found.changes, order_of_dates=order),
        score=score,
        test=found.test,
        source=NoveltySource(part, solution.method, found.scorer, found.estimate),
    )
    return result.named(*names)


def _ids(table: Any, encoder: TableEncoder, names: Any) -> Any:
    """Return the names of the rows by the column of ids, where the encoder found one."""
    return names if encoder.id_column is None else table[encoder.id_column].astype(str).tolist()


def _names(sample: Any) -> Any:
    """Return the labels of the rows of a table, None where they are positions."""
    if not (is_table(sample) and is_labelled(sample)):
        return None
    positions = np.arange(len(sample))
    if np.array_equal(sample.index.to_numpy(), positions):
        return None
    return sample.index
