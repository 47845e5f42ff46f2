"""Drawings and pictures inside the page: matplotlib figures as SVG, arrays of pixels as PNG or JPEG data."""

from __future__ import annotations

import base64
import io
import itertools
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from markupsafe import Markup, escape

from shiftmetrics._core.exceptions import ArgumentError, ArgumentValueError
from shiftmetrics.views.drawings import style
from shiftmetrics.views.drawings.kinds import plot

LARGEST_SIDE = 64
"""Pixels; larger pictures are scaled down, so that a page of a hundred of them stays small."""

THEME = {
    "ink": style.INK,
    "muted": style.MUTED,
    "rule": style.RULE,
    "test": style.TEST,
    "reference": style.REFERENCE,
    "third": style.THIRD,
    "faint": style.FAINT,
    "good": style.GOOD,
    "bad": style.BAD,
}
"""Colours of drawings by the variables of the style sheet, which has a dark theme too."""
_COUNTER = itertools.count()
ROOM_FOR_NAME = 0.2
"""Inches that a name beside the axes takes."""
ROOM_AROUND = 0.9
"""Inches above and below the axes."""


def inline_figure(
    result: Any, kind: str | None, *, name: str, height: float, **options: Any
) -> Markup:
    """Draw a result and return the drawing as an SVG element.

    Parameters
    ----------
    result, kind, **options
        As for `plot`.
    name : str
        What is drawn: with the title of the axes it describes the drawing to readers who do not see it.
    height : float
        In inches, of a drawing 4 inches wide; on the page it shrinks with its column.

    Raises
    ------
    ValueError
        If the result, edited by hand, has numbers that no axis can show.
    """
    buffer = io.BytesIO()
    title = _draw(buffer, "svg", result, kind, height, options)
    # what is said aloud names the result once
    said = title if name in title else f"{title}: {name}"
    return Markup(_inline_svg(buffer.getvalue().decode("utf-8"), said))


def png_figure(result: Any, kind: str | None, *, height: float, **options: Any) -> str:
    """Draw a result on white and return the drawing as PNG, in an address that holds all of it."""
    buffer = io.BytesIO()
    _draw(buffer, "png", result, kind, height, options)
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"


def _draw(
    buffer: io.BytesIO,
    form: str,
    result: Any,
    kind: str | None,
    height: float,
    options: dict[str, Any],
) -> str:
    """Draw a result into a buffer; return the title of the axes."""
    import matplotlib
    from matplotlib.figure import Figure

    # words stay text elements: they can be read aloud, and scale
    settings: Any = {"svg.fonttype": "none", "savefig.dpi": 144}
    metadata = {"Date": None, "Creator": None} if form == "svg" else {"Software": None}
    with (
        style.style(),
        matplotlib.rc_context(settings),
        warnings.catch_warnings(),
        _axes_in_words(),
    ):
        # The browser has fonts for names that matplotlib, which only measures them, has no glyphs for.
        warnings.filterwarnings("ignore", message=r"(?s)Glyph .* missing from")
        warnings.filterwarnings("ignore", message=r"(?s)Matplotlib currently does not support")
        # Coordinates that overflow end in an error of the axes, which is told in words.
        warnings.filterwarnings("ignore", category=RuntimeWarning, module="matplotlib")
        figure = Figure(figsize=(4.0, height), layout="constrained")
        ax = plot(result, figure.add_subplot(), kind=kind, **options)
        title = str(ax.get_title(loc="left"))
        ax.set_title(title, loc="left", wrap=True)
        # names beside the axes need room, or they are written over each other
        n_names = sum(bool(label.get_text()) for label in _names_beside(ax))
        figure.set_size_inches(4.0, max(height, ROOM_AROUND + ROOM_FOR_NAME * n_names))
        figure.savefig(buffer, format=form, transparent=form == "svg", metadata=metadata)
    return title


@contextmanager
def _axes_in_words() -> Iterator[None]:
    """Tell in words that a result, edited by hand, has numbers that no axis can show."""
    try:
        yield
    except ArgumentError:
        raise
    except (ValueError, OverflowError) as error:
        remedy = "If the file of the result was edited, write it again."
        raise ArgumentValueError(
            "result", "finite numbers of ordinary size", str(error), remedy, verb="hold"
        ) from error


