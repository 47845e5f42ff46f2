"""Decisions: is a new model safe to ship, what changed in the data, and does a stream still look the same."""

from typing import TYPE_CHECKING

from shiftmetrics._core.lazy import lazy_names

if TYPE_CHECKING:
    from shiftmetrics.decisions.audit.audit import audit_samples
    from shiftmetrics.decisions.audit.result import AuditResult
    from shiftmetrics.decisions.diff.diff import diff_models
    from shiftmetrics.decisions.diff.result import DiffResult
    from shiftmetrics.decisions.metrics.metrics import diff_metric
    from shiftmetrics.decisions.metrics.result import MetricDiffResult
    from shiftmetrics.decisions.monitor.monitor import MonitorResult, monitor_batch
    from shiftmetrics.decisions.monitor.passport import Passport
    from shiftmetrics.decisions.monitor.profile import make_passport
    from shiftmetrics.decisions.monitor.state import MonitorState
    from shiftmetrics.decisions.scores.result import ScoreDiffResult
    from shiftmetrics.decisions.scores.scores import diff_scores
    from shiftmetrics.decisions.tokens.result import TokenDiffResult
    from shiftmetrics.decisions.tokens.tokens import diff_tokens

__all__ = [
    "AuditResult",
    "DiffResult",
    "MetricDiffResult",
    "MonitorResult",
    "MonitorState",
    "Passport",
    "ScoreDiffResult",
    "TokenDiffResult",
    "audit_samples",
    "diff_metric",
    "diff_models",
    "diff_scores",
    "diff_tokens",
    "make_passport",
    "monitor_batch",
]

_HOME = {
    "AuditResult": "audit.result",
    "DiffResult": "diff.result",
    "MetricDiffResult": "metrics.result",
    "MonitorResult": "monitor.monitor",
    "MonitorState": "monitor.state",
    "Passport": "monitor.passport",
    "ScoreDiffResult": "scores.result",
    "TokenDiffResult": "tokens.result",
    "audit_samples": "audit.audit",
    "diff_metric": "metrics.metrics",
    "diff_models": "diff.diff",
    "diff_scores": "scores.scores",
    "diff_tokens": "tokens.tokens",
    "make_passport": "monitor.profile",
    "monitor_batch": "monitor.monitor",
}
"""Where each name is: a comparison of two files need not wait for what an audit imports."""

__getattr__, __dir__ = lazy_names(__name__, _HOME)
