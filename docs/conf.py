"""Sphinx configuration; `make docs` builds with warnings as errors and without a network."""

import datetime
import os
import sys
import warnings
from pathlib import Path

import shiftmetrics

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

os.environ.setdefault("MPLBACKEND", "Agg")
warnings.filterwarnings(
    "ignore", category=UserWarning, message="FigureCanvasAgg is non-interactive"
)

project = "shiftmetrics"
author = "The shiftmetrics developers"
copyright = f"{datetime.date.today():%Y}, {author}"
version = release = shiftmetrics.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "formulas",
    "headings",
    "reference",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "_extra"]
root_doc = "index"
nitpicky = False
default_role = "py:obj"

# --- Markdown --------------------------------------------------------------------------------------------
myst_enable_extensions = ["dollarmath", "deflist", "attrs_inline"]
myst_heading_anchors = 3

# --- API reference ---------------------------------------------------------------------------------------
autosummary_generate = True
autodoc_typehints = "none"  # numpydoc sections say the types in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_validation_checks: set[str] = set()
toc_object_entries = False

# --- gallery ---------------------------------------------------------------------------------------------
sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "remove_config_comments": True,
    "default_thumb_file": None,
    "reset_modules": ("matplotlib",),
}

# Docstrings that scikit-learn inherits refer to its own glossary.
suppress_warnings = ["ref.term"]

# --- look ------------------------------------------------------------------------------------------------
html_theme = "furo"
html_math_renderer = "drawn"  # no script and no network
html_title = f"shiftmetrics {release}"
html_static_path = ["_static"]
html_extra_path = ["_extra"]
html_favicon = "_static/icon.svg"
html_css_files = ["shiftmetrics.css"]
html_js_files = ["copy.js"]
html_search_scorer = str(Path(__file__).parent / "search_scorer.js")
html_copy_source = False
html_show_sourcelink = False
pygments_style = "a11y-high-contrast-light"  # every colour readable on its ground
pygments_dark_style = "a11y-dark"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5f8b", "color-brand-content": "#1f5f8b"},
    "dark_css_variables": {"color-brand-primary": "#7fb8de", "color-brand-content": "#7fb8de"},
}
