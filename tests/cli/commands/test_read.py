"""Readings as they are typed: what is said, what is kept, and what no longer fits."""

import pytest

import tool_logs


@pytest.fixture
def files(tmp_path):
    """Write predictions of two models for the same rows, and labels."""
    rows = [
        ("a", "cat", 0.9, 3.5),
        ("b", "dog", 0.2, 4.5),
        ("c", "cat", 0.7, 1.5),
        ("d", "dog", 0.4, 9.5),
    ]
    for name, shift in (("old", 0.0), ("new", 0.25)):
        lines = ["image_id,cat,dog,latency_ms"]
        for key, _, p, latency in rows:
            score = min(p + shift, 1.0)
            lines.append(f"{key},{score:.2f},{1 - score:.2f},{latency + shift}")
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    lines = ["image_id,label", *(f"{key},{word}" for key, word, _, _ in rows)]
    (tmp_path / "labels.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def typed(files):
    return [files / "old.csv", files / "new.csv", "--labels", files / "labels.csv"]


def test_it_says_what_was_taken_for_what(run, files):
    result = run("read", *typed(files))
    assert result.exit_code == 0
    said = " ".join(result.output.split())
    assert "Read old.csv and new.csv: id image_id, classes cat, dog; left out latency_ms." in said
    assert "old.csv: 4 rows, 4 columns." in said


def test_a_reading_that_is_kept_is_read_alike(run, files):
    path = files / "reading.toml"
    first = run("read", *typed(files), "--save", path)
    assert first.exit_code == 0
    again = run("read", *typed(files), "--reading", path)
    assert again.exit_code == 0
    sentences = [line for line in again.output.splitlines() if line.startswith("Read ")]
    assert sentences
    assert all(line in first.output for line in sentences)


def test_a_file_that_no_longer_fits_is_refused(run, fails, files):
    path = files / "reading.toml"
    run("read", *typed(files), "--save", path)
    new = files / "new.csv"
    new.write_text(new.read_text().replace("dog", "hound"))
    message = fails("read", *typed(files), "--reading", path)
    assert "new.csv" in message
    assert "dog" in message


def test_of_another_table_the_kinds_are_said(run, files):
    path = files / "orders.csv"
    path.write_text(
        "when,code,amount\n2024-05-01,007,1.5\n2024-05-02,120,2.5\n2024-05-03,033,2.25\n"
    )
    result = run("read", path)
    assert result.exit_code == 0
    assert "date when" in result.output
    assert "code code" in result.output
    assert "number amount" in result.output


def test_two_readings_are_asked_for(fails, files):
    for name in ("old", "new"):
        (files / f"{name}.csv").write_text("0\n1\n0\n1\n1\n")
    message = fails("read", files / "old.csv", files / "new.csv")
    assert "--header names" in message
    assert "--header none" in message


def test_what_is_no_file_is_refused(fails, files):
    assert "which is not there" in fails("read", files / "none.csv")
    (files / "page.csv").write_text("<!DOCTYPE html><html></html>")
    assert "an HTML or XML document" in fails("read", files / "page.csv")


@pytest.mark.parametrize(
    "text", ["mine = 1\n", "schema = 1\n", "[[rule]]\n", "x = " + "[" * 3000 + "]" * 3000]
)
def test_what_is_no_reading_is_not_replaced(text, files, fails):
    """Such as the configuration of a run, or its rules, which have the same ending."""
    path = files / "config.toml"
    path.write_text(text)
    assert "--save must be a new file or a reading" in fails("read", *typed(files), "--save", path)
    assert path.read_text() == text
    assert "--reading must name a file that" in fails("read", *typed(files)[:2], "--reading", path)


@pytest.mark.parametrize("command", ["compare", "agreement"])
def test_logs_are_no_predictions(command, run, fails, tmp_path):
    paths = []
    for name, scores in (("old", [1.0, 0.0, 1.0]), ("new", [1.0, 1.0, 0.0])):
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_bytes(tool_logs.deepeval(scores))
    message = fails(command, *paths)
    assert "a log of DeepEval in old.json" in message
    assert "`shiftmetrics diff OLD NEW`" in message
    assert run("diff", *paths).exit_code == 0
