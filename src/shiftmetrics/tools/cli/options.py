"""What all commands share: options that stand beside those of the functions, and settings of typer."""

from __future__ import annotations

from typing import Any

SETTINGS: dict[str, Any] = {
    "rich_markup_mode": "markdown",
    "add_completion": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
    "pretty_exceptions_enable": False,
}
"""Of the application and of each command, for typer."""

TITLE = "How this model holds under shift"
"""Of pages of several measures."""

SHARED = """
results : RESULTS
    JSON files of results, written by other commands with --json, or folders of them.
id_column : COLUMN
    Column that names the rows; pairs are matched by it.
columns : A,B,...
    Columns to measure. Default: all that are not otherwise named.
label : COLUMN|FILE
    True labels: kept out of the measure, used to explain it.
weight : COLUMN|FILE
    Weights of the rows, such as survey weights.
groups : COLUMN|FILE
    Rows that belong together, such as visits of one patient: intervals take them as one.
align
    Match rows and columns by their names, or take them as they stand.
seed
    Seed of everything random; recorded in the result.
json : FILE.json
    Write the result as JSON; arrays go to FILE.npz beside it.
report : FILE.html
    Write a self-contained HTML report.
quiet
    Print nothing but errors.
"""
"""Options that several commands share, each described once."""
