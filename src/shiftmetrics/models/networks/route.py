"""The route of torch modules: attacks for the 0/1 loss, gradient ascent and column generation for the others."""

from __future__ import annotations

from typing import Any

from shiftmetrics.models.outputs import is_network
from shiftmetrics.models.question import LossName, Question
from shiftmetrics.models.route import Answer


class TorchRoute:
    """Upper bounds by gradients, for torch modules and `NetworkClassifier`; lower ones by their Lipschitz bound."""

    name = "torch"

    def accepts(self, model: Any, loss: LossName) -> bool:
        """Tell whether the model is a torch module, or holds one."""
        return is_network(model)

    def answer(self, question: Question) -> Answer | None:
        """Attack, or climb."""
        from shiftmetrics.models.networks.climb import climb_network
        from shiftmetrics.models.networks.errors import attack_network

        return attack_network(question) if question.loss == "zero_one" else climb_network(question)
