"""The kinds of files that are read, as a table for the documentation: generated from the register."""

from __future__ import annotations

from shiftmetrics.tables.register import READERS


def formats_table() -> str:
    """Return a Markdown table of all readers, in the order in which they are asked."""
    lines = ["| file | usual suffixes | told by | needs |", "| --- | --- | --- | --- |"]
    for reader in READERS:
        suffixes = ", ".join(f"`{suffix}`" for suffix in reader.suffixes)
        extra = f"`shiftmetrics[{reader.extra}]`" if reader.extra else ""
        lines.append(f"| {reader.name} | {suffixes} | {reader.told_by} | {extra} |")
    return "\n".join(lines)
