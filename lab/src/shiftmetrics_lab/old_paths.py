"""The old path ``shiftmetrics.lab``, under which records that were pickled before name their classes."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

OLD = "shiftmetrics.lab"
NEW = "shiftmetrics_lab"


class OldPaths(MetaPathFinder, Loader):
    """Finds ``shiftmetrics.lab.x`` as ``shiftmetrics_lab.x``: one module under two names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return what loads a module of the old path; None for all others."""
        if fullname != OLD and not fullname.startswith(f"{OLD}."):
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module at its new place."""
        return importlib.import_module(NEW + spec.name.removeprefix(OLD))

    def exec_module(self, module: ModuleType) -> None:
        """Leave a module that has run already as it is, with what it knows of its own place."""
        module.__spec__ = importlib.util.find_spec(module.__name__)


def keep_old_paths() -> None:
    """Let the old path be imported; a second call does nothing."""
    if not any(isinstance(finder, OldPaths) for finder in sys.meta_path):
        # before the finder of files, which would load a second copy
        sys.meta_path.insert(0, OldPaths())
