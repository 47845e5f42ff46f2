"""The nearest error of a network: the shortest perturbation that changes a prediction to a wrong one."""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError(
        "shiftmetrics.attacks needs torch: pip install 'shiftmetrics[torch]'"
    ) from error

from shiftmetrics.attacks.nearest import nearest_error
from shiftmetrics.attacks.problem import AttackOptions
from shiftmetrics.attacks.search import AttackResult

__all__ = ["AttackOptions", "AttackResult", "nearest_error"]
