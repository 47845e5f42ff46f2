"""The public face: what it lists is what it has, each documented with an example, options by keyword only."""

import dataclasses
import importlib
import inspect
import pkgutil
import re
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import shiftmetrics
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import Result, Status

PUBLIC = [name for name in shiftmetrics.__all__ if not name.startswith("__")]
FUNCTIONS = [name for name in PUBLIC if inspect.isfunction(getattr(shiftmetrics, name))]
CLASSES = [name for name in PUBLIC if inspect.isclass(getattr(shiftmetrics, name))]
LOSSES = [name for name in CLASSES if name.endswith("Loss")]

IMPORTED = ("lazy_names", "TYPE_CHECKING", "draw_by")
"""What the face uses itself."""

POSITIONAL = {
    "compare_agreement": ["scores", "reference_scores"],
    "compare_novelty": ["samples", "reference"],
    "compare_stability": ["losses", "threshold"],
    "audit_samples": ["reference", "current"],
    "diff_models": ["old", "new"],
    "kernel_entropic_novelty": ["features", "reference"],
    "feature_stability": ["model", "X", "y", "threshold"],
    "model_stability": ["model", "X", "y", "threshold"],
    "posterior_agreement": ["scores", "reference_scores"],
    "stability_criterion": ["loss", "threshold"],
    "worst_case_risk": ["loss", "budget"],
    "write_report": ["results", "path"],
    "CandidateLoss": ["losses", "distances"],
    "FixedLoss": ["losses"],
    "HingeLoss": ["margins", "weight_norm"],
    "LogisticLoss": ["margins", "weight_norm"],
    "SquaredLoss": ["residuals", "weight_norm"],
    "ZeroOneLoss": ["distances"],
}


