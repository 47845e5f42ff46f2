"""Names that are loaded on first use: found once, listed before, and all there when a file may hold any of them."""

import sys
import types
from importlib import metadata

import numpy as np
import pytest

from shiftmetrics import posterior_agreement
from shiftmetrics._core import documents, lazy
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
    entry_point = types.SimpleNamespace(
        name="other", load=lambda: imported.append("another distribution")
    )
    monkeypatch.setattr(
        metadata, "entry_points", lambda group: [entry_point] if group == lazy.RECORDS else []
    )
    lazy_names(package.__name__, {"answer": "home", "other": "home", "third": "elsewhere"})
    load_all_names()
    modules = ["lazy_package.elsewhere", "lazy_package.home"]
    assert sorted(imported) == ["another distribution", *modules]
    load_all_names()
    assert sorted(imported) == [*["another distribution"] * 2, *modules]


@pytest.mark.parametrize("ending", [ImportError("no part"), RuntimeError("broken"), SystemExit(0)])
def test_a_package_that_cannot_be_imported_is_named_and_takes_nothing_away(
    ending: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def load() -> None:
        print("a line of its own")
        raise ending

    found = [types.SimpleNamespace(name="theirs", load=load)]
    monkeypatch.setattr(metadata, "entry_points", lambda group: found)
    monkeypatch.setattr(lazy, "BROKEN", broken := {})
    monkeypatch.setattr(documents, "BROKEN", broken)
    load_all_names()
    assert broken == {"theirs": f"{type(ending).__name__}: {ending}"}
    assert capsys.readouterr().out == ""
    result = posterior_agreement(np.eye(3), np.eye(3))
    own, from_json = result.to_json(), type(result).from_json
    assert from_json(own).n_samples == 3
    with pytest.raises(ValueError, match=r"cannot be imported: theirs \("):
        from_json(own.replace("PosteriorAgreementResult", "TheirResult"))
    found[0].load = lambda: None
    load_all_names()
    assert broken == {}
    with pytest.raises(ValueError, match="Install the package whose result it is"):
        from_json(own.replace("PosteriorAgreementResult", "TheirResult"))
