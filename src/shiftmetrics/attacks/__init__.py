"""Attacks in torch: the strongest move of a given length, and the shortest move to an error."""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("shiftmetrics.attacks needs torch: pip install 'shiftmetrics[torch]'") from error

from shiftmetrics.attacks.apgd import apgd
from shiftmetrics.attacks.ddn import ddn
from shiftmetrics.attacks.distance import min_distance, nearest_error
from shiftmetrics.attacks.fmn import fmn
from shiftmetrics.attacks.gradient import fgsm, pgd
from shiftmetrics.attacks.linearised import deepfool, fab
from shiftmetrics.attacks.noise import noise
from shiftmetrics.attacks.protocol import Attack, run_attack
from shiftmetrics.attacks.result import AttackResult

__all__ = [
    "Attack",
    "AttackResult",
    "apgd",
    "ddn",
    "deepfool",
    "fab",
    "fgsm",
    "fmn",
    "min_distance",
    "nearest_error",
    "noise",
    "pgd",
    "run_attack",
]
