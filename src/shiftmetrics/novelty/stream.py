"""Novelty of rows that come in blocks, from one stream or many shards: only sums and a few rows are kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.memory import check_memory, check_memory_limit
from shiftmetrics._core.result import settings_of
from shiftmetrics._core.validation import check_choice, check_integer, check_rng, describe
from shiftmetrics.novelty.calibration import N_PERMUTATIONS, NULL_ROWS, calibrate
from shiftmetrics.novelty.cautions import cautions
from shiftmetrics.novelty.cosine import CosineMap
from shiftmetrics.novelty.feature_map import FeatureMap, MapFunctions, sums_bytes
from shiftmetrics.novelty.fourier import FourierMap
from shiftmetrics.novelty.gram import FeatureGram
from shiftmetrics.novelty.inputs import check_eta
from shiftmetrics.novelty.kernels import EPSILON
from shiftmetrics.novelty.landmarks import LandmarkMap
from shiftmetrics.novelty.mapped_solution import mapped_solution, mapped_spectrum
from shiftmetrics.novelty.modes import Mode
from shiftmetrics.novelty.problem import Problem, Solution
from shiftmetrics.novelty.result import NoveltyResult, PointSource, status_of
from shiftmetrics.novelty.routes import solve
from shiftmetrics.novelty.solved import gained_modes, lost_modes
from shiftmetrics.novelty.stream_side import StreamSide, block_sums, quadratic, raw_weights
from shiftmetrics.novelty.subsample import KeptRows

KEPT_ROWS = 1000


class NoveltyStream:
    """Kernel entropic novelty of two samples that arrive in blocks.

    Memory does not grow with the rows: kept are the sums of each sample under a feature map and a uniform random
    sample of its rows. Streams with one map add up, so shards can be worked off apart.

    Parameters
    ----------
    feature_map : LandmarkMap, FourierMap or CosineMap
        What places a row: landmarks carry a certificate, the cosine map is exact, and random frequencies serve data
        of any dimension but give modes only, so the score is that of the rows that are kept.
    kept_rows : int, default 1000
        Rows of each sample that are kept: exemplars of modes, and the rows of the score with a `FourierMap`.
    rng : int or Generator, optional
        Draws the rows that are kept. Streams that are to be merged need different seeds; the default is fresh.
    memory_limit : int, optional
        Bytes that the sums and their eigenproblem may take. Default: half of what is free.

    Raises
    ------
    MemoryError
        If a map of this size needs more than ``memory_limit``.

    Attributes
    ----------
    test_rows, reference_rows : ndarray of shape (k, n_columns)
        The rows that were kept; exemplars and members of modes are positions among them.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> first = rng.normal(size=(500, 2)) * 0.1 + [[3.0, 0.0]] * 500
    >>> second = rng.normal(size=(500, 2)) * 0.1
    >>> stream = NoveltyStream(LandmarkMap.choose(first, second, bandwidth=1.0), rng=0)
    >>> for _ in range(10):
    ...     stream = stream.partial_fit(rng.normal(size=(500, 2)) * 0.1 + [[3.0, 0.0]] * 500)
    ...     stream = stream.partial_fit(reference=rng.normal(size=(500, 2)) * 0.1)
    >>> result = stream.result()
    >>> result.n_samples, round(result.total, 2), result.status.ok
    (5000, 1.0, True)
    """

    def __init__(
        self,
        feature_map: FeatureMap,
        *,
        kept_rows: int = KEPT_ROWS,
        rng: Any = None,
        memory_limit: int | None = None,
    ) -> None:
        if not isinstance(feature_map, LandmarkMap | FourierMap | CosineMap):
            raise TypeError(
                describe(
                    "feature_map", "a LandmarkMap, a FourierMap or a CosineMap", type(feature_map).__name__
                )
            )
        self.feature_map = feature_map
        self.kept_rows = check_integer(kept_rows, "kept_rows", low=2)
        self.memory_limit = check_memory_limit(memory_limit)
        generator = check_rng(rng)
        check_memory(
            sums_bytes(feature_map.size, 0),
            self.memory_limit,
            f"feature_map of {feature_map.size} coordinates",
            "Take fewer landmarks, frequencies or columns, or raise memory_limit.",
        )
        self._test = StreamSide(feature_map, KeptRows(self.kept_rows, generator))
        self._reference = StreamSide(feature_map, KeptRows(self.kept_rows, generator))

    @property
    def n_samples(self) -> int:
        """Return the test rows so far."""
        return self._test.count

    @property
    def n_reference(self) -> int:
        """Return the reference rows so far."""
        return self._reference.count

    @property
    def test_rows(self) -> FloatArray:
        """Return the test rows that were kept."""
        return self._test.rows()

    @property
    def reference_rows(self) -> FloatArray:
        """Return the reference rows that were kept."""
        return self._reference.rows()

    def partial_fit(
        self,
        features: Any = None,
        reference: Any = None,
        *,
        sample_weight: Any = None,
        reference_weight: Any = None,
    ) -> Self:
        """Add a block of test rows, a block of reference rows, or both.

        Parameters
        ----------
        features, reference : array of shape (n_rows, n_columns), optional
            Rows, in any array library.
        sample_weight, reference_weight : array of shape (n_rows,), optional
            Non-negative weights, on one scale for all blocks. Default: 1.

        Returns
        -------
        NoveltyStream
            Itself.

        Raises
        ------
        ValueError, TypeError
            If the rows are not finite numbers or do not match the map; nothing is added then.
        """
        blocks = []
        for side, rows, weights, name, weight_name in (
            (self._test, features, sample_weight, "features", "sample_weight"),
            (self._reference, reference, reference_weight, "reference", "reference_weight"),
        ):
            if rows is None:
                if weights is not None:
                    raise ValueError(describe(weight_name, f"given with {name}", "weights alone"))
                continue
            points = self.feature_map.check_points(rows, name)
            blocks.append((side, points, raw_weights(weights, weight_name, int(points.shape[0]))))
        if not blocks:
            raise ValueError("features or reference must be given, got neither.")
        sums = [block_sums(self.feature_map, points, weights) for _, points, weights in blocks]
        for (side, points, weights), added in zip(blocks, sums, strict=True):
            side.add(points, weights, added)
        return self

    def merge(self, other: NoveltyStream) -> NoveltyStream:
        """Return a stream of the rows of both, which stay as they are.

        Raises
        ------
        ValueError
            If the streams have different maps.
        """
        if not isinstance(other, NoveltyStream):
            raise TypeError(describe("other", "a NoveltyStream", type(other).__name__))
        if not self.feature_map.same_as(other.feature_map):
            raise ValueError(
                "other must be a stream with the same feature_map, got another one. Choose landmarks, or draw "
                "frequencies, once and give them to every stream."
            )
        both = NoveltyStream(
            self.feature_map, kept_rows=self.kept_rows, rng=0, memory_limit=self.memory_limit
        )
        both._test = self._test.merged(other._test)
        both._reference = self._reference.merged(other._reference)
        return both

    def __add__(self, other: NoveltyStream) -> NoveltyStream:
        return self.merge(other)

    def result(
        self,
        *,
        eta: float = 1.0,
        reverse: bool | None = None,
        n_modes: int = 10,
        rotation: Literal["varimax", "none"] = "varimax",
        n_permutations: int = N_PERMUTATIONS,
        null_rows: int = NULL_ROWS,
        progress: bool = True,
    ) -> NoveltyResult:
        """Return the novelty of the rows so far.

        Parameters
        ----------
        eta, reverse, n_modes, rotation, n_permutations, null_rows, progress
            As for `kernel_entropic_novelty`. Any eta can be asked for, again and again. Relabelled are rows that were
            kept.

        Returns
        -------
        NoveltyResult
            Frequencies of modes are those of all rows; members and exemplars are counted among the kept rows.

        Raises
        ------
        ValueError
            If there are fewer than two rows of either sample so far.
        """
        eta = check_eta(eta)
        n_modes = check_integer(n_modes, "n_modes", low=0)
        rotate = check_choice(rotation, "rotation", ("varimax", "none")) == "varimax"
        n_permutations = check_integer(n_permutations, "n_permutations", low=0)
        null_rows = check_integer(null_rows, "null_rows", low=2)
        for side, name in ((self._test, "features"), (self._reference, "reference")):
            if side.kept.rows is None or side.count < 2 or len(side.kept.keys) < 2:
                raise ValueError(
                    describe(
                        name, "at least 2 rows of positive weight", str(side.count), "Call partial_fit first."
                    )
                )
        kept = self._kept_problem(eta, progress)
        n_lost = n_modes if reverse or (reverse is None and eta == 1.0) else 0
        solution = self._solution(kept, bool(reverse), n_modes, n_lost)
        gained = lost = None
        if n_permutations:
            nulls = calibrate(
                kept, solution, n_permutations=n_permutations, null_rows=null_rows, reverse=bool(reverse)
            )
            gained, lost = nulls.gained, nulls.lost
        counts = all_counts = (self._test.count, self._reference.count)
        part = solution
        if solution.scored is not None:
            part = solution.scored[1]
            counts = (len(self._test.kept.keys), len(self._reference.kept.keys))
        value, error, positive = part.score(counts[0])
        total = min(1.0, float(positive.sum()))
        other = (
            (None, None, None)
            if part.reverse_eigenvalues is None or reverse is False
            else part.score(counts[1], reverse=True)
        )
        kernel = self.feature_map.kernel
        return NoveltyResult(
            value=value,
            error_bound=error,
            status=status_of(solution, sum(all_counts)),
            n_samples=self._test.count,
            settings=settings_of(
                eta=eta,
                feature_map=type(self.feature_map).__name__,
                kept_rows=self.kept_rows,
                reverse=reverse,
                n_modes=n_modes,
                rotation=rotation,
                n_permutations=n_permutations,
                null_rows=null_rows,
                reason=solution.reason,
            ),
            warnings=cautions(kept, solution, total, counts=all_counts, unpaired_null=False),
            reverse=other[0],
            reverse_error_bound=other[1],
            total=total,
            eigenvalues=solution.eigenvalues[solution.eigenvalues > solution.cutoff],
            reverse_eigenvalues=None if solution.scored is not None else other[2],
            modes=self._with_frequencies(gained_modes(kept, solution, gained, rotate)),
            lost_modes=self._with_frequencies(lost_modes(kept, solution, lost, rotate)),
            eta=eta,
            kernel=kernel.name,
            bandwidth=getattr(kernel, "bandwidth", None),
            method=solution.method,
            rank=solution.rank,
            n_reference=self._reference.count,
            mode_count=solution.mode_counts[0],
            reference_mode_count=solution.mode_counts[1],
            score_rows=counts if counts != all_counts else None,
            n_frequencies=self.feature_map.n_frequencies
            if isinstance(self.feature_map, FourierMap)
            else None,
            null=gained,
            reverse_null=None if reverse is False else lost,
            source=PointSource(kept, solution),
        )

    def _kept_problem(self, eta: float, progress: bool) -> Problem:
        """Return the rows that were kept as two samples."""
        return Problem(
            gram=FeatureGram(self.test_rows, self.reference_rows, self.feature_map.kernel),
            test_weights=self._test.kept_shares(),
            reference_weights=self._reference.kept_shares(),
            eta=eta,
            rtol=1e-12,
            max_rank=None,
            memory_limit=self.memory_limit,
            n_frequencies=self.feature_map.size // 2,
            progress=progress,
        )

    def _solution(self, kept: Problem, reverse: bool, n_modes: int, n_lost: int) -> Solution:
        feature_map, test, reference = self.feature_map, self._test.total(), self._reference.total()
        landmarks = feature_map if isinstance(feature_map, LandmarkMap) else None
        spectrum = mapped_spectrum(
            test,
            reference,
            kept.eta,
            reverse,
            diagonal=np.ones(feature_map.size) if landmarks is None else landmarks.diagonal,
            entry_error=8.0 * EPSILON if landmarks is None else landmarks.gram.entry_error,
            n_lost=n_lost,
        )
        functions, rows = MapFunctions(feature_map), np.concatenate([self.test_rows, self.reference_rows])
        fourier = isinstance(feature_map, FourierMap)
        return mapped_solution(
            kept,
            (test, reference),
            spectrum,
            indefinite=bool(landmarks and landmarks.indefinite),
            method="fourier" if fourier else "landmarks" if landmarks else "cosine",
            reason="the map of the stream",
            values=functions.evaluate(rows, spectrum.vectors[:, :n_modes]),
            coefficients=spectrum.vectors,
            functions=functions,
            complete=True,
            lost_values=functions.evaluate(rows, spectrum.lost_vectors) if n_lost else None,
            lost_coefficients=spectrum.lost_vectors if n_lost else None,
            scored=(kept, solve(kept, "auto", n_modes=0, reverse=reverse)) if fourier else None,
        )

    def _with_frequencies(self, modes: tuple[Mode, ...]) -> tuple[Mode, ...]:
        """Give modes the frequencies of all rows instead of those of the rows that were kept."""
        if not modes:
            return modes
        vectors = np.column_stack([mode.coefficients for mode in modes if mode.coefficients is not None])
        frequencies = [quadratic(side.total().covariance, vectors) for side in (self._test, self._reference)]
        return tuple(
            replace(mode, frequency=float(test), reference_frequency=float(reference))
            for mode, test, reference in zip(modes, *frequencies, strict=True)
        )
