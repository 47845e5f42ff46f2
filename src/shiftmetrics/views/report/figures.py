"""Matplotlib figures as SVG inside the page: text stays text, and colours follow the page's light and dark themes."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Callable
from typing import Any

from markupsafe import Markup, escape

from shiftmetrics.views.plot import style

_THEMED = {
    style.INK: "var(--ink)",
    style.MUTED: "var(--muted)",
    style.RULE: "var(--rule)",
    style.TEST: "var(--test)",
    style.REFERENCE: "var(--reference)",
    style.THIRD: "var(--third)",
    style.FAINT: "var(--faint)",
}
_COUNTER = itertools.count()


def figure_svg(
    draw: Callable[[Any], object], *, alt: str, caption: str = "", width: float = 4.0, height: float = 2.8
) -> Markup:
    """Draw on fresh axes and return an HTML ``figure`` with the drawing inline.

    Parameters
    ----------
    draw : callable
        Gets matplotlib axes.
    alt : str
        What the drawing shows, for readers who do not see it.
    caption : str, default ""
        A sentence below it: how to read it.
    width, height : float
        Size in inches; on the page it shrinks with its column.

    Returns
    -------
    markupsafe.Markup
        HTML, with ``alt`` and ``caption`` escaped.
    """
    import matplotlib
    from matplotlib.figure import Figure

    with style.style(), matplotlib.rc_context({"svg.fonttype": "none", "savefig.dpi": 144}):
        figure = Figure(figsize=(width, height), layout="constrained")
        draw(figure.add_subplot())
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = inline_svg(buffer.getvalue(), alt)
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return Markup(f"<figure>{svg}{below}</figure>")


def inline_svg(text: str, alt: str) -> str:
    """Make a stand-alone SVG file fit to stand inside HTML, next to others of its kind."""
    prefix = f"f{next(_COUNTER)}-"
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    text = re.sub(r' xmlns(:\w+)?="[^"]*"', "", text)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}\1)", text)
    text = re.sub(r'(?:xlink:)?href="#([^"]+)"', rf'href="#{prefix}\1"', text)
    text = text.replace("xlink:href=", "href=")
    text = re.sub(r"font: ([^;\"]*?[\d.]+px) [^;\"]+", r"font: \1 var(--sans)", text)
    text = re.sub(r"font-family: [^;\"]+", "font-family: var(--sans)", text)
    for colour, variable in _THEMED.items():
        text = text.replace(colour, variable)
    text = re.sub(r">\s+<", "><", text)
    text = re.sub(
        r"<[^>]+>", lambda tag: re.sub(r"(\d+\.\d{2})\d+", r"\1", tag[0]), text
    )  # finer than any screen
    label = str(escape(alt))
    return text.replace("<svg", f'<svg role="img" aria-label="{label}"', 1).strip()
