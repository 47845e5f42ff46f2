"""The route of networks: attacks for the 0/1 loss, gradient ascent for the others."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from shiftmetrics.models.reading.estimators import ends_in_network
from shiftmetrics.models.reading.model import LossName, ModelProblem
from shiftmetrics.models.search.column import SearchRoute
from shiftmetrics.models.search.worst_case import WorstCase


class TorchRoute(SearchRoute):
    """Upper bounds by gradients.

    For torch modules, estimators that hold one as ``module_``, and these and scikit-learn's networks at the end of a
    pipeline.
    """

    def accepts(self, model: Any, loss: LossName) -> bool:
        """Return True if the model is a torch module, or ends in a network."""
        return ends_in_network(model)

    def worst_case(self, problem: ModelProblem) -> WorstCase | None:
        """Attack, or climb; None where the steps before a network are not affine, or torch is not installed.

        Nor where cells are missing: what a network makes of them has no gradient.
        """
        if find_spec("torch") is None:
            return None
        if np.isnan(problem.codes).any():
            return None
        from shiftmetrics.models.networks.ascent import GradientAscent, attack_network
        from shiftmetrics.models.networks.network import network_of

        network = network_of(problem)
        if network is None:
            return None
        if problem.loss == "zero_one":
            return attack_network(problem, network)
        return GradientAscent(problem, network).first()
