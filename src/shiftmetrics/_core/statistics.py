"""Additive statistics: what the map step returns for a block, a shard or a rank.

A statistic is a frozen record of float64 numbers with a law: the statistic of two samples together is the
sum of their statistics. `Statistic` adds field by field; a subclass whose law is another one (a log-sum-exp that
aligns its shift first) overrides ``__add__`` alone. All else, from threads to clusters, relies on ``+``.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from shiftmetrics._core.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Statistic:
    """Base of all additive statistics. Fields are floats or float64 arrays."""

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        sums: dict[str, Any] = {}
        for name in self.field_names():
            mine = getattr(self, name)
            theirs = getattr(other, name)
            # Broadcasting would hide that shards are of two different runs.
            if np.shape(mine) != np.shape(theirs):
                raise ValueError(
                    f"other must be a {type(self).__name__} with {name} of shape {np.shape(mine)}, "
                    f"got shape {np.shape(theirs)}."
                )
            sums[name] = mine + theirs
        return dataclasses.replace(self, **sums)

    @classmethod
    def field_names(cls) -> tuple[str, ...]:
        """Return the names of the fields, in the order in which `pack` lays them out."""
        return tuple(field.name for field in dataclasses.fields(cls))

    def pack(self) -> FloatArray:
        """Lay all fields out in one float64 vector: the message a worker sends."""
        parts = [
            np.asarray(getattr(self, name), dtype=np.float64).ravel() for name in self.field_names()
        ]
        return np.concatenate(parts) if parts else np.empty(0)

    def unpack(self, vector: FloatArray) -> Self:
        """Rebuild a statistic with the shapes of this one from a packed ``vector``.

        Raises
        ------
        ValueError
            If the vector has another length than ``self.pack()``.
        """
        fields: dict[str, Any] = {}
        start = 0
        for name in self.field_names():
            shape = np.shape(getattr(self, name))
            size = int(np.prod(shape, dtype=np.int64))
            chunk = np.asarray(vector[start : start + size], dtype=np.float64)
            if chunk.size != size:
                break
            fields[name] = chunk.reshape(shape).copy() if shape else float(chunk[0])
            start += size
        if start != len(vector) or len(fields) != len(self.field_names()):
            raise ValueError(
                f"vector must be of length {self.pack().size}, got length {len(vector)}."
            )
        return type(self)(**fields)
