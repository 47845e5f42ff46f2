"""The environments of the papers' experiments, their slips corrected.

Sources: Carvalho et al. (TMLR 2025, arXiv:2503.16271), tables 2 and 3; V. Jimenez Rodriguez, master thesis, ETH
Zurich 2024, tables 4.6, 5.1, 5.2, C.1 to C.6. Test environment j differs from environment 0 in j factors.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from shiftmetrics_lab.shifts.factors.spec import FACTORS, FactorSpec

Environments = tuple[FactorSpec, ...]


def _spec(row: str, shape: tuple[int, ...]) -> FactorSpec:
    """Read ``hue lightness position scale texture`` as the tables print them."""
    return FactorSpec(**dict(zip(FACTORS, row.split(), strict=True)), shape=shape)


def _specs(shape: tuple[int, ...], *rows: str) -> Environments:
    return tuple(_spec(row, shape) for row in rows)


_ALL = (1, 4, 7, 9)

ENVIRONMENTS: Mapping[str, Environments] = MappingProxyType(
    {
        # Six cumulative environments; 0 and 1 are the sources. Paper table 2 = thesis tables 4.6 and C.1.
        "discriminability": _specs(
            (4, 9),
            "red  dark   CC normal blank",
            "blue dark   CC normal blank",
            "blue bright CC normal blank",
            "blue bright LC normal blank",
            "blue bright LC large  blank",
            "blue bright LC large  tiles",
        ),
        # Test environments of the model selection by hue. Thesis tables 5.2 = C.2.
        "hue test": _specs(
            _ALL,
            "red   dark   CC large blank",
            "green dark   CC large blank",
            "green bright CC large blank",
            "green bright CC large tiles",
            "green bright UL large tiles",
            "green bright UL small tiles",
        ),
        # Test environments of the model selection by position. Thesis table C.3, corrected: see `CORRECTIONS`.
        "position test": _specs(
            _ALL,
            "green dark   UL large blank",
            "green dark   CC large blank",
            "green dark   CC small blank",
            "red   dark   CC small blank",
            "red   bright CC small blank",
            "red   bright CC small tiles",
        ),
        # The two source environments. By hue: paper table 3 = thesis tables 5.1 and C.4. By position: thesis table
        # C.5, corrected: see `CORRECTIONS`.
        "hue training": _specs(_ALL, "red dark CC large blank", "blue dark CC large blank"),
        "position training": _specs(_ALL, "green dark UL large blank", "green dark LR large blank"),
        # Pairs of validation environments: same distribution (SD), in distribution (ID), mixed distribution with one
        # or five factors shifted (1F-MD, 5F-MD), out of distribution (OOD). The same tables.
        "hue validation SD": _specs(_ALL, "red dark CC large blank", "red dark CC large blank"),
        "hue validation ID": _specs(_ALL, "red dark CC large blank", "blue dark CC large blank"),
        "hue validation 1F-MD": _specs(
            _ALL, "red dark CC large blank", "magenta dark CC large blank"
        ),
        "hue validation 5F-MD": _specs(
            _ALL, "red dark CC large blank", "green bright UL small tiles"
        ),
        "hue validation OOD": _specs(
            _ALL, "yellow dark CC large blank", "magenta dark CC large blank"
        ),
        "position validation SD": _specs(
            _ALL, "green dark UL large blank", "green dark UL large blank"
        ),
        "position validation ID": _specs(
            _ALL, "green dark UL large blank", "green dark LR large blank"
        ),
        "position validation 1F-MD": _specs(
            _ALL, "green dark UL large blank", "green dark UR large blank"
        ),
        "position validation 5F-MD": _specs(
            _ALL, "green dark UL large blank", "red bright CC small tiles"
        ),
        "position validation OOD": _specs(
            _ALL, "green dark UR large blank", "green dark LL large blank"
        ),
        # Test environments of the co-occurrence designs. The value of the learning factor is a stand-in: the design
        # sets it, test 0 as in training, tests 1 to 5 to the withheld combinations. Thesis table C.6.
        "hue co-occurrence test": _specs(
            (4, 7, 9),
            "blue bright CC large tiles",
            "blue bright CC large tiles",
            "blue bright CR large tiles",
            "blue bright CR small tiles",
            "blue dark   CR small tiles",
            "blue dark   CR small wood",
        ),
        "position co-occurrence test": _specs(
            (4, 7, 9),
            "blue bright CC large tiles",
            "blue bright CC large tiles",
            "blue bright CC small tiles",
            "red  bright CC small tiles",
            "red  dark   CC small tiles",
            "red  dark   CC small wood",
        ),
    }
)
"""The environments of the papers by name."""

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
