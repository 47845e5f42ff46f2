"""Which columns have the names, or the cells, of ids and labels."""

from __future__ import annotations

from typing import Any

ID_NAMES = {
    "id", "ids", "idx", "index", "row", "row_id", "rowid", "key", "uuid", "guid", "name", "filename",
    "file", "image", "path",
}  # fmt: skip
LABEL_NAMES = {
    "label", "labels", "target", "targets", "y", "y_true", "truth", "ground_truth", "gold", "actual", "class",
    "category",
}  # fmt: skip


def _plain(name: Any) -> str:
    """Return a name as it is compared: in small letters, with underscores."""
    return str(name).strip().lower().replace(" ", "_").replace("-", "_")


def looks_like_id(name: Any) -> bool:
    """Return True if a column has the name of an id, or none: pandas writes its index so."""
    plain = _plain(name)
    if plain in ID_NAMES or plain.endswith("_id"):
        return True
    return plain.startswith("unnamed:") or not plain


def looks_like_label(name: Any) -> bool:
    """Return True if a column has the name of a label."""
    plain = _plain(name)
    return plain in LABEL_NAMES or plain.endswith("_label")


def names_rows(column: Any) -> bool:
    """Return True for words that differ in all rows; numbers that are written oddly are no words."""
    if column.dtype.kind in "biufM" or len(column) < 3 or not column.is_unique:
        return False
    return bool(column.astype(str).str.contains(r"[^\W\d_]").all())


def is_fractional(column: Any) -> bool:
    """Return True for numbers that are not all whole: no ids, and rarely labels; a class may have any name."""
    if column.dtype.kind != "f":
        return False
    known = column.dropna()
    return bool((known % 1 != 0).any())