def modules() -> Iterator[ModuleType]:
    yield shiftmetrics
    for found in pkgutil.walk_packages(shiftmetrics.__path__, "shiftmetrics."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def subclasses(cls: type) -> Iterator[type]:
    for child in cls.__subclasses__():
        if child.__module__.startswith("shiftmetrics."):
            yield child
        yield from subclasses(child)


def results() -> list[type[Result]]:
    """Return what measures return: the results that no other result derives from."""
    leaves = {cls.__name__: cls for cls in subclasses(Result) if not list(subclasses(cls))}
    return [leaves[name] for name in sorted(leaves)]


def sections(doc: str) -> list[str]:
    return re.findall(r"^(\w[\w ]*)\n-{3,}$", doc, flags=re.MULTILINE)


# --- names -----------------------------------------------------------------------------------------------


def test_the_list_is_sorted_and_short() -> None:
    names = shiftmetrics.__all__
    assert list(names) == sorted(names)
    assert len(names) == len(set(names)) <= 26


def test_the_list_is_what_the_module_has() -> None:
    # The measures themselves are rooms that one may enter: `shiftmetrics.agreement` holds more than the face shows.
    own = {
        name
        for name, value in vars(shiftmetrics).items()
        if not name.startswith("_") and not inspect.ismodule(value) and name not in IMPORTED
    }
    assert own <= set(PUBLIC)
    assert set(PUBLIC) <= set(dir(shiftmetrics))
    assert set(FUNCTIONS) | set(CLASSES) == set(PUBLIC)
    assert set(POSITIONAL) == set(FUNCTIONS) | set(LOSSES)


def test_every_name_knows_its_home() -> None:
    for name in PUBLIC:
        found = getattr(shiftmetrics, name)
        assert found.__name__ == name
        assert getattr(importlib.import_module(found.__module__), name) is found


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'shiftmetrics' has no attribute 'nothing'"):
        shiftmetrics.nothing  # noqa: B018


@pytest.mark.parametrize("module", [module.__name__ for module in modules()])
def test_every_list_of_names_is_sorted_and_true(module: str) -> None:
    found = importlib.import_module(module)
    assert found.__doc__, f"{module} does not say what it is for"
    names = getattr(found, "__all__", ())
    assert sorted(names) == sorted(set(names))
    for name in names:
        assert hasattr(found, name), name


def test_the_version_is_the_one_of_the_package() -> None:
    import importlib.metadata

    assert shiftmetrics.__version__ == importlib.metadata.version("shiftmetrics")


# --- documentation ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PUBLIC)
def test_every_name_is_documented(name: str) -> None:
    found = getattr(shiftmetrics, name)
    doc = inspect.getdoc(found) or ""
    if name in FUNCTIONS or name in LOSSES:
        assert ">>>" in doc, "an example is missing"
        assert {"Parameters", "Raises", "Examples"} <= set(sections(doc))
        for parameter in inspect.signature(found).parameters:
            assert re.search(rf"^[\w, ]*\b{parameter}\b[\w, ]* : ", doc, flags=re.MULTILINE), (
                parameter
            )
    if name in FUNCTIONS and inspect.signature(found).return_annotation not in ("None", None):
        assert "Returns" in sections(doc)


def test_every_name_stands_in_the_reference() -> None:
    reference = (Path(__file__).parents[1] / "docs" / "api" / "index.rst").read_text(
        encoding="utf-8"
    )
    assert set(PUBLIC) <= set(re.findall(r"^   (\w+)$", reference, flags=re.MULTILINE))


def held_by(cls: type) -> Iterator[type]:
    """Yield the records that the shown fields of a record hold, and what these hold."""
    hints = typing.get_type_hints(cls)
    open_hints = [hints[field.name] for field in dataclasses.fields(cls) if field.repr]
    while open_hints:
        hint = open_hints.pop()
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            yield hint
            yield from held_by(hint)
        open_hints += typing.get_args(hint)


@pytest.mark.parametrize("cls", results(), ids=lambda cls: cls.__name__)
def test_every_part_of_a_result_stands_in_the_reference(cls: type[Result]) -> None:
    pages = (Path(__file__).parents[1] / "docs" / "api").glob("*.rst")
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    listed = set(re.findall(r"^   (?:\w+\.)*(\w+)$", text, flags=re.MULTILINE))
    assert {part.__name__ for part in held_by(cls)} <= listed


@pytest.mark.parametrize("cls", results(), ids=lambda cls: cls.__name__)
def test_every_result_says_what_its_fields_are(cls: type[Result]) -> None:
    doc = "".join(vars(base).get("__doc__") or "" for base in cls.__mro__)
    for field in dataclasses.fields(cls):
        if field.repr:
            assert re.search(rf"^ *[\w, ]*\b{field.name}\b[\w, ]* : ", doc, flags=re.MULTILINE), (
                field.name
            )


# --- signatures ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(POSITIONAL))
def test_options_are_keyword_only(name: str) -> None:
    parameters = inspect.signature(getattr(shiftmetrics, name)).parameters.values()
    positional = [
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    assert positional == POSITIONAL[name]
    for parameter in parameters:
        assert parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        if parameter.kind is parameter.KEYWORD_ONLY:
            assert parameter.default is not parameter.empty


# --- results and records ---------------------------------------------------------------------------------


def statuses() -> list[Status]:
    """Return the outcomes that modules define."""
    return [
        value
        for module in modules()
        for value in vars(module).values()
        if isinstance(value, Status)
    ]


def test_every_status_reads_as_sentences() -> None:
    assert statuses()
    for status in statuses():
        assert re.fullmatch(r"[a-z][a-z_]*", status.code), status.code
        for text in (status.cause, status.remedy) if status.remedy else (status.cause,):
            assert text[0].isupper(), text
            assert text.endswith("."), text


def test_every_record_can_be_found_by_its_name() -> None:
    list(modules())
    found = set(subclasses(Record))
    # a module that a test loaded anew leaves its old classes behind
    found = {cls for cls in found if vars(sys.modules[cls.__module__]).get(cls.__name__) is cls}
    names = [cls.__name__ for cls in found]
    repeated = [str(cls) for cls in found if names.count(cls.__name__) > 1]
    assert repeated == [], "two records of one name: JSON would build the wrong one"


@pytest.mark.parametrize("cls", results(), ids=lambda cls: cls.__name__)
def test_every_result_keeps_the_common_vocabulary(cls: type[Result]) -> None:
    fields = {field.name for field in dataclasses.fields(cls)}
    for name, kind in (("measure", str), ("title", str), ("higher_is_better", bool)):
        if name not in fields:  # one class may serve several measures
            assert name in vars(cls), f"{name} is inherited by accident"
            assert isinstance(vars(cls)[name], kind)
            assert vars(cls)[name] != ""
    assert all(field.kw_only for field in dataclasses.fields(cls))
    assert cls.__dataclass_params__.frozen
    assert not cls.__dataclass_params__.eq
    for field in dataclasses.fields(cls):
        has_default = (
            field.default is not dataclasses.MISSING
            or field.default_factory is not dataclasses.MISSING
        )
        assert field.repr or has_default, (
            f"{field.name} is not in the JSON, so reading it back needs a default"
        )
