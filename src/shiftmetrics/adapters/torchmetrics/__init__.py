"""Posterior agreement and attack failure rate as torchmetrics."""

try:
    import torchmetrics  # noqa: F401
except ImportError as error:
    raise ImportError(
        "shiftmetrics.adapters.torchmetrics needs torch and torchmetrics: pip install 'shiftmetrics[torch]'"
    ) from error

from shiftmetrics.adapters.torchmetrics.agreement import PosteriorAgreement
from shiftmetrics.adapters.torchmetrics.failure_rate import AttackFailureRate

__all__ = ["AttackFailureRate", "PosteriorAgreement"]
