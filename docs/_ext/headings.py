"""Captions of the sidebar say their level: the theme makes them headings without one."""

from __future__ import annotations

from typing import Any


def with_level(navigation: str) -> str:
    """Return the navigation in which each caption is a heading of the second level."""
    return navigation.replace('role="heading"', 'role="heading" aria-level="2"')


def add_levels(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Change the navigation that the theme has made of a page."""
    if "furo_navigation_tree" in context:
        context["furo_navigation_tree"] = with_level(context["furo_navigation_tree"])


def setup(app: Any) -> dict[str, bool]:
    """Run after the theme."""
    app.connect("html-page-context", add_levels, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
