"""Reference by groups: what a list of the reference names without a page of its own stands in full below the list.

A list with ``:toctree: generated`` makes a page for each name: functions that are called, and what they return.
Records inside results, losses and the laboratory are read together, on the page of their group.
"""

from __future__ import annotations

import inspect
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.ext.autosummary import Autosummary, get_import_prefixes_from_env

FOREIGN = "set_fit_request, set_score_request, set_predict_request, set_transform_request"
"""What scikit-learn writes on estimators, with links into its own pages."""


def directive_of(found: object) -> str:
    """Return the directive that documents an object."""
    if inspect.isclass(found):
        return "autoclass"
    return "autofunction" if callable(found) else "autodata"


class GroupedSummary(Autosummary):
    """The list of names as always; on a page of the reference, their documentation follows it."""

    def run(self) -> list[nodes.Node]:
        """Return the list, and what it names."""
        listed = super().run()
        page = self.env.docname
        if "toctree" in self.options or not page.startswith("api/") or "/generated/" in page:
            return listed
        lines: list[str] = []
        for name in filter(None, map(str.strip, self.content)):
            prefixes = get_import_prefixes_from_env(self.env)
            real, found, _, module = self.import_by_name(name, prefixes=prefixes)
            inside = real.removeprefix(f"{module}.")
            lines += [f".. currentmodule:: {module}", "", f".. {directive_of(found)}:: {inside}"]
            if inspect.isclass(found):
                lines += ["   :members:", f"   :exclude-members: {FOREIGN}"]
            lines.append("")
        before = self.env.ref_context.get("py:module")
        entries = nodes.container()
        self.state.nested_parse(StringList(lines, source=page), self.content_offset, entries)
        self.env.ref_context["py:module"] = before
        return [*listed, *entries.children]


def setup(app: Any) -> dict[str, bool]:
    """Take the place of the directive of Sphinx."""
    app.setup_extension("sphinx.ext.autosummary")
    app.add_directive("autosummary", GroupedSummary, override=True)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
