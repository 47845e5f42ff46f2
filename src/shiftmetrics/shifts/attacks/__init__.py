"""Attacks in torch: the strongest move of a given length, and the shortest move to an error."""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("shiftmetrics.shifts.attacks needs torch: pip install 'shiftmetrics[torch]'") from error

from shiftmetrics.shifts.attacks.apgd import apgd
from shiftmetrics.shifts.attacks.ddn import ddn
from shiftmetrics.shifts.attacks.defences import JPEGDefence, ReverseSigmoid
from shiftmetrics.shifts.attacks.distance import min_distance, nearest_error
from shiftmetrics.shifts.attacks.fmn import fmn
from shiftmetrics.shifts.attacks.gradient import fgsm, pgd
from shiftmetrics.shifts.attacks.linearised import deepfool, fab
from shiftmetrics.shifts.attacks.noise import noise
from shiftmetrics.shifts.attacks.protocol import Attack, run_attack
from shiftmetrics.shifts.attacks.result import AttackResult

__all__ = [
    "Attack",
    "AttackResult",
    "JPEGDefence",
    "ReverseSigmoid",
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
