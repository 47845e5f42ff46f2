"""Attacks in torch: the strongest move of a given length, and the shortest move to an error."""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("shiftmetrics.attacks needs torch: pip install 'shiftmetrics[torch]'") from error

from shiftmetrics.attacks.apgd import apgd
from shiftmetrics.attacks.gradient import fgsm, noise, pgd
from shiftmetrics.attacks.nearest import nearest_error
from shiftmetrics.attacks.problem import AttackOptions
from shiftmetrics.attacks.search import AttackResult, run_attack

__all__ = [
    "AttackOptions",
    "AttackResult",
    "apgd",
    "fgsm",
    "nearest_error",
    "noise",
    "pgd",
    "run_attack",
]
