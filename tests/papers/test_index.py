"""Every numbered figure and table of the documents stands in the index, and on the page, exactly once."""

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from _cache import sources
from _experiment import source_of
from index import DOCUMENTS, ENTRIES, ERRATA, FOLDER, REMARKS
from run import families, missing_folders, seconds

ROOT = FOLDER.parent
SELECTION = [f"5.{n}" for n in range(1, 13)]
APPENDIX = [f"B.{n}" for n in range(1, 5)] + [f"C.{n}" for n in range(1, 7)]
NUMBERED = {
    ("preprint", "figure"): range(1, 14),
    ("preprint", "table"): range(1, 4),
    ("paper", "figure"): range(1, 19),
    ("paper", "table"): range(1, 4),
    ("paper", "section"): [
        2,
        "4.1",
    ],  # clustering, and attacks on CIFAR-10: without a figure of their own
    ("thesis", "figure"): [
        *(f"1.{n}" for n in range(1, 9)),
        "2.1",
        "2.2",
        *(f"4.{n}" for n in range(1, 18)),
        "5.1",
        "5.2",
        *(f"B.{n}" for n in range(1, 16)),
    ],
    ("thesis", "table"): [*(f"4.{n}" for n in range(1, 11)), *SELECTION, *APPENDIX],
    ("stability", "figure"): range(1, 10),
    ("stability", "section"): ["4.1"],  # what the text says beside figures 6 and 7
    ("novelty", "section"): ["4.1"],  # the interpretation as an entropy
    ("novelty", "figure"): range(1, 13),
    ("novelty", "table"): range(1, 6),
}


def test_every_figure_and_table_stands_in_the_index_once() -> None:
    printed = sorted(
        f"{document} {kind} {n}" for (document, kind), ns in NUMBERED.items() for n in ns
    )
    assert sorted(itertools.chain.from_iterable(entry.labels for entry in ENTRIES)) == printed


def test_every_entry_has_an_experiment_or_a_reason() -> None:
    assert all(bool(entry.script) != bool(entry.reason) for entry in ENTRIES)


def test_every_experiment_says_its_size() -> None:
    assert all(bool(entry.size) == bool(entry.script) for entry in ENTRIES)


def test_every_experiment_stands_in_the_index() -> None:
    scripts = {path.stem for path in FOLDER.glob("[!_]*.py")} - {"index", "page", "run"}
    assert scripts <= {entry.script for entry in ENTRIES}


def test_experiments_are_short() -> None:
    for entry in ENTRIES:
        if entry.script:
            text = (FOLDER / f"{entry.script}.py").read_text(encoding="utf-8")
            assert len(text.splitlines()) <= 170, entry.script


def test_what_shows_an_error_exists() -> None:
    scripts = {entry.script for entry in ENTRIES}
    for error in ERRATA:
        assert error.document in DOCUMENTS
        if error.shown_by != "itself":
            assert error.shown_by in scripts or (ROOT / error.shown_by).is_file(), error.shown_by


def test_every_label_stands_on_one_page_once() -> None:
    pages = (ROOT / "docs").glob("reproduction_*.md")
    page = "\n".join(path.read_text(encoding="utf-8") for path in pages)
    shown = [
        label for line in re.findall(r"^\*(.+)\.\*$", page, re.M) for label in line.split("; ")
    ]
    assert sorted(shown) == sorted(
        f"{document}, {kind} {number}"
        for document, kind, number in (label.split() for entry in ENTRIES for label in entry.labels)
    )


def test_every_result_was_computed_by_the_script_beside_it() -> None:
    for kept in sorted((FOLDER / "results").glob("[!.]*.json")):
        record = json.loads(kept.read_text(encoding="utf-8"))
        assert record["source"] == source_of(FOLDER / f"{kept.stem}.py"), kept.stem


