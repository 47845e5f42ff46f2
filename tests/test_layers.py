"""Higher floors know lower ones, never the reverse: the contracts of pyproject.toml hold, and they would notice."""

import ast
import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


LINT_IMPORTS = Path(sysconfig.get_path("scripts")) / "lint-imports"


def lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    if not LINT_IMPORTS.exists():
        pytest.skip("import-linter is not installed")
    return subprocess.run(
        [str(LINT_IMPORTS), "--no-cache"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root / "src")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_import_direction_holds() -> None:
    ended = lint_imports(ROOT)
    assert ended.returncode == 0, ended.stdout + ended.stderr


WRONG = {
    "upwards": ("_core/blocks.py", "import shiftmetrics.agreement"),
    "upwards, inside a function": (
        "_core/result.py",
        "def later():\n    import shiftmetrics.cli",
    ),
    "from measure to measure": ("agreement/__init__.py", "import shiftmetrics.novelty"),
    "a framework in a measure": ("stability/__init__.py", "def later():\n    import torch"),
    "a framework in the core": ("_core/arrays.py", "import sklearn"),
    "upwards, inside a package": (
        "models/reading/model.py",
        "import shiftmetrics.models.search.column",
    ),
    "from route to route": (
        "models/linear/route.py",
        "def later():\n    import shiftmetrics.models.forests",
    ),
}


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return what is said of a copy with all wrong imports: one reading of all files takes seconds."""
    copy = tmp_path_factory.mktemp("wrong")
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    for module, statement in WRONG.values():
        with (copy / "src" / "shiftmetrics" / module).open("a") as file:
            file.write(f"\n\n{statement}\n")
    ended = lint_imports(copy)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.parametrize(("module", "statement"), WRONG.values(), ids=WRONG)
def test_an_import_in_the_wrong_direction_is_noticed(
    module: str, statement: str, reported: str
) -> None:
    importer = module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    imported = statement.split()[-1]
    assert re.search(rf"shiftmetrics\.{importer} -> {imported}\b", reported), reported


def imports_from_the_top(source: str) -> bool:
    """Tell whether a module takes a name from the top package, whose lazy names hide where they stand."""
    return any(
        isinstance(node, ast.ImportFrom) and node.module == "shiftmetrics" and node.level == 0
        for node in ast.walk(ast.parse(source))
    )


@pytest.mark.slow
def test_no_module_imports_names_from_the_top_package() -> None:
    assert imports_from_the_top("def later():\n    from shiftmetrics import posterior_agreement")
    modules = (ROOT / "src").rglob("*.py")
    assert [
        path.name for path in modules if imports_from_the_top(path.read_text(encoding="utf-8"))
    ] == []


def test_a_module_without_a_floor_is_noticed(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "src" / "shiftmetrics" / "attic.py").write_text('"""Where things end up."""\n')
    ended = lint_imports(tmp_path)
    assert ended.returncode == 1
    assert "attic" in ended.stdout
