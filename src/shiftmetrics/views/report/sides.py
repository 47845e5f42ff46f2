"""One sample of a report, test or reference: the name, label, picture and text of each of its rows."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from markupsafe import Markup

from shiftmetrics.views.report.context import Rows
from shiftmetrics.views.report.parts import excerpt
from shiftmetrics.views.report.pictures import range_of, thumbnail


class Side:
    """The rows of the test sample or, by ``reference``, of the reference."""

    def __init__(self, rows: Rows, *, reference: bool = False) -> None:
        # the fields of the reference have the same names with a prefix
        prefix = "reference_" if reference else ""
        self.names = getattr(rows, f"{prefix}names")
        self.labels = getattr(rows, f"{prefix}labels")
        self.images = getattr(rows, f"{prefix}images")
        self.texts = getattr(rows, f"{prefix}texts")
        self.table = getattr(rows, f"{prefix}table")

    @cached_property
    def value_range(self) -> tuple[float, float]:
        """One range for all pictures of a sample, so that they compare."""
        return range_of(self.images)

    def name(self, row: int) -> str:
        """Return the name of a row."""
        return str(row if self.names is None else self.names[row])

    def line(self, row: int) -> dict[str, Any]:
        """Return the first cells of the row in a table: its name and, where they are known, picture and label."""
        cells: dict[str, Any] = {"Row": self.name(row)}
        if self.images is not None:
            cells["Picture"] = self.picture(row)
        if self.labels is not None:
            cells["Label"] = str(self.labels[row])
        return cells

    def picture(self, row: int) -> Markup:
        """Return the picture of a row."""
        alt = f"row {self.name(row)}"
        if self.labels is not None:
            alt += f", label {self.labels[row]}"
        return thumbnail(self.images[row], value_range=self.value_range, alt=alt)

    def pictures(self, rows: Any) -> list[Markup]:
        """Return the pictures of some rows, where there are any."""
        return [] if self.images is None else [self.picture(row) for row in rows]

    def excerpts(self, rows: Any) -> list[tuple[str, str]]:
        """Return the names of rows and the beginnings of their texts, where there are any."""
        if self.texts is None:
            return []
        return [(self.name(row), excerpt(str(self.texts[row]))) for row in rows]
