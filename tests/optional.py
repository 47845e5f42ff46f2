"""Packages of extras, for tests: where one is not installed, what uses it is skipped, and all else runs.

``from optional import torch`` stands in for ``import torch``. Used by a test, a missing package skips that test; used
while a file is read, it skips the file. Marks skip what the oldest versions do not know.
"""

import importlib
from typing import Any

import pytest
import sklearn

EXTRAS = {
    "array_api_strict": "test", "cvxpy": "conic", "dask": "dask", "pyarrow": "parquet", "torch": "torch",
    "torchmetrics": "torch",
}  # fmt: skip


class Missing:
    """Stands for a package that is not installed."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):  # pytest looks for its own marks on everything
            raise AttributeError(attribute)
        pytest.skip(
            f"needs {self._name}: pip install 'shiftmetrics[{EXTRAS[self._name]}]'",
            allow_module_level=True,
        )


def __getattr__(name: str) -> Any:
    if name not in EXTRAS:
        raise AttributeError(name)
    try:
        return importlib.import_module(name)
    except ImportError:
        return Missing(name)


by_temperature = pytest.mark.skipif(
    tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8),
    reason="scikit-learn calibrates by temperature from 1.8 on",
)