def _names_beside(ax: Any) -> list[Any]:
    """Return the labels at the left where they are names at fixed places, and no numbers of a scale."""
    from matplotlib.ticker import FixedLocator

    is_fixed = isinstance(ax.yaxis.get_major_locator(), FixedLocator)
    return list(ax.get_yticklabels()) if is_fixed else []


def _inline_svg(text: str, alt: str) -> str:
    """Make a stand-alone SVG file fit to stand inside HTML, next to others of its kind."""
    # ids are unique in the page, because a drawing refers to its clips and glyphs by id
    prefix = f"f{next(_COUNTER)}-"
    # what an XML file has and a page must not
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text, flags=re.DOTALL)
    # the size is that of the column on the page
    for name in ("width", "height"):
        text = re.sub(rf'(<svg[^>]*?) {name}="[^"]*"', r"\1", text, count=1)
    text = re.sub(r' xmlns(:\w+)?="[^"]*"', "", text)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}\1)", text)
    text = re.sub(r'(?:xlink:)?href="#([^"]+)"', rf'href="#{prefix}\1"', text)
    text = text.replace("xlink:href=", "href=")
    text = re.sub(r"font: ([^;\"]*?[\d.]+px) [^;\"]+", r"font: \1 var(--sans)", text)
    text = re.sub(r"font-family: [^;\"]+", "font-family: var(--sans)", text)
    for name, colour in THEME.items():
        text = text.replace(colour, f"var(--{name})")
    text = re.sub(r">\s+<", "><", text)
    # Coordinates finer than any screen only take bytes.
    text = re.sub(r"<[^>]+>", lambda tag: re.sub(r"(\d+\.\d{2})\d+", r"\1", tag[0]), text)
    return text.replace("<svg", f'<svg role="img" aria-label="{escape(alt)}"', 1).strip()


def is_image_batch(array: Any) -> bool:
    """Return True if ``array`` has the shape of grey (n, h, w) or colour (n, h, w, 3 or 4) images."""
    shape = np.shape(array)
    return len(shape) == 3 or (len(shape) == 4 and shape[-1] in (1, 3, 4))


def thumbnail(image: Any, *, value_range: tuple[float, float], alt: str) -> Markup:
    """Return an ``img`` element with one image of shape (h, w) or (h, w, 1, 3 or 4).

    Parameters
    ----------
    image : ndarray
        Grey or colour, integers 0..255 or any floats.
    value_range : tuple of float
        The values that are black and white (see `range_of`), those of all pictures of a sample, so that they compare.
    alt : str
        What it is; shown when the pointer rests on it.
    """
    from PIL import Image

    low, high = value_range
    scaled = (np.asarray(image, dtype=np.float64) - low) / ((high - low) or 1.0)
    pixels = (255.0 * np.clip(np.nan_to_num(scaled), 0.0, 1.0)).round().astype(np.uint8)
    if pixels.ndim == 3 and pixels.shape[-1] == 1:
        pixels = pixels[..., 0]
    picture = Image.fromarray(pixels)
    kind: dict[str, Any] = {"format": "PNG", "optimize": True}
    if max(picture.size) > LARGEST_SIDE:
        picture.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
        # scaled down, a photograph need not be exact: JPEG takes a quarter of the bytes
        if picture.mode == "RGB":
            kind = {"format": "JPEG", "quality": 85}
    buffer = io.BytesIO()
    picture.save(buffer, **kind)
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    source = f"data:image/{kind['format'].lower()};base64,{data}"
    # pictures of few pixels are drawn as squares, not blurred
    coarse = " coarse" if max(pixels.shape[:2]) <= 32 else ""
    element = '<img class="thumb{}" src="{}" alt="{}" title="{}">'
    return Markup(element).format(coarse, source, alt, alt)


def range_of(images: Any) -> tuple[float, float]:
    """Return the values to show as black and white: the natural range of the dtype, else that of the data."""
    array = np.asarray(images)
    if array.dtype == np.uint8:
        return 0.0, 255.0
    finite = array[np.isfinite(array)].astype(np.float64)
    low = float(finite.min(initial=0.0))
    high = float(finite.max(initial=0.0))
    # values of 0 to a little less than 1 are taken for the range from 0 to 1
    if low == 0.0 and (0.5 < high <= 1.0 or high == 0.0):
        high = 1.0
    return low, high
