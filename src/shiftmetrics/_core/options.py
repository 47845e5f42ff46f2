"""Options that many functions share: how to compute, within how much memory, and how to resample."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from shiftmetrics._core.drawing import printable
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.validation import check_integer, check_number, seed_of

if TYPE_CHECKING:
    from concurrent.futures import Executor

MOST_RESAMPLES = 10_000_000
"""More would only exhaust the memory."""

TOLERANCES = ("atol", "rtol", "max_iter", "memory_limit")


@dataclass(frozen=True, kw_only=True)
class Computing:
    """How to compute: threads, memory, precision and progress.

    Every option left at None takes the default of the function that it is passed to; a function that has no use for
    an option refuses it.

    Parameters
    ----------
    executor : concurrent.futures.Executor, optional
        Threads that work on blocks of rows. Default: one for each CPU.
    memory_limit : int, optional
        Bytes that a computation may take. Default: half of what is available.
    atol, rtol : float, optional
        Absolute and relative tolerance of the certified result.
    max_iter : int, optional
        Most iterations.
    progress : bool, default True
        Whether work of more than two seconds shows a progress bar, where output is a terminal.

    Raises
    ------
    TypeError
        If an option is of the wrong type.
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> from shiftmetrics import Computing
    >>> Computing(rtol=1e-9).rtol
    1e-09
    """

    executor: Executor | None = None
    memory_limit: int | None = None
    atol: float | None = None
    rtol: float | None = None
    max_iter: int | None = None
    progress: bool = True

    def __post_init__(self) -> None:
        if self.executor is not None and not hasattr(self.executor, "submit"):
            expected = "a concurrent.futures.Executor or None"
            remedy = ""
            if isinstance(self.executor, int):
                remedy = f"Pass concurrent.futures.ThreadPoolExecutor({self.executor})."
            raise ArgumentTypeError("executor", expected, value=self.executor, remedy=remedy)
        checked: dict[str, Any] = {}
        for name in ("atol", "rtol"):
            value = getattr(self, name)
            if value is not None:
                checked[name] = check_number(value, name, low=0.0, open_low=name == "atol")
        if self.max_iter is not None:
            checked["max_iter"] = check_integer(self.max_iter, "max_iter", low=1)
        if self.memory_limit is not None:
            checked["memory_limit"] = check_memory_limit(self.memory_limit)
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def settings(self) -> dict[str, Any]:
        """Return the options that change a result, for its ``settings``."""
        return {name: getattr(self, name) for name in TOLERANCES if getattr(self, name) is not None}


def check_computing(value: Computing | None) -> Computing:
    """Return the options of a call, the default ones for None; anything else is a TypeError."""
    if value is not None and not isinstance(value, Computing):
        raise ArgumentTypeError("computing", "a Computing or None", value=value)
    return value or Computing()


def computing_of(value: Computing | None, **defaults: Any) -> Computing:
    """Return the options of a call, with the defaults of its function.

    Parameters
    ----------
    value : Computing or None
        What the caller passed.
    **defaults
        The tolerances that the function uses, each with its default (None where the default depends on the data).

    Raises
    ------
    TypeError
        If ``value`` is something else.
    ValueError
        If the caller set a tolerance that the function does not use.
    """
    value = check_computing(value)
    unused = [
        name for name in TOLERANCES if name not in defaults and getattr(value, name) is not None
    ]
    if unused:
        raise ArgumentValueError(
            "computing", f"without {unused[0]}, which has no effect here", value=value
        )
    changes = {name: default for name, default in defaults.items() if getattr(value, name) is None}
    return dataclasses.replace(value, **changes)


@dataclass(frozen=True, kw_only=True)
class Resampling:
    """How a sampling interval is made.

    A number stands for the level alone: ``resampling=0.95``.

    Parameters
    ----------
    confidence_level : float, default 0.95
        Confidence level, between 0 and 1.
    n_resamples : int, default 1000
        Number of resamples, where a measure resamples.
    groups : array of shape (n_samples,), optional
        Labels of rows that belong together, such as the visits of one patient: they are resampled together.
    rng : int, Generator or None
        Seed of the resamples. The same seed gives another model the same resamples.

    Raises
    ------
    TypeError
        If an option is of the wrong type.
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> from shiftmetrics import Resampling
    >>> Resampling(confidence_level=0.9, rng=0).confidence_level
    0.9
    """

    confidence_level: float = 0.95
    n_resamples: int = 1000
    groups: Any = None
    rng: Any = None

    def __post_init__(self) -> None:
        confidence_level = check_number(
            self.confidence_level,
            "confidence_level",
            low=0.0,
            high=1.0,
            open_low=True,
            open_high=True,
        )
        object.__setattr__(self, "confidence_level", confidence_level)
        object.__setattr__(
            self,
            "n_resamples",
            check_integer(self.n_resamples, "n_resamples", low=2, high=MOST_RESAMPLES),
        )

    def settings(self) -> dict[str, Any]:
        """Return the options, for the ``settings`` of a result."""
        return {
            "confidence_level": self.confidence_level,
            "n_resamples": self.n_resamples,
            "groups": self.groups is not None,
            "rng": self.rng,
        }


def resampling_of(value: Resampling | float | None) -> Resampling | None:
    """Return the options of a call, with a fresh seed where none was given; None where no interval is asked for.

    Raises
    ------
    TypeError
        If ``value`` is neither a Resampling, a level nor None.
    """
    return None if value is None else always_resampling(value)


def always_resampling(value: Resampling | float | None) -> Resampling:
    """Return the options of a function that cannot do without resamples, with a seed; None is the default.

    Raises
    ------
    TypeError
        If ``value`` is neither a Resampling, a level nor None.
    """
    if not isinstance(value, Resampling):
        if value is None:
            value = 0.95
        level = check_number(value, "resampling", low=0.0, high=1.0, open_low=True, open_high=True)
        value = Resampling(confidence_level=level)
    return dataclasses.replace(value, rng=seed_of(value.rng))


_CGROUP = "/sys/fs/cgroup"


class ProgressBar:
    """A progress bar that shows after two seconds of work; until then tqdm is not even imported.

    Parameters
    ----------
    over : iterable or None
        What iteration over the bar gives.
    **options
        Of tqdm.
    """

    # seconds of work before it shows
    delay = 2.0

    def __init__(self, over: Iterable[Any] | None, **options: Any) -> None:
        self._over = over
        self._options = options
        self._start = time.monotonic()
        self._done = 0
        self._bar: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        assert self._over is not None
        with self:
            for item in self._over:
                yield item
                self.update()

    def update(self, n: int = 1) -> None:
        """Count steps that were done."""
        self._done += n
        if self._bar is not None:
            self._bar.update(n)
        elif time.monotonic() - self._start >= self.delay:
            from tqdm.auto import tqdm

            self._bar = tqdm(initial=self._done, leave=False, **self._options)

    def set_postfix(self, **values: Any) -> None:
        """Show values beside the bar."""
        if self._bar is not None:
            self._bar.set_postfix(**values)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()


def progress_bar(
    progress: bool,
    title: str,
    total: int | None = None,
    *,
    over: Iterable[Any] | None = None,
    unit: str = "",
) -> ProgressBar:
    """Return a progress bar that shows after two seconds of work, and gives the items of ``over``."""
    if total is None and isinstance(over, Sized):
        total = len(over)
    # tqdm shows no bar where ``disable`` is None and there is no terminal
    disable = None if progress else True
    return ProgressBar(over, desc=printable(title), total=total, unit=unit, disable=disable)


def available_memory() -> int:
    """Return the bytes that this process may still take, as far as the system tells (4 GiB where it does not)."""
    # A container may have less than its machine: the smaller figure counts.
    known = [size for size in (_meminfo(), _cgroup()) if size is not None]
    if known:
        return max(0, min(known))
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, OSError, ValueError):
        return 4 << 30


def check_memory_limit(value: Any) -> int:
    """Return a limit in bytes: ``value``, or half of what is available when it is None."""
    if value is None:
        return available_memory() // 2
    return int(check_number(value, "memory_limit", low=0.0, open_low=True, high=2.0**63))


def check_memory(needed: float, limit: int, what: str, remedy: str) -> None:
    """Raise a MemoryError in words when ``needed`` bytes exceed ``limit``.

    Parameters
    ----------
    needed : float
        Bytes at the peak.
    limit : int
        Bytes allowed.
    what : str
        The argument and what it asks for: the subject of the sentence.
    remedy : str
        What to do instead.

    Raises
    ------
    MemoryError
        With both figures and the remedy.
    """
    if needed > limit:
        raise MemoryError(
            f"{what} needs {format_bytes(needed)} of memory, got a limit of {format_bytes(limit)}. {remedy}"
        )


def format_bytes(size: float) -> str:
    """Format a number of bytes for people: ``1.5 GiB``."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.4g} TiB"


def _meminfo() -> int | None:
    try:
        for line in _lines("/proc/meminfo"):
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def _cgroup() -> int | None:
    try:
        # Control groups of version 2; where there are none, the memory of the machine counts alone.
        limit = _lines(f"{_CGROUP}/memory.max")[0]
        if limit == "max":
            return None
        used = int(_lines(f"{_CGROUP}/memory.current")[0])
        # Pages of files count as used but are given back when they are needed.
        for line in _lines(f"{_CGROUP}/memory.stat"):
            if line.startswith("inactive_file "):
                used -= int(line.split()[1])
        return int(limit) - used
    except (OSError, ValueError, IndexError):
        return None


def _lines(path: str) -> list[str]:
    from pathlib import Path

    return Path(path).read_text(encoding="utf-8").splitlines()
