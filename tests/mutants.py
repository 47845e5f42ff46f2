"""Make small faults in the files that divide error probabilities, and list those that no test finds.

    python tests/mutants.py                      # all of `TESTS`
    python tests/mutants.py _core/confidence.py  # one of them

Survivors that tests/survivors.txt lists, with the reason, are passed over; where there are others it ends with 1.
A mutant changes one number (doubled, halved, one more), one comparison (strict or not), one minimum to a maximum, one
sign, or one keyword from True to False. Each runs in a copy of the sources, until the first test that fails.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import copy
import importlib.util
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis  # noqa: F401
import numpy as np  # noqa: F401
import pandas as pd  # noqa: F401
import pytest
import scipy.stats  # noqa: F401
import sklearn.ensemble  # noqa: F401

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "shiftmetrics"
SURVIVORS = ROOT / "tests" / "survivors.txt"
SECONDS = 120
"""A mutant that takes longer, such as an endless loop, counts as found."""

TESTS = {
    "_core/confidence.py": ["_core/test_confidence*.py"],
    "decisions/labelling/exact.py": ["decisions/**/test_exact*.py"],
    "decisions/labelling/anytime.py": ["decisions/**/test_anytime*.py"],
    "decisions/labelling/paired.py": ["decisions/**/test_paired*.py"],
    "decisions/labelling/plan.py": ["decisions/**/test_plan*.py"],
    "decisions/monitor/alarm.py": ["decisions/**/test_alarm*.py"],
    "decisions/audit/column_changes.py": ["decisions/**/test_column_changes*.py"],
    "decisions/diff/gains.py": ["decisions/**/test_gains*.py"],
    "decisions/diff/evidence.py": ["decisions/**/test_evidence*.py", "decisions/**/test_diff.py"],
    "novelty/modes/gate.py": ["novelty/**/test_gate*.py"],
    "novelty/modes/permutations.py": [
        "novelty/**/test_permutations*.py",
        "novelty/**/test_modes.py",
    ],
    "comparison/paired.py": ["comparison/test_paired*.py", "comparison/test_ranking*.py"],
    "comparison/ranking.py": ["comparison/test_ranking*.py"],
    "comparison/joint_errors.py": ["comparison/test_joint_errors*.py", "_core/test_confidence.py"],
}
"""The tests of each file, by patterns under tests/."""

COMPARISONS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
NAMES = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "floor": "ceil",
    "ceil": "floor",
    "at_least": "at_most",
    "at_most": "at_least",
}


def faults(node: ast.AST) -> Iterator[ast.AST]:
    """Yield changed copies of one node of the syntax tree."""
    if isinstance(node, ast.Constant):
        yield from [ast.Constant(value) for value in _other_values(node.value)]
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        changed = copy.deepcopy(node)
        changed.ops[0] = COMPARISONS[type(node.ops[0])]()
        yield changed
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        changed = copy.deepcopy(node)
        changed.op = OPERATORS[type(node.op)]()
        yield changed
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield node.operand
    elif isinstance(node, ast.Name) and node.id in NAMES:
        yield ast.Name(NAMES[node.id], ast.Load())
    elif isinstance(node, ast.Attribute) and node.attr in NAMES:
        yield ast.Attribute(node.value, NAMES[node.attr], node.ctx)


def _other_values(value: object) -> list[object]:
    """Return what a constant is changed to."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1]
    if isinstance(value, float):
        return [2.0 * value, 0.5 * value] if value else [1.0]
    return []


def mutants_of(source: str) -> Iterator[tuple[str, str, str]]:
    """Yield the line as it was, the line as it is now, and the source of each mutant."""
    tree = ast.parse(source)
    skipped = _skipped(tree)
    lines = source.splitlines(keepends=True)
    for node in ast.walk(tree):
        if id(node) in skipped or not isinstance(node, ast.expr):
            continue
        old = ast.get_source_segment(source, node)
        if old is None or node.lineno != node.end_lineno:
            continue
        for changed in faults(node):
            new = ast.unparse(changed)
            place = node.lineno - 1
            line = lines[place].encode()
            # The columns of a syntax tree count bytes.
            line = line[: node.col_offset] + f"({new})".encode() + line[node.end_col_offset :]
            if isinstance(node, ast.Attribute | ast.Name):
                line = line.replace(f"({new})".encode(), new.encode())
            text = "".join([*lines[:place], line.decode(), *lines[place + 1 :]])
            yield lines[place].strip(), line.decode().strip(), text


def _skipped(tree: ast.AST) -> set[int]:
    """Return the nodes that are no arithmetic: types, decorators, axes, raised errors and formats."""
    found: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            arguments = [*node.args.args, *node.args.kwonlyargs]
            found += [one.annotation for one in arguments if one.annotation is not None]
            found += [node.returns] if node.returns is not None else []
            found += node.decorator_list
        elif isinstance(node, ast.ClassDef):
            found += node.decorator_list
        elif isinstance(node, ast.AnnAssign):
            found.append(node.annotation)
        elif isinstance(node, ast.Raise | ast.JoinedStr):
            found.append(node)
        if isinstance(node, ast.keyword) and node.arg == "axis":
            found.append(node)
    return {id(inner) for outer in found for inner in ast.walk(outer)}


def is_found(tests: list[str]) -> bool:
    """Return whether a test fails, in a child of this process that has imported all but the library."""
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        options = ["-q", "-x", "-n", "0", "-m", "not slow", "-p", "no:cacheprovider"]
        os._exit(int(pytest.main([*options, *tests]) != 0))
    return os.waitpid(child, 0)[1] != 0


def survivors_of(name: str, folder: Path) -> Iterator[str]:
    """Yield the faults of one file that its tests do not find, one line each."""
    tests = sorted(str(path) for pattern in TESTS[name] for path in (ROOT / "tests").glob(pattern))
    if not tests:
        raise SystemExit(f"{name}: no tests")
    target = folder / "shiftmetrics" / name
    source = target.read_text()
    # The compiled file would be taken for that of a mutant of the same size.
    Path(importlib.util.cache_from_source(str(target))).unlink()
    if is_found(tests):
        raise SystemExit(f"{name}: its tests fail without any fault")
    n_mutants = 0
    n_alive = 0
    for old, new, text in mutants_of(source):
        n_mutants += 1
        target.write_text(text)
        if not is_found(tests):
            n_alive += 1
            yield f"{name}: {old}  ->  {new}"
    target.write_text(source)
    print(f"{name}: {n_mutants} mutants, {n_alive} not found", file=sys.stderr, flush=True)


def main() -> int:
    """Run the mutants of the named files, or of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="FILE")
    options = parser.parse_args()
    known = set(SURVIVORS.read_text().splitlines())
    n_new = 0
    sys.dont_write_bytecode = True
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        shutil.copytree(PACKAGE, folder / "shiftmetrics")
        compileall.compile_dir(folder, quiet=1)
        sys.path[:0] = [str(folder), str(ROOT / "lab" / "src"), str(ROOT / "tests")]
        for name in options.names or TESTS:
            for survivor in survivors_of(name, folder):
                if survivor not in known:
                    n_new += 1
                    print(survivor, flush=True)
    return int(n_new > 0)


if __name__ == "__main__":
    sys.exit(main())
