"""Posterior agreement and attack failure rate as torchmetrics, each with its functional twin."""

try:
    import torchmetrics  # noqa: F401
except ImportError as error:
    raise ImportError(
        "shiftmetrics.adapters.torchmetrics needs torch and torchmetrics: pip install 'shiftmetrics[torch]'"
    ) from error

from shiftmetrics.adapters.torchmetrics.agreement import PosteriorAgreement, posterior_agreement
from shiftmetrics.adapters.torchmetrics.failure_rate import AttackFailureRate, attack_failure_rate

__all__ = ["AttackFailureRate", "PosteriorAgreement", "attack_failure_rate", "posterior_agreement"]
