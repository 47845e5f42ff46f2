"""How large the library may be: its public names, arguments and results; and who imports the laboratory."""

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from typing import get_type_hints

import pytest

import shiftmetrics
from shiftmetrics._core.result import Result, Status

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "shiftmetrics"
MOST_NAMES = {"adapters": 11, "": 140}
MOST_PARAMETERS = 12
MOST_RESULTS = 15
MOST_FIELDS = 16
MOST_LINES = 400


def packages() -> dict[str, list[str]]:
    """Return the public names of each package that lists some."""
    names = [
        "shiftmetrics",
        *(
            found.name
            for found in pkgutil.walk_packages(shiftmetrics.__path__, "shiftmetrics.")
            if found.ispkg
        ),
    ]
    listed = {name: getattr(importlib.import_module(name), "__all__", []) for name in names}
    return {
        name: sorted(set(public) - {"__version__"}) for name, public in listed.items() if public
    }


PUBLIC = packages()
NAMES = [(package, name) for package, names in PUBLIC.items() for name in names]


def test_the_laboratory_is_never_imported() -> None:
    # not inside a function either, nor by its name in a string
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            elif isinstance(node, ast.Call):
                given = [part.value for part in node.args if isinstance(part, ast.Constant)]
                names = [name for name in given if isinstance(name, str)]
            found = [name for name in names if name.split(".")[0] == "shiftmetrics_lab"]
            assert not found, f"{path.relative_to(SOURCE)} imports {found}"


# --- names -----------------------------------------------------------------------------------------------


def test_only_packages_list_public_names() -> None:
    listing = [
        path
        for path in SOURCE.rglob("*.py")
        if re.search(r"^__all__\b", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    ]
    assert [path for path in listing if path.name != "__init__.py"] == []


@pytest.mark.parametrize("wing", MOST_NAMES)
def test_public_names_are_few(wing: str) -> None:
    inside = {
        (package, name)
        for package, name in NAMES
        if f"{package}.".startswith(f"shiftmetrics.{wing}".rstrip("."))
    }
    assert len(inside) <= MOST_NAMES[wing], sorted(inside)


def test_every_public_name_stands_in_the_reference() -> None:
    pages = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "api").glob("*.rst")
    )
    listed = set(re.findall(r"^   (?:[\w.]+\.)?(\w+)$", pages, flags=re.MULTILINE))
    listed |= set(re.findall(r"``(\w+)``", pages))
    assert sorted({name for _, name in NAMES} - listed) == []


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs" / "api").glob("*.rst")), ids=lambda p: p.stem
)
def test_every_name_of_the_reference_exists(page):
    module, listing, names = "", False, []
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        if line and not line.startswith(" "):
            listing = line.startswith(".. autosummary::")
        elif listing and line.strip() and not line.strip().startswith(":"):
            names.append(f"{module}.{line.strip()}")
    missing = []
    for name in names:
        try:
            pkgutil.resolve_name(name)
        except AttributeError:
            missing.append(name)
        except ImportError as error:  # an extra, or the laboratory, that is not installed here
            if str(error.name).startswith("shiftmetrics."):
                missing.append(name)
    assert missing == []


# --- arguments -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("package", "name"), NAMES)
def test_arguments_are_few(package: str, name: str) -> None:
    found = getattr(importlib.import_module(package), name)
    functions = {name: found} if inspect.isfunction(found) else {}
    if inspect.isclass(found) and found.__module__.startswith("shiftmetrics."):
        methods = inspect.getmembers(found, inspect.isfunction)
        functions = {
            f"{name}.{method}": function
            for method, function in methods
            if not method.startswith("_") and function.__module__.startswith("shiftmetrics.")
        }
    for function, code in functions.items():
        assert len(set(inspect.signature(code).parameters) - {"self"}) <= MOST_PARAMETERS, function


# --- results ---------------------------------------------------------------------------------------------


def subclasses(cls: type) -> set[type]:
    found = {
        child for child in cls.__subclasses__() if child.__module__.startswith("shiftmetrics.")
    }
    return found.union(*(subclasses(child) for child in found))


def everything() -> None:
    for found in pkgutil.walk_packages(shiftmetrics.__path__, "shiftmetrics."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)


def test_result_classes_are_few() -> None:
    everything()
    results = sorted(cls.__name__ for cls in subclasses(Result))
    assert len(results) <= MOST_RESULTS, results


def test_results_have_few_fields() -> None:
    everything()
    fields = {cls.__name__: len(dataclasses.fields(cls)) for cls in subclasses(Result)}
    assert {name: n for name, n in fields.items() if n > MOST_FIELDS} == {}


def test_there_is_one_type_of_status() -> None:
    everything()
    assert subclasses(Status) == set()
    assert {get_type_hints(cls)["status"] for cls in subclasses(Result)} == {Status}


def test_no_file_is_too_long_to_read() -> None:
    lengths = {
        path.relative_to(ROOT): len(path.read_text(encoding="utf-8").splitlines())
        for path in SOURCE.rglob("*.py")
    }
    assert {path: n for path, n in lengths.items() if n > MOST_LINES} == {}
