"""Files of drawings and of pages are imported for the results that they are about: a decision loads no measure."""

from __future__ import annotations

import importlib

DECISIONS = {
    "drawings": ("audit", "diff"),
    "report": ("audit", "diff"),
}
MEASURES = {
    "drawings": ("agreement", "novelty", "sensitive_sample", "several", "stability"),
    "report": ("agreement", "comparison", "novelty", "stability"),
}
"""Files that register drawings, or parts of pages, by the folder that they stand in."""


def load_views(cls: type, folder: str) -> None:
    """Import the files of a folder, "drawings" or "report", that may be about a class of results."""
    # a command that decides starts fast: the files of the measures load all of these
    is_decision = cls.__module__.startswith("shiftmetrics.decisions.")
    files = DECISIONS if is_decision else MEASURES
    for name in files[folder]:
        importlib.import_module(f"shiftmetrics.views.{folder}.{name}")
