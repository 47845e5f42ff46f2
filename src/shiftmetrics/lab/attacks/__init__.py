"""Attacks of given strength in torch, noise to compare them with, and attacks of other libraries."""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError(
        "shiftmetrics.lab.attacks needs torch: pip install 'shiftmetrics[torch]'"
    ) from error

from shiftmetrics.lab.attacks.apgd import apgd
from shiftmetrics.lab.attacks.gradient import fgsm, noise, pgd
from shiftmetrics.lab.attacks.run import run_attack

__all__ = ["apgd", "fgsm", "noise", "pgd", "run_attack"]
