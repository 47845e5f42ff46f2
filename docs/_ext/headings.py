"""Headings that say what they are: captions of the sidebar have a level, empty corners of tables are none."""

from __future__ import annotations

import re
from typing import Any


def with_level(navigation: str) -> str:
    """Return the navigation in which each caption is a heading of the second level."""
    return navigation.replace('role="heading"', 'role="heading" aria-level="2"')


def without_empty(body: str) -> str:
    """Return a page whose tables have no heading without words."""
    return re.sub(r"<th [^>]*>(<p></p>)?</th>", "<td></td>", body)


def add_levels(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Change the navigation that the theme has made of a page."""
    if "furo_navigation_tree" in context:
        context["furo_navigation_tree"] = with_level(context["furo_navigation_tree"])
    if "body" in context:
        context["body"] = without_empty(context["body"])


def setup(app: Any) -> dict[str, bool]:
    """Run after the theme."""
    app.connect("html-page-context", add_levels, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
