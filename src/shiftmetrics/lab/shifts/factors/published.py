"""The environments of the papers' experiments, their slips corrected.

Sources: Carvalho et al. (TMLR 2025, arXiv:2503.16271), tables 2 and 3; V. Jimenez Rodriguez, master thesis, ETH
Zurich 2024, tables 4.6, 5.1, 5.2, C.1 to C.6. Test environment j differs from environment 0 in j factors.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from shiftmetrics.lab.shifts.factors.spec import FACTORS, FactorSpec

Environments = tuple[FactorSpec, ...]


def _spec(row: str, shape: tuple[int, ...]) -> FactorSpec:
    """Read ``hue lightness position scale texture`` as the tables print them."""
    return FactorSpec(**dict(zip(FACTORS, row.split(), strict=True)), shape=shape)


def _specs(shape: tuple[int, ...], *rows: str) -> Environments:
    return tuple(_spec(row, shape) for row in rows)


DISCRIMINABILITY: Environments = _specs(
    (4, 9),
    "red  dark   CC normal blank",
    "blue dark   CC normal blank",
    "blue bright CC normal blank",
    "blue bright LC normal blank",
    "blue bright LC large  blank",
    "blue bright LC large  tiles",
)
"""Six cumulative environments; 0 and 1 are the sources. Paper table 2 = thesis tables 4.6 and C.1."""

HUE_TEST: Environments = _specs(
    (1, 4, 7, 9),
    "red   dark   CC large blank",
    "green dark   CC large blank",
    "green bright CC large blank",
    "green bright CC large tiles",
    "green bright UL large tiles",
    "green bright UL small tiles",
)
"""Test environments of the model selection by hue. Thesis tables 5.2 = C.2."""

POSITION_TEST: Environments = _specs(
    (1, 4, 7, 9),
    "green dark   UL large blank",
    "green dark   CC large blank",
    "green dark   CC small blank",
    "red   dark   CC small blank",
    "red   bright CC small blank",
    "red   bright CC small tiles",
)
"""Test environments of the model selection by position. Thesis table C.3, corrected: see `CORRECTIONS`."""

HUE_TRAINING: Environments = _specs((1, 4, 7, 9), "red dark CC large blank", "blue dark CC large blank")
"""The two source environments that differ in hue. Paper table 3 = thesis tables 5.1 and C.4."""

POSITION_TRAINING: Environments = _specs(
    (1, 4, 7, 9), "green dark UL large blank", "green dark LR large blank"
)
"""The two source environments that differ in position. Thesis table C.5, corrected: see `CORRECTIONS`."""

HUE_VALIDATION: Mapping[str, Environments] = MappingProxyType(
    {
        "SD": _specs((1, 4, 7, 9), "red dark CC large blank", "red dark CC large blank"),
        "ID": _specs((1, 4, 7, 9), "red dark CC large blank", "blue dark CC large blank"),
        "1F-MD": _specs((1, 4, 7, 9), "red dark CC large blank", "magenta dark CC large blank"),
        "5F-MD": _specs((1, 4, 7, 9), "red dark CC large blank", "green bright UL small tiles"),
        "OOD": _specs((1, 4, 7, 9), "yellow dark CC large blank", "magenta dark CC large blank"),
    }
)
"""Pairs of validation environments by name: same distribution (SD), in distribution (ID), mixed distribution with
one or five factors shifted (1F-MD, 5F-MD), out of distribution (OOD). Paper table 3 = thesis tables 5.1 and C.4."""

POSITION_VALIDATION: Mapping[str, Environments] = MappingProxyType(
    {
        "SD": _specs((1, 4, 7, 9), "green dark UL large blank", "green dark UL large blank"),
        "ID": _specs((1, 4, 7, 9), "green dark UL large blank", "green dark LR large blank"),
        "1F-MD": _specs((1, 4, 7, 9), "green dark UL large blank", "green dark UR large blank"),
        "5F-MD": _specs((1, 4, 7, 9), "green dark UL large blank", "red bright CC small tiles"),
        "OOD": _specs((1, 4, 7, 9), "green dark UR large blank", "green dark LL large blank"),
    }
)
"""Pairs of validation environments by name, as `HUE_VALIDATION`. Thesis table C.5."""

HUE_CO_OCCURRENCE_TEST: Environments = _specs(
    (4, 7, 9),
    "blue bright CC large tiles",
    "blue bright CC large tiles",
    "blue bright CR large tiles",
    "blue bright CR small tiles",
    "blue dark   CR small tiles",
    "blue dark   CR small wood",
)
"""Test environments of the co-occurrence designs with hue as learning factor (its value here is a stand-in: the
design sets it, test 0 as in training, tests 1 to 5 to the withheld combinations). Thesis table C.6."""

POSITION_CO_OCCURRENCE_TEST: Environments = _specs(
    (4, 7, 9),
    "blue bright CC large tiles",
    "blue bright CC large tiles",
    "blue bright CC small tiles",
    "red  bright CC small tiles",
    "red  dark   CC small tiles",
    "red  dark   CC small wood",
)
"""The same with position as learning factor. Thesis table C.6."""

CORRECTIONS: Mapping[str, str] = MappingProxyType(
    {
        "paper, section 4.2": "The two training domains are said to differ in all factors; table 2 and figure 13 "
        "show that they differ in hue alone.",
        "paper, appendix E": "The configurations of the model selection are said to stand in table 2; they stand "
        "in table 3.",
        "thesis C.3": "The hue turns to red at environment 3 and is printed green again at 4 and 5, which would "
        "shift three and four factors there; it stays red here, so that environment j shifts j factors.",
        "thesis C.5": "The second training environment is labelled 0; it is environment 1.",
        "thesis C.5, caption": "UR is explained as 'upper left'; it is the upper right, and LL the lower left.",
        "thesis C.6, caption": "CR is explained as 'upper left'; it is the centre right.",
        "thesis C.6": "'Brightness' is the lightness factor.",
        "thesis C.2.2": "The text of the ZGO data calls them 'zero shortcut'; zero generalization is meant. The "
        "3-CGO pattern is a figure that the text lacks; the third pair here completes the other two, so that "
        "every class has two values and every value two classes.",
        "thesis, names of positions": "'LC' is called 'centered low'; it is the lower centre.",
    }
)
"""Slips of the sources and what was done about them."""
