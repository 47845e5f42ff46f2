"""Each source has its test at the same place, `a/b.py` in `a/test_b.py`, or a reason in unmirrored.txt."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TREES = {
    "shiftmetrics": (ROOT / "src" / "shiftmetrics", ROOT / "tests"),
    "shiftmetrics_lab": (ROOT / "lab" / "src" / "shiftmetrics_lab", ROOT / "lab" / "tests"),
}
LIST = "unmirrored.txt"


def defines_something(path: Path) -> bool:
    """Return True if a source has functions or classes; a list of names alone needs no test."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    module = ast.parse(path.read_text(encoding="utf-8"))
    return any(isinstance(node, kinds) for node in module.body)


def without_test(source: Path, tests: Path) -> list[str]:
    """Return the sources whose test does not stand at the mirrored place, as paths relative to the package."""
    missing = []
    for path in sorted(source.rglob("*.py")):
        place = path.relative_to(source)
        test = tests / place.parent / f"test_{path.name}"
        is_special = path.name.startswith("__")  # __init__ and __main__
        if not is_special and not test.exists() and defines_something(path):
            missing.append(place.as_posix())
    return missing


def exceptions(text: str) -> dict[str, str]:
    """Return the reason of each exception: a line is a path, two blanks or a tab, and the reason."""
    found = {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        place, _, reason = line.replace("\t", "  ").partition("  ")
        found[place] = reason.strip()
    return found


def covers(exception: str, place: str) -> bool:
    """Return True if an exception names a source, or with a slash at its end the package that it is in."""
    return place.startswith(exception) if exception.endswith("/") else place == exception


def listed(tests: Path) -> dict[str, str]:
    path = tests / LIST
    return exceptions(path.read_text(encoding="utf-8")) if path.exists() else {}


@pytest.mark.parametrize("tree", TREES)
def test_each_source_has_its_test_at_the_mirrored_place(tree: str) -> None:
    source, tests = TREES[tree]
    excused = listed(tests)
    missing = [
        place
        for place in without_test(source, tests)
        if not any(covers(exception, place) for exception in excused)
    ]
    assert missing == []


@pytest.mark.parametrize("tree", TREES)
def test_no_exception_is_stale_or_without_a_reason(tree: str) -> None:
    source, tests = TREES[tree]
    missing = without_test(source, tests)
    excused = listed(tests)
    assert list(excused) == sorted(excused)
    for exception, reason in excused.items():
        assert reason, f"{exception} has no reason"
        assert any(covers(exception, place) for place in missing), (
            f"{exception} has a test, or is gone"
        )


def test_a_source_without_a_test_is_found(tmp_path: Path) -> None:
    source, tests = tmp_path / "src", tmp_path / "tests"
    for folder in (source / "room", tests / "room"):
        folder.mkdir(parents=True)
    (source / "room" / "__init__.py").write_text("def hidden():\n    pass\n")
    (source / "room" / "names.py").write_text("NAMES = ()\n")
    (source / "room" / "tried.py").write_text("def tried():\n    pass\n")
    (source / "room" / "untried.py").write_text("class Untried:\n    pass\n")
    (tests / "room" / "test_tried.py").touch()
    (tests / "test_untried.py").touch()
    assert without_test(source, tests) == ["room/untried.py"]


def test_an_exception_is_a_source_or_a_package() -> None:
    excused = exceptions("# a remark\n\nroom/\treplaced soon\nhall.py  only drawn\n")
    assert excused == {"room/": "replaced soon", "hall.py": "only drawn"}
    assert covers("room/", "room/untried.py")
    assert not covers("room/", "rooms/untried.py")
    assert not covers("hall.py", "hall.py/untried.py")
