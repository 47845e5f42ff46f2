"""Files of drawings and of pages are imported for the results that they are about: a decision loads no measure."""

from __future__ import annotations

import importlib

FILES = {
    "decisions.diff": ("drawings.diff", "report.diff"),
    "decisions.scores": ("drawings.scores", "report.scores"),
    "decisions.metrics": ("drawings.metrics", "report.metrics"),
    "decisions.tokens": ("drawings.tokens", "report.tokens"),
    "decisions.audit": ("drawings.audit", "drawings.audit_columns", "report.audit"),
    "decisions.monitor": ("drawings.monitor", "report.monitor"),
    "agreement": ("drawings.agreement", "drawings.several", "report.agreement"),
    "novelty": ("drawings.novelty", "report.novelty"),
    "stability": ("drawings.stability", "drawings.sensitive_sample", "report.stability"),
    "models": ("drawings.stability", "drawings.sensitive_sample", "report.stability"),
    "comparison": ("drawings.several", "report.comparison"),
}
"""Files that register drawings, or parts of pages, by the package of the results; the first that fits."""


def load_views(cls: type, folder: str) -> None:
    """Import the files of a folder, "drawings" or "report", that may be about a class of results."""
    for base in cls.__mro__:
        module = base.__module__.removeprefix("shiftmetrics.")
        package = next((name for name in FILES if module.startswith(name)), None)
        for file in FILES.get(package or "", ()):
            if file.startswith(folder):
                importlib.import_module(f"shiftmetrics.views.{file}")
