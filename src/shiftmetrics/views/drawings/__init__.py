"""Drawings of results with matplotlib, each registered for the classes that it draws.

Importing this package registers them. matplotlib is loaded when something is drawn, not before.
"""

from shiftmetrics.views.drawings import (  # noqa: F401
    agreement,
    novelty,
    sensitive_sample,
    several,
    stability,
)
