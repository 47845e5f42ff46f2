"""Small results of every measure, with and without intervals, and results whose numbers a test chooses."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from shiftmetrics import Interval, Resampling, Result
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import Status
from shiftmetrics.agreement import posterior_agreement
from shiftmetrics.comparison import compare_results
from shiftmetrics.novelty import kernel_entropic_novelty
from shiftmetrics.stability import FixedLoss, stability_criterion, stability_curve

READ = Status("read", "The gauge was read.")


@dataclass(frozen=True, eq=False, kw_only=True)
class GaugePart(Record):
    """A part of a gauge."""

    name: str
    value: float
    interval: Interval | None = None
    status: Status = READ


@dataclass(frozen=True, eq=False, kw_only=True)
class Gauge(Result):
    """A result with any numbers."""

    measure: ClassVar[str] = "tests.gauge"
    title: ClassVar[str] = "Gauge"
    higher_is_better: ClassVar[bool] = True

    status: Status = READ
    kind: str = "exact"
    lower_bound: float | None = None
    share: float = 0.25
    reverse: float | None = None
    reverse_error_bound: float | None = None
    rank: int = 2
    rank_low: int = 1
    rank_high: int = 3
    word: str = "calm"
    is_new: bool = False
    parts: tuple[GaugePart, ...] = ()
    series: np.ndarray = dataclasses.field(default_factory=lambda: np.array([1.0, 2.0, np.nan]))

    @property
    def double(self) -> float:
        """A derived number."""
        return 2.0 * self.value


@pytest.fixture(scope="session")
def gauge() -> Callable:
    """Return a function that makes a result of the given numbers."""

    def gauge(value: float = 1.0, **fields: Any) -> Gauge:
        interval = fields.pop("interval", None)
        if interval is not None:
            interval = Interval(low=interval[0], high=interval[1])
        return Gauge(
            value=value, **{"error_bound": 0.0, "n_samples": 10, "interval": interval, **fields}
        )

    return gauge


@pytest.fixture(scope="session")
def gauge_part() -> type:
    """Return the class of parts of a gauge."""
    return GaugePart


@pytest.fixture(scope="session")
def results() -> dict[str, Result]:
    """Return real results."""
    rng = np.random.default_rng(0)
    clean = 3.0 * rng.normal(size=(150, 4))
    options = {"resampling": Resampling(confidence_level=0.9, n_resamples=200, rng=0)}
    calm = posterior_agreement(clean + 0.5 * rng.normal(size=clean.shape), clean, **options)
    upset = posterior_agreement(clean + 3.0 * rng.normal(size=clean.shape), clean, **options)
    losses = FixedLoss(rng.random(100))
    points = np.concatenate([rng.normal(size=(40, 2)), rng.normal(9.0, 0.3, size=(20, 2))])
    return {
        "agreement": calm,
        "stability": stability_criterion(losses, 0.7),
        "curve": stability_curve(losses, [0.6, 0.7, 0.8]),
        "novelty": kernel_entropic_novelty(points, rng.normal(size=(50, 2)), bandwidth=1.0),
        "compare": compare_results({"calm": calm, "upset": upset}),
    }
