"""Names that are loaded on first use: found once, listed before, and all there when a file may hold any of them."""

import sys
import types
from importlib import metadata

import pytest

from shiftmetrics._core import lazy
from shiftmetrics._core.lazy import lazy_names, load_all_names


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """Return a package with one module, which is imported only when its name is asked for."""
    made = types.ModuleType("lazy_package")
    home = types.ModuleType("lazy_package.home")
    home.answer = object()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "lazy_package", made)
    monkeypatch.setitem(sys.modules, "lazy_package.home", home)
    monkeypatch.setattr(lazy, "_NOT_LOADED", [])
    return made


def test_a_name_is_loaded_once_and_stays(package: types.ModuleType) -> None:
    load, names = lazy_names("lazy_package", {"answer": "home"})
    assert "answer" not in vars(package)
    assert "answer" in names()
    found = load("answer")
    assert found is sys.modules["lazy_package.home"].answer
    assert vars(package)["answer"] is found
    assert names() == sorted(names())


@pytest.mark.usefixtures("package")
def test_another_name_is_an_attribute_error() -> None:
    load, _ = lazy_names("lazy_package", {"answer": "home"})
    with pytest.raises(AttributeError, match="'lazy_package' has no attribute 'question'"):
        load("question")


def test_everything_is_imported_once(
    package: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported: list[str] = []
    monkeypatch.setattr(lazy, "importlib", types.SimpleNamespace(import_module=imported.append))
    entry_point = types.SimpleNamespace(load=lambda: imported.append("another distribution"))
    monkeypatch.setattr(
        metadata, "entry_points", lambda group: [entry_point] if group == lazy.RECORDS else []
    )
    lazy_names(package.__name__, {"answer": "home", "other": "home", "third": "elsewhere"})
    load_all_names()
    modules = ["lazy_package.elsewhere", "lazy_package.home"]
    assert sorted(imported) == ["another distribution", *modules]
    load_all_names()
    assert sorted(imported) == [*["another distribution"] * 2, *modules]
