"""Attacks of given strength in torch, noise to compare them with, and attacks of other libraries."""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError(
        "shiftmetrics_lab.attacks needs torch: pip install 'shiftmetrics[torch]'"
    ) from error

from shiftmetrics_lab.attacks.apgd import apgd
from shiftmetrics_lab.attacks.gradient import fgsm, noise, pgd
from shiftmetrics_lab.attacks.run import run_attack

__all__ = ["apgd", "fgsm", "noise", "pgd", "run_attack"]
