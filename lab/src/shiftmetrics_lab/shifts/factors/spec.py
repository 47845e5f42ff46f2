"""The image factors and their values, and one choice of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.record import Record
from shiftmetrics._core.validation import check_choice, check_integer

HUES = ("red", "yellow", "green", "cyan", "blue", "magenta")
LIGHTNESSES = ("dark", "normal", "bright")
POSITIONS = ("UL", "UC", "UR", "CL", "CC", "CR", "LL", "LC", "LR")
SCALES = ("small", "normal", "large")
TEXTURES = ("blank", "tiles", "wood")

FACTORS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "hue": HUES,
        "lightness": LIGHTNESSES,
        "position": POSITIONS,
        "scale": SCALES,
        "texture": TEXTURES,
    }
)
"""The values of each factor but the shape, which is the digit. Positions: upper, centre, lower by left, centre,
right."""


@dataclass(frozen=True, eq=False, kw_only=True)
class FactorSpec(Record):
    """One choice of every image factor: an environment, or domain.

    Parameters
    ----------
    hue : {"red", "yellow", "green", "cyan", "blue", "magenta"}
    lightness : {"dark", "normal", "bright"}
    position : {"UL", "UC", "UR", "CL", "CC", "CR", "LL", "LC", "LR"}
        Upper, centre or lower row, left, centre or right column.
    scale : {"small", "normal", "large"}
    texture : {"blank", "tiles", "wood"}
    shape : tuple of int
        The digits that occur; the classes.

    Examples
    --------
    >>> from shiftmetrics_lab.shifts.factors.spec import FactorSpec
    >>> base = FactorSpec(hue="red", lightness="dark", shape=(4, 9))
    >>> base.replace(hue="blue").differences(base)
    ('hue',)
    """

    hue: str = "red"
    lightness: str = "normal"
    position: str = "CC"
    scale: str = "normal"
    texture: str = "blank"
    shape: tuple[int, ...] = tuple(range(10))

    def __post_init__(self) -> None:
        super().__post_init__()
        for factor, values in FACTORS.items():
            check_choice(getattr(self, factor), factor, values)
        if (
            not isinstance(self.shape, tuple)
            or not self.shape
            or len(set(self.shape)) != len(self.shape)
        ):
            raise ArgumentValueError("shape", "distinct digits, at least one", value=self.shape)
        for digit in self.shape:
            check_integer(digit, "shape", low=0)

    def values(self) -> dict[str, str]:
        """Return the value of each factor but the shape."""
        return {factor: getattr(self, factor) for factor in FACTORS}

    def replace(self, **changes: Any) -> FactorSpec:
        """Return a copy with some factors changed."""
        unknown = [name for name in changes if name not in (*FACTORS, "shape")]
        if unknown:
            raise ArgumentTypeError(
                "factor", f"one of {', '.join(FACTORS)} or shape", value=unknown[0]
            )
        return FactorSpec(**{**self.values(), "shape": self.shape, **changes})

    def differences(self, other: FactorSpec) -> tuple[str, ...]:
        """Return the factors in which two choices differ."""
        return tuple(
            name for name in (*FACTORS, "shape") if getattr(self, name) != getattr(other, name)
        )
