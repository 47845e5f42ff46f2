"""What every loader returns: inputs, labels and, where there are any, domains and splits, row by row."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import IntArray, take_rows
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics.adapters.images import ImageFiles


@dataclass(frozen=True, eq=False, kw_only=True)
class Dataset:
    """Labelled rows, with the domain and the split of each where the source says so.

    Attributes
    ----------
    name : str
        What it is.
    X : array, DataFrame, list of str or ImageFiles
        One entry for each row.
    y : ndarray of shape (n_samples,)
        Integer labels; ``class_names[label]`` is the name.
    domain : ndarray of shape (n_samples,) or None
        Integer domains (hospital, background, region, ...); ``domain_names[domain]`` is the name.
    split : ndarray of shape (n_samples,) or None
        ``"train"``, ``"val"``, ``"test"``, ... as published.
    class_names, domain_names : tuple of str
        Names of labels and domains.
    source : str
        Where the rows came from.

    Examples
    --------
    >>> import numpy as np
    >>> data = Dataset(name="toy", X=np.arange(4.0)[:, None], y=np.array([0, 1, 0, 1]),
    ...                domain=np.array([0, 0, 1, 1]), class_names=("no", "yes"), domain_names=("a", "b"))
    >>> len(data), data.where(domain="b").X.ravel()
    (4, array([2., 3.]))
    """

    name: str
    X: Any
    y: IntArray
    domain: IntArray | None = None
    split: npt.NDArray[np.str_] | None = None
    class_names: tuple[str, ...] = ()
    domain_names: tuple[str, ...] = ()
    source: str = ""

    def __post_init__(self) -> None:
        n_samples = len(self.X)
        for part in ("y", "domain", "split"):
            values = getattr(self, part)
            if values is not None and len(values) != n_samples:
                raise ArgumentValueError(
                    part, f"of length {n_samples}, as X", f"length {len(values)}"
                )

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        parts = [f"{len(self)} rows", f"{len(self.class_names) or len(np.unique(self.y))} classes"]
        if self.domain is not None:
            parts.append(f"{len(np.unique(self.domain))} domains")
        if self.split is not None:
            parts.append("splits " + ", ".join(sorted(set(self.split.tolist()))))
        return f"Dataset({self.name}: {'; '.join(parts)})"

    def take(self, rows: Any) -> Dataset:
        """Return the given rows: positions, a slice or a boolean mask."""
        positions = np.arange(len(self))[rows]
        return dataclasses.replace(
            self,
            X=self.X[positions] if isinstance(self.X, ImageFiles) else take_rows(self.X, positions),
            y=self.y[positions],
            domain=None if self.domain is None else self.domain[positions],
            split=None if self.split is None else self.split[positions],
        )

    def where(
        self,
        *,
        split: str | None = None,
        label: int | str | None = None,
        domain: int | str | None = None,
    ) -> Dataset:
        """Return the rows of one split, label or domain, each given by number or by name.

        Raises
        ------
        ValueError
            If the data set has no splits or domains, or not the one that was asked for.
        """
        mask = np.ones(len(self), dtype=bool)
        for argument, wanted, values, names in (
            ("split", split, self.split, ()),
            ("label", label, self.y, self.class_names),
            ("domain", domain, self.domain, self.domain_names),
        ):
            if wanted is None:
                continue
            if values is None:
                raise ValueError(f"{argument} must be left out: {self.name} has none.")
            number = names.index(wanted) if isinstance(wanted, str) and wanted in names else wanted
            chosen = values == number
            if not np.any(chosen):
                known = names or tuple(str(value) for value in np.unique(values))
                raise ArgumentValueError(argument, f"one of {', '.join(known)}", value=wanted)
            mask &= chosen
        return self.take(mask)
