"""The last section: how to read each measure, its limits, and the settings behind every number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from shiftmetrics._core.result import Result, format_number
from shiftmetrics.views.report.facts import family_of
from shiftmetrics.views.report.templating import fragment


@dataclass(frozen=True)
class Guide:
    """How to read one measure."""

    term: str
    text: str
    source: str
    limits: tuple[str, ...]


GUIDES = {
    "agreement": Guide(
        "Posterior agreement",
        "Each prediction becomes a distribution over the classes, by a softmax of the scores at one "
        "common inverse temperature. The measure is the mean log overlap of the distributions before "
        "and after the shift, at the inverse temperature where it is largest, in nats: 0 is no better "
        "than chance, the logarithm of the number of classes means that every prediction is kept with "
        "certainty. No labels are needed; a confident contradiction costs most.",
        "Carvalho et al., TMLR 2025, arXiv:2503.16271.",
        (
            "Agreement says that predictions stay, not that they are right: with a uniform prior a "
            "constant classifier agrees perfectly. Use the predicted prior when models are chosen by "
            "it.",
        ),
    ),
    "stability": Guide(
        "Stability",
        "The least cost at which moving the rows (price theta1 for the squared distance) and "
        "reweighting them (price theta2 for the divergence of the weights) lifts the risk to the "
        "threshold. A larger value means a more stable model; 0 means that the sample is there already. "
        "It has no unit of its own, so read it by its companions: how far rows move, how many, and how "
        "uneven the weights become.",
        "Blanchet, Cui, Li and Liu, ICML 2024, arXiv:2405.03198, with corrected programs.",
        (
            "Stability depends on the distance and on the two prices: compare values only under the "
            "same ones.",
            "Where distances come from a search, they are upper bounds, and so is the stability.",
        ),
    ),
    "novelty": Guide(
        "Kernel entropic novelty",
        "The positive part of the difference between two kernel covariance matrices is what the test "
        "sample has and the reference lacks; its entropy counts how much of it there is and in how many "
        "modes. A mode's eigenvalue is its frequency in the test sample minus eta times its frequency "
        "in the reference.",
        "Zhang, Li and Farnia, ICML 2024, arXiv:2402.17287, with corrected eigenvectors.",
        (
            "The score grows with the sample size and depends on the bandwidth, even for two samples of "
            "one distribution: compare scores of equal sizes and one bandwidth only.",
        ),
    ),
    "comparison": Guide(
        "Comparison of models",
        "Models are resampled together: each bootstrap draw takes the same rows for all of them, so that what the "
        "rows have in common cancels in the differences. A rank leaves out only what a test of all differences "
        "together rules out.",
        "Mogstad, Romano, Shaikh and Wilhelm, Review of Economic Studies 2024, doi:10.1093/restud/rdad006.",
        ("Intervals and ranks speak of other samples of the same kind of rows, not of other shifts.",),
    ),
}


def build_methods(results: Mapping[str, Result]) -> Markup:
    """Return the section for the measures at hand."""
    guides = [
        GUIDES[family] for family in GUIDES if any(family_of(result) == family for result in results.values())
    ]
    limits = [limit for guide in guides for limit in guide.limits]
    bound = max(
        (result.error_bound for result in results.values() if np.isfinite(result.error_bound)), default=0.0
    )
    limits.append(
        f"The numerical error of every value here is at most {bound:.1e}. That says nothing of the "
        "sampling error, which only an interval or a standard error does."
    )
    settings = [
        {
            "name": name if name == result.title else f"{result.title}, {name}",
            "lines": _settings(result),
        }
        for name, result in results.items()
    ]
    return fragment("methods.html.j2", guide=guides, limits=limits, settings=settings)


def _settings(result: Result) -> list[tuple[str, str]]:
    rows = [("rows", f"{result.n_samples:,}"), ("status", f"{result.status}: {result.status.text}")]
    rows.append(("numerical error", f"{result.error_bound:.1e}"))
    for name, value in result.settings.items():
        rows.append((name, _short(value)))
    return rows


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    if isinstance(value, float):
        return format_number(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_short(part)}" for name, part in value.items())
    text = str(value)
    return text if len(text) <= 200 else text[:197] + "..."