def test_more_seeds_and_another_drawing_keep_the_runs_there_are(tmp_path: Path) -> None:
    texts = (
        "def measure(seed):\n    return seed\n\n\ndef draw(runs):\n    return 1\n\n\nif True:\n    run(3)\n",
        "def measure(seed):\n    return seed\n\n\ndef draw(runs):\n    return 2\n\n\nif True:\n    run(10)\n",
        "def measure(seed):\n    return seed + 1\n\n\ndef draw(runs):\n    return 1\n\n\nif True:\n    run(3)\n",
    )
    sources = []
    for text in texts:
        (tmp_path / "script.py").write_text(text, encoding="utf-8")
        sources.append(source_of(tmp_path / "script.py"))
    assert sources[0] == sources[1] != sources[2]


def script(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_the_pages_are_built_from_the_kept_results() -> None:
    assert script("papers/page.py", "--check").stdout == "up to date\n"


def test_remarks_are_about_claims_that_exist() -> None:
    allowed = {"main", "printed", "why", "kind", "untestable", "was", "changed", "sentence"}
    allowed |= {"size", "source"}
    for name, remarks in REMARKS.items():
        kept = json.loads((FOLDER / "results" / f"{name}.json").read_text(encoding="utf-8"))
        assert set(remarks) <= set(kept["claims"]), name
        for remark in remarks.values():
            assert set(remark) <= allowed
            assert remark.get("kind", "ours") in ("check", "ours")
            assert ("was" in remark) == ("changed" in remark)


def test_what_does_not_hold_or_is_undecided_has_a_reason() -> None:
    for kept in sorted((FOLDER / "results").glob("[!.]*.json")):
        remarks = REMARKS.get(kept.stem, {})
        for key, claim in json.loads(kept.read_text(encoding="utf-8"))["claims"].items():
            if claim["verdict"] != "holds":
                assert {"why", "untestable"} & set(remarks.get(key, {})), (kept.stem, key)


def test_a_cache_follows_what_a_script_imports() -> None:
    names = {path.name for path in sources(FOLDER / "_selection.py")}
    assert {"_selection.py", "_factor_models.py", "fit.py", "designs.py"} <= names
    assert not {"_digit_models.py", "_pictures.py", "page.py"} & names


def test_missing_data_folders_are_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHIFTMETRICS_DATA", raising=False)
    assert missing_folders(["selection_overlap", "together"]) == [
        "acs_employment_ma_2015_2018",
        "mnist_test",
    ]
    assert missing_folders(["agreement_classifiers"]) == []


@pytest.mark.slow
def test_an_unknown_experiment_lists_those_there_are() -> None:
    ended = script("papers/run.py", "agreement_noyse")
    assert ended.returncode == 2
    assert "Did you mean 'agreement_noise'?" in ended.stderr
    assert "novelty_mixtures" in ended.stderr


def test_what_shares_networks_runs_one_after_the_other() -> None:
    found = families(["attacks_pgd", "shift_factors", "attacks_fmn", "together"])
    assert sorted(found) == [["attacks_pgd", "attacks_fmn"], ["shift_factors"], ["together"]]
    took = [sum(map(seconds, family)) for family in found]
    assert took == sorted(took, reverse=True)


EXISTING = sorted({entry.script for entry in ENTRIES if (FOLDER / f"{entry.script}.py").is_file()})


LONG = 100
"""Seconds of the full form: the quick form of such an experiment takes a minute too."""


@pytest.mark.slow
@pytest.mark.parametrize("name", EXISTING)
def test_the_quick_form_of_every_experiment_runs(name: str, tmp_path: Path) -> None:
    # One seed where a second one takes long: what it says of two seeds is said by all the others.
    seeds = "1" if name == "selection_beta" or seconds(name) > LONG else "2"
    ended = script(f"papers/{name}.py", "--quick", "--seeds", seeds, "--again")
    assert ended.returncode in (0, 3), ended.stderr
    if ended.returncode == 3:
        pytest.skip(ended.stdout.strip())
