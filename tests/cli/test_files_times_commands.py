"""Files times commands: every kind of file is read alike by every command, and refused alike."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.register import READERS
from table_examples import is_installed

CLASSES = ["cat", "dog", "eel"]
N = 40


def _csv(**options):
    return lambda frame, path: frame.to_csv(path, index=False, **options)


TEXTS = {
    "tabs.tsv": _csv(sep="\t"),
    "semicolons and decimal commas.csv": _csv(sep=";", decimal=","),
    "bars.txt": _csv(sep="|"),
    "UTF-16.csv": _csv(encoding="utf-16"),
    "byte order mark.csv": _csv(encoding="utf-8-sig"),
    "index.csv": lambda frame, path: frame.to_csv(path),
    "packed.csv.gz": _csv(),
    "nested.jsonl": lambda frame, path: path.write_text(
        "\n".join(
            json.dumps({"image_id": int(row["image_id"]), "probabilities": dict(row[CLASSES])})
            for _, row in frame.iterrows()
        )
    ),
}
"""Dialects of text, by what their file is called."""

WRITERS = {f"{reader.name}{reader.suffixes[0]}": reader for reader in READERS if reader.write}
KINDS = [*WRITERS, *TEXTS]

COMMANDS = {
    "diff": "diff {old} {new}",
    "agreement": "agreement {new} {old}",
    "compare": "compare old={old} new={new} --reference {old} --resamples 40",
    "curves": "curves 1={new} --reference {old}",
}


@pytest.fixture(scope="module")
def models() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the probabilities of two models; the rows of the second one come in another order."""
    rng = np.random.default_rng(3)
    ids = rng.permutation(900)[:N]
    old = rng.dirichlet([1.0, 1.0, 1.0], N)
    new = 0.7 * old + 0.3 * rng.dirichlet([1.0, 1.0, 1.0], N)
    frames = [pd.DataFrame(part, columns=CLASSES).round(6) for part in (old, new)]
    for frame in frames:
        frame["eel"] = (1.0 - frame["cat"] - frame["dog"]).round(6)
        frame.insert(0, "image_id", ids)
    return frames[0], frames[1].iloc[rng.permutation(N)].reset_index(drop=True)


def n_changed(models: tuple[pd.DataFrame, pd.DataFrame]) -> int:
    """Count the changed answers, row by row."""
    answers = [
        {row["image_id"]: max(CLASSES, key=lambda name: row[name]) for _, row in frame.iterrows()}
        for frame in models
    ]
    return sum(answers[0][key] != answers[1][key] for key in answers[0])


def written(kind: str, frame: pd.DataFrame, name: str, folder: Path) -> Path:
    """Write a table as a file of a kind."""
    if kind in TEXTS:
        path = folder / f"{name}{''.join(Path(kind).suffixes)}"
        TEXTS[kind](frame, path)
        return path
    reader = WRITERS[kind]
    if not is_installed(reader):
        pytest.skip(f"the package of {reader.name} is missing")
    path = folder / f"{name}{reader.suffixes[0]}"
    reader.write(frame, path)
    return path


@pytest.fixture(params=KINDS)
def files(request, models, tmp_path) -> dict[str, Path]:
    """Write the predictions of both models as files of one kind."""
    names = ("old", "new")
    return {
        name: written(request.param, frame, name, tmp_path)
        for name, frame in zip(names, models, strict=True)
    }


def typed(command: str, files: dict[str, Path], *more: str) -> list[str]:
    """Return a command line; names of files may hold blanks."""
    words = [word.format(**files) for word in COMMANDS[command].split()]
    return [*words, *more]


def said_of(output: str) -> set[str]:
    """Return what was taken for what, whichever file is named first."""
    lines = [line for line in output.splitlines() if line.startswith("Read ")]
    return {line.partition(": ")[2] for line in lines}


def test_commands_read_alike(run, files, models, tmp_path):
    changed = n_changed(models)
    said = {}
    for command in COMMANDS:
        done = run(*typed(command, files, "--json", tmp_path / "out.json"))
        assert done.exit_code == 0, (command, done.output)
        said[command] = said_of(done.output)
        assert said[command] == said["diff"], command
        document = json.loads((tmp_path / "out.json").read_text())
        assert document["n_samples"] == N, command
        if command == "diff":
            assert f"{changed} of {N}" in done.output
        if command == "agreement":
            assert round(document["changes"]["disagreement"] * N) == changed
    (sentence,) = said["diff"]
    assert sentence.startswith("id ")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--id", "picture"], "--id picture must name a column of every file"),
        (["--columns", "cat,cow"], "--columns cat,cow must name columns of every file"),
        (["--label", "species"], "--label species must name a column of the files"),
        (["--exclude", "species"], "--exclude species must name a column of the files"),
        (["--reading", "no.toml"], "--reading must be an existing file, got 'no.toml'"),
        (["--labels", "no.csv"], "--labels must be an existing file, got 'no.csv'"),
    ],
)
def test_commands_refuse_alike(fails, models, tmp_path, monkeypatch, more, message):
    monkeypatch.chdir(tmp_path)
    for name, frame in zip(("old", "new"), models, strict=True):
        frame.to_csv(f"{name}.csv", index=False)
    files = {name: Path(f"{name}.csv") for name in ("old", "new")}
    for command in COMMANDS:
        assert message in fails(*typed(command, files, *more)), command


def test_a_saved_reading_holds_for_every_command(run, fails, models, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, frame in zip(("old", "new"), models, strict=True):
        frame.to_csv(f"{name}.csv", index=False)
    assert run("read", "new.csv", "old.csv", "--save", "reading.toml").exit_code == 0
    files = {name: Path(f"{name}.csv") for name in ("old", "new")}
    for command in ("diff", "agreement", "curves"):
        done = run(*typed(command, files, "--reading", "reading.toml"))
        assert done.exit_code == 0, (command, done.output)
    models[1].assign(latency=1.5).to_csv("new.csv", index=False)
    for command in ("diff", "agreement", "curves"):
        message = fails(*typed(command, files, "--reading", "reading.toml"))
        assert "new.csv has columns that --reading does not know: 'latency'" in message, command
    config = '[[agreement]]\nname = "a"\nshifted = "new.csv"\nreference = "old.csv"\nreading = "reading.toml"\n'
    Path("config.toml").write_text(config)
    assert "--reading does not know" in fails("run", "config.toml")
    models[1].to_csv("new.csv", index=False)
    assert run("run", "config.toml", "--dry-run").exit_code == 0
