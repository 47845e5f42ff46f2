"""Decisions: is a new model safe to ship, what changed in the data, and does a stream still look the same."""

from typing import TYPE_CHECKING

from shiftmetrics._core.lazy import lazy_names

if TYPE_CHECKING:
    from shiftmetrics.decisions.audit.audit import audit_samples
    from shiftmetrics.decisions.audit.result import AuditResult
    from shiftmetrics.decisions.diff.diff import diff_models
    from shiftmetrics.decisions.diff.result import DiffResult
    from shiftmetrics.decisions.monitor.monitor import MonitorResult, monitor_batch
    from shiftmetrics.decisions.monitor.passport import Passport
    from shiftmetrics.decisions.monitor.profile import make_passport
    from shiftmetrics.decisions.monitor.state import MonitorState
    from shiftmetrics.decisions.scores.result import ScoreDiffResult
    from shiftmetrics.decisions.scores.scores import diff_scores

__all__ = [
    "AuditResult",
    "DiffResult",
    "MonitorResult",
    "MonitorState",
    "Passport",
    "ScoreDiffResult",
    "audit_samples",
    "diff_models",
    "diff_scores",
    "make_passport",
    "monitor_batch",
]

_HOME = {
    "AuditResult": "audit.result",
    "DiffResult": "diff.result",
    "MonitorResult": "monitor.monitor",
    "MonitorState": "monitor.state",
    "Passport": "monitor.passport",
    "ScoreDiffResult": "scores.result",
    "audit_samples": "audit.audit",
    "diff_models": "diff.diff",
    "diff_scores": "scores.scores",
    "make_passport": "monitor.profile",
    "monitor_batch": "monitor.monitor",
}
"""Where each name is: a comparison of two files need not wait for what an audit imports."""

__getattr__, __dir__ = lazy_names(__name__, _HOME)
