"""Formulas as drawings inside the page: they need no script and no network, and take the colour of the text."""

from __future__ import annotations

import html
import re
from typing import Any

from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import text_to_path

_SIZE = 100.0
"""Size at which a formula is laid out: its coordinates are then rounded to integers."""
_FONT = FontProperties(family="STIXGeneral", math_fontfamily="stix", size=_SIZE)
_PLAIN = {
    r"\le ": r"\leq ",
    r"\ge ": r"\geq ",
    r"\ne ": r"\neq ",
    r"\lvert": "|",
    r"\rvert": "|",
    r"\Bigl": "",
    r"\Bigr": "",
    r"\tfrac": r"\frac",
}
"""What matplotlib does not know, and what it has instead."""
_SUM = re.compile(r"(\\sum(?:_(?:\{[^}]*\}|\w)|\^(?:\{[^}]*\}|\w))*)")
_LETTERS = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C"}


def drawn(formula: str) -> str:
    """Return a formula of LaTeX as one SVG element, which stands on the line of the text around it."""
    known = " ".join(formula.split()) + " "
    for word, other in _PLAIN.items():
        known = known.replace(word, other)
    # \frac12 is \frac{1}{2}, and a sum keeps its distance from what it sums
    known = re.sub(r"\\frac(\w)\s*(\w)", r"\\frac{\1}{\2}", known)
    known = _SUM.sub(r"\1\\,", known).strip()
    text = f"${known}$"
    width, height, depth = text_to_path.get_text_width_height_descent(text, _FONT, ismath=True)
    vertices, codes = text_to_path.get_text_path(_FONT, text, ismath=True)
    steps = []
    for points, code in Path(vertices, codes).iter_segments(simplify=False, curves=True):
        if code == Path.CLOSEPOLY:
            steps.append("Z")
            continue
        # the page counts downwards
        numbers = [round(-value if place % 2 else value) for place, value in enumerate(points)]
        steps.append(_LETTERS[code] + " ".join(map(str, numbers)))
    # a little air, for letters that lean beyond their box
    box = f"-4 {-(height - depth) - 4:.0f} {width + 8:.0f} {height + 8:.0f}"
    style = f"width:{(width + 8) / _SIZE:.2f}em;vertical-align:{-(depth + 4) / _SIZE:.2f}em"
    said = html.escape(" ".join(formula.split()), quote=True)
    return (
        f'<svg class="formula" role="img" aria-label="{said}" viewBox="{box}" style="{style}">'
        f'<path fill="currentColor" d="{"".join(steps)}"/></svg>'
    )


def parts_of(formula: str) -> list[str]:
    r"""Split a formula at each ``\qquad``, so that a narrow page can put one part below the other."""
    return [part.strip() for part in formula.split(r"\qquad") if part.strip()]


def visit_inline(writer: Any, node: Any) -> None:
    """Write a formula within a sentence."""
    from docutils import nodes

    writer.body.append(drawn(node.astext()))
    raise nodes.SkipNode


def visit_block(writer: Any, node: Any) -> None:
    """Write a formula on its own lines."""
    from docutils import nodes

    parts = "".join(drawn(part) for part in parts_of(node.astext()))
    writer.body.append(f'<div class="formulas">{parts}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer, which conf.py chooses."""
    app.add_html_math_renderer(
        "drawn", inline_renderers=(visit_inline, None), block_renderers=(visit_block, None)
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
