"""Templates of the report: everything that goes in is escaped, unless it is Markup made by this package."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any

from markupsafe import Markup


@functools.cache
def _environment() -> Any:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("shiftmetrics.views.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(template: str, **values: Any) -> str:
    """Fill a template."""
    return str(_environment().get_template(template).render(**values))


def fragment(template: str, **values: Any) -> Markup:
    """Fill a template that stands inside another one."""
    return Markup(render(template, **values))


def stylesheet() -> str:
    """Return the style sheet of the page."""
    return (
        resources.files("shiftmetrics.views.report")
        .joinpath("templates/style.css")
        .read_text(encoding="utf-8")
    )
