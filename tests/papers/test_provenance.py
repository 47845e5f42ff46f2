"""Kept results say which sources made them, and the tests say which are older than the measure they use."""

import json
import re
from pathlib import Path

import _provenance
import pytest
from _provenance import code_of, older, parts, stamp
from index import ENTRIES, FOLDER

SCRIPTS = sorted({entry.script for entry in ENTRIES if entry.script})


def record(name: str) -> dict:
    return json.loads((FOLDER / "results" / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_result_says_by_which_sources_it_was_made(name: str) -> None:
    kept = record(name)
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", kept["version"])
    assert re.fullmatch(r"[0-9a-f]{10}", kept["commit"]), (
        "computed with sources that were committed"
    )
    assert isinstance(kept["parts"], dict)


def minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def test_results_older_than_their_measure_are_named() -> None:
    """A measure may change within a version before all results follow; a version has results of its own."""
    stale = {}
    for name in SCRIPTS:
        if changed := older(record(name), FOLDER / f"{name}.py"):
            stale[name] = changed
    present = minor(stamp(FOLDER / "agreement_noise.py")["version"])
    late = [name for name in stale if minor(record(name)["version"]) != present]
    assert not late, f"of another version: python papers/run.py --older; {late}"
    if stale:
        names = "; ".join(f"{name} ({', '.join(changed)})" for name, changed in stale.items())
        pytest.skip(f"older than the measure they use: {names}")


def test_a_result_is_older_than_a_part_whose_code_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, papers = tmp_path / "shiftmetrics", tmp_path / "papers"
    measure = library / "stability"
    measure.mkdir(parents=True)
    papers.mkdir()
    monkeypatch.setattr(_provenance, "FOLDER", papers)
    monkeypatch.setattr(_provenance, "ROOTS", {"shiftmetrics": library})
    (library / "__init__.py").write_text(
        "if TYPE_CHECKING:\n    from shiftmetrics.stability import value\n", encoding="utf-8"
    )
    (measure / "__init__.py").write_text(
        "from shiftmetrics.stability.solve import value\n", encoding="utf-8"
    )
    script = papers / "figure.py"
    script.write_text("from shiftmetrics import value\n", encoding="utf-8")

    def made(solve: str) -> dict:
        (measure / "solve.py").write_text(solve, encoding="utf-8")
        for function in (parts, code_of, _provenance._imports, _provenance._homes):
            function.cache_clear()
        return {"parts": parts(script)}

    first = made("def value():\n    return 1\n")
    assert list(first["parts"]) == ["shiftmetrics/stability"]
    made('# A comment.\ndef value():\n    """Words."""\n    return (1)\n')
    assert older(first, script) == []
    made("def value():\n    return 2\n")
    assert older(first, script) == ["shiftmetrics/stability"]
    assert older({"parts": {}}, script) == ["shiftmetrics/stability"]


def test_an_experiment_uses_its_measure_and_what_it_imports_itself() -> None:
    assert set(parts(FOLDER / "agreement_classifiers.py")) == {
        "shiftmetrics/agreement",
        "shiftmetrics_lab/published",
    }
    assert {"papers", "shiftmetrics/models", "shiftmetrics/stability"} <= set(
        parts(FOLDER / "stability_training.py")
    )
