"""What leaves a command: no file of the user is lost, no escape sequence gets out, the exit code tells the truth."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shiftmetrics import posterior_agreement
from shiftmetrics._core.documents import write_results
from shiftmetrics._core.drawing import printable
from shiftmetrics._core.files import is_ours
from shiftmetrics._core.result import Result
from shiftmetrics.cli.inputs.sources import Source
from shiftmetrics.cli.outputs import check_outputs, roles_in_words
from shiftmetrics.rules import Rule, check_results
from shiftmetrics.stability import FixedLoss, stability_criterion

RULES = '[[rule]]\nname = "{name}"\nmeasure = "posterior_agreement"\nat_least = {bound}\n'
ESCAPE = "\x1b[31mowned\x07\x1b[2J"
RNG = np.random.default_rng(0)
REFERENCE = RNG.normal(size=(60, 3))
SCORES = REFERENCE + 0.5 * RNG.normal(size=(60, 3))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", SCORES)
    np.save("b.npy", REFERENCE)
    Path("rules.toml").write_text(RULES.format(name="floor", bound=0.0))
    posterior_agreement(SCORES, REFERENCE).to_json("a.json")
    return tmp_path


# --- files of the user -----------------------------------------------------------------------------------

FOREIGN = {
    "gate.py": "# gate for shiftmetrics\nprint('mine')\n",
    "README.md": "# Mine\n\nUses shiftmetrics.\n",
    "mine.json": '{"schema_version": 2, "results": []}',
    "other.json": '{"measure": "mine", "schema_version": 2, "arrays_sha256": ""}',
    "rules2.toml": RULES.format(name="shiftmetrics", bound=0.5),
    "page.html": "<!doctype html>\n<html><body>about shiftmetrics</body></html>\n",
    "tests.xml": '<?xml version="1.0"?>\n<testsuites name="shiftmetrics"></testsuites>\n',
}


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("option", ["--report", "--json", "--junit"])
def test_no_file_of_the_user_is_replaced(name, option, here, fails) -> None:
    Path(name).write_text(FOREIGN[name])
    command = ["agreement", "a.npy", "b.npy"]
    if option == "--junit":
        command = ["check", "a.json", "--rules", "rules.toml"]
    assert "did not write" in fails(*command, option, name)
    assert Path(name).read_text() == FOREIGN[name]


def test_a_file_of_another_kind_is_not_replaced(here, fails, run) -> None:
    assert (
        run(
            "check", "a.json", "--rules", "rules.toml", "--junit", "j.xml", "--report", "p.html"
        ).exit_code
        == 0
    )
    before = {name: Path(name).read_bytes() for name in ("a.json", "j.xml", "p.html")}
    for option, name in (("--report", "a.json"), ("--json", "p.html"), ("--report", "j.xml")):
        assert "did not write" in fails("agreement", "a.npy", "b.npy", option, name)
    assert {name: Path(name).read_bytes() for name in before} == before
    kinds = {"a.json": "json", "j.xml": "xml", "p.html": "html"}
    for name, kind in kinds.items():
        assert [k for k in ("json", "xml", "html", "toml") if is_ours(Path(name), k)] == [kind]
    assert (
        run(
            "check", "a.json", "--rules", "rules.toml", "--junit", "j.xml", "--report", "p.html"
        ).exit_code
        == 0
    )


def test_arrays_of_the_user_are_kept(here) -> None:
    """A JSON file of the user that happens to have our key does not make the archive beside it ours."""
    Path("x.json").write_text('{"arrays_sha256": "1"}')
    np.savez("x.npz", mine=np.ones(3))
    result = posterior_agreement(SCORES, REFERENCE)
    with pytest.raises(ValueError, match="which no JSON file goes with"):
        result.to_json("x.json")
    assert np.load("x.npz")["mine"].tolist() == [1.0, 1.0, 1.0]


# --- the exit code ---------------------------------------------------------------------------------------


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    line = line.replace("shiftmetrics", f"{sys.executable} -m shiftmetrics")
    return subprocess.run(line, shell=True, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="streams of POSIX")
@pytest.mark.parametrize("closed", ["2>&-", "2>&- >&-", "2>/dev/full"])
def test_exit_code_1_is_a_failed_rule_and_nothing_else(closed: str, here: Path) -> None:
    Path("strict.toml").write_text(RULES.format(name="ceiling", bound=50.0))
    Path("config.toml").write_text(
        '[[agreement]]\nname = "x"\nshifted = "none.npy"\nreference = "b.npy"\n'
    )
    expected = {
        "shiftmetrics agreement a.npy b.npy": 0,
        "shiftmetrics check a.json --rules rules.toml": 0,
        "shiftmetrics check a.json --rules strict.toml": 1,
        "shiftmetrics stability none.csv --threshold 0.5": 2,
        "shiftmetrics compare none.json a.json": 2,
        "shiftmetrics run config.toml": 2,
        "shiftmetrics nothing": 2,
    }
    found = {line: shell(f"{line} {closed}", here).returncode for line in expected}
    assert found == expected


# --- JSON on standard output -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="devices of POSIX")
@pytest.mark.parametrize("path", ["-", "/dev/stdout"])
@pytest.mark.parametrize("redirect", ["", "> out.txt"])
def test_json_on_standard_output_is_complete_and_alone(
    path: str, redirect: str, here: Path
) -> None:
    before = {entry.name for entry in here.iterdir()}
    done = shell(f"shiftmetrics agreement a.npy b.npy --json {path} {redirect}", here)
    assert (done.returncode, done.stderr) == (0, "")
    text = done.stdout
    if redirect:
        text = Path("out.txt").read_text()
    result = Result.from_json(text)
    assert result.equals(posterior_agreement(SCORES, REFERENCE)) or len(result.per_sample) == 60
    assert {entry.name for entry in here.iterdir()} - before <= {"out.txt"}
    checked = shell(f"shiftmetrics check a.json --rules rules.toml --json {path}", here)
    assert json.loads(checked.stdout)["exit_code"] == checked.returncode == 0


def test_several_results_on_standard_output_are_one_document(here, run) -> None:
    frames = {"a.csv": SCORES, "b.csv": REFERENCE}
    for name, values in frames.items():
        pd.DataFrame(values).assign(site=["x", "y"] * 30).to_csv(name, index=False)
    done = run("agreement", "a.npy", "b.npy", "--json", "-")
    document = json.loads(done.stdout)
    assert document["measure"] == "posterior_agreement"
    assert not Path("-").exists()


def test_only_json_goes_to_standard_output(here, fails) -> None:
    arguments = ["agreement", "a.npy", "b.npy"]
    for other in (["--report", "-"], ["--json", "-", "--report", "-"]):
        message = fails(*arguments, *other)
        assert "--report must be a file, got the standard output" in message
    assert not Path("-").exists()


# --- escape sequences ------------------------------------------------------------------------------------


def test_escape_sequences_of_files_stay_inside(here, run) -> None:
    name = json.dumps(ESCAPE)[1:-1]
    Path("rules.toml").write_text(RULES.format(name=name, bound=0.0))
    outputs = [run("check", "a.json", "--rules", "rules.toml").stdout]
    columns = [ESCAPE + "a", "b", "c"]
    pd.DataFrame(SCORES + 9.0, columns=columns).to_csv("new.csv", index=False)
    pd.DataFrame(REFERENCE, columns=columns).to_csv("old.csv", index=False)
    outputs.append(run("novelty", "new.csv", "old.csv").stdout)
    result = posterior_agreement(SCORES, REFERENCE, resampling=0.9)
    for stem in ("one", ESCAPE.replace("/", "")):
        result.to_json(f"{stem}.json")
    outputs.append(run("report", f"{ESCAPE}.json", "--output", "p.html").stdout)
    outputs.append(run("agreement", f"{ESCAPE}.npy", "b.npy").output)
    for text in outputs:
        assert text
        assert "\x1b" not in text
        assert "\x07" not in text
    assert "\\x1b[31mowned" in outputs[0]


@pytest.mark.parametrize(
    "name", ["a\nSAME  All is well.", "a\u2028SAME", "a\u202eb", "a\u061cb", "a" * 5000]
)
def test_names_of_classes_write_no_line_and_turn_none(name, here, run) -> None:
    """Neither on the terminal, nor in the Markdown, nor on the page, where a name would turn the words behind it."""
    for file, answers in (("old", [name, "b"] * 30), ("new", [name, "b"] * 28 + ["b", name] * 2)):
        pd.DataFrame({"id": range(60), "answer": answers}).to_csv(f"{file}.csv", index=False)
    done = run("diff", "old.csv", "new.csv", "--report", "p.html", "--markdown", "m.md")
    assert done.exit_code == 0, done.output
    assert not [line for line in done.stdout.split("\n") if line.startswith("SAME")]
    assert "Most frequent: " in done.stdout
    assert len(done.stdout) < 3000
    for text in (done.stdout, Path("m.md").read_text(), Path("p.html").read_text()):
        assert not {"\u2028", "\u202e", "\u061c"} & set(text)


def test_control_characters_are_made_visible() -> None:
    assert printable(f"a{ESCAPE}\tb\n\u202e\x9b") == "a\\x1b[31mowned\\x07\\x1b[2J\tb\n\\u202e\\x9b"
    warned = posterior_agreement(SCORES, REFERENCE)
    object.__setattr__(warned, "warnings", (ESCAPE,))
    assert "\x1b" not in warned.summary() + warned._repr_html_()


def test_figures_behind_the_answer_are_printed_on_request(run, folder):
    files = [f"{folder / 'runs.npz'}:{name}" for name in ("noisy", "clean")]
    brief = run("agreement", *files).stdout
    verbose = run("agreement", *files, "-v").stdout
    for words in ("beta = ", "numerical error", "log posterior agreement"):
        assert words in verbose
        assert words not in brief
    assert brief.splitlines()[0] == verbose.splitlines()[0]


@pytest.fixture(scope="module")
def result():
    return stability_criterion(FixedLoss(np.random.default_rng(0).random(30)), 0.7)


@pytest.fixture
def files(result, tmp_path):
    """A folder with a file of one result, one of two, rules that were checked, and JSON of others."""
    result.to_json(tmp_path / "single.json")
    write_results({"first": result, "second": result}, tmp_path / "both.json")
    check_results({"it": result}, [Rule(at_least=0)]).to_json(tmp_path / "gate.json")
    (tmp_path / "package.json").write_text('{"name": "other"}')
    (tmp_path / "list.json").write_text("[1, 2]")
    (tmp_path / "readme.txt").write_text("no JSON")
    return tmp_path


def test_outputs_must_not_harm(files):
    inputs = [Source(argument="RESULTS", path=files / "single.json")]
    for option, path, message in (
        ("--junit", files / "single.json", "would overwrite RESULTS, single.json"),
        ("--json", files / "x" / ".." / "single.json", "in a folder that exists"),
        ("--report", files, "must be a file, got the folder"),
        ("--junit", files / "nowhere" / "j.xml", "in a folder that exists"),
    ):
        with pytest.raises(ValueError, match=f"{option} .*{message}"):
            check_outputs({option: path}, inputs)
    with pytest.raises(ValueError, match="--junit and --json must be two files"):
        check_outputs({"--junit": files / "a", "--json": files / "a", "--report": None}, inputs)
    (files / "link.json").symlink_to(files / "single.json")
    with pytest.raises(ValueError, match="would overwrite"):
        check_outputs({"--json": files / "link.json"}, inputs)
    check_outputs({"--junit": files / "new.xml", "--json": None}, inputs)


def test_a_dash_writes_json_to_the_standard_output(run, folder, monkeypatch):
    monkeypatch.chdir(folder)
    command = ["stability", "distances.npy", "--distances", "0", "-r", "0.4"]
    one = run(*command, "--json", "-")
    assert one.exit_code == 0, one.output
    assert Result.from_json(one.stdout).base_risk >= 0.0
    assert not (folder / "-").exists()
    several = json.loads(run(*command, "--curve", "--json", "-").stdout)
    assert several["results"][0]["name"] == "distances.npy"
    assert len(several["results"]) == 2


def test_it_is_said_which_file_was_taken_for_which() -> None:
    def source(argument: str, name: str, key: str | None = None) -> Source:
        return Source(argument=argument, path=Path("there") / name, key=key)

    two = [source("REFERENCE", "a.csv"), source("CURRENT", "b.npz", "rows")]
    assert roles_in_words(two) == ["REFERENCE is a.csv, CURRENT is b.npz:rows."]
    assert roles_in_words([*two, source("--labels", "c.csv")]) == roles_in_words(two)
    parts = [source("PASSPORT", "p.json"), source("BATCH", "a.csv"), source("BATCH", "b.csv")]
    assert roles_in_words(parts) == ["PASSPORT is p.json, BATCH is 2 files."]
    # nothing could be confused
    assert roles_in_words(two[:1]) == []
    assert roles_in_words([source("SHIFTED", "a.csv"), source("--reference", "b.csv")]) == []


@pytest.mark.parametrize(
    ("command", "first"),
    [
        ("audit", "What was comes first"),
        ("diff", "The model in use comes first"),
        ("monitor", "What was known comes first"),
        ("novelty", "The sample under test comes first"),
        ("agreement", "The shifted sample comes first"),
    ],
)
def test_the_help_says_which_sample_comes_first(run, command: str, first: str) -> None:
    assert first in " ".join(run(command, "--help").output.split())


def test_an_answer_names_its_files_by_their_place(run, here: Path) -> None:
    for name, seed in (("before.npy", 0), ("after.npy", 1)):
        np.save(here / name, np.random.default_rng(seed).normal(size=(60, 3)))
    out = run("novelty", str(here / "after.npy"), str(here / "before.npy"))
    assert "TEST is after.npy, REFERENCE is before.npy." in " ".join(out.output.split())
