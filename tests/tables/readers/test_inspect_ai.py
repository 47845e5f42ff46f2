"""Logs of inspect_ai, as the tool writes them."""

import math

import pytest

from evaluation_logs import (
    inspect_archive,
    inspect_json,
    inspect_log,
    inspect_sample,
    zstandard_archive,
)
from shiftmetrics.tables.content import UnreadableError
from shiftmetrics.tables.logs import LogCells
from shiftmetrics.tables.register import read_file

GRADES = ("C", "I", "P", "N")


def graded():
    return [
        inspect_sample(f"q{n}", {"match": grade, "partial": 0.25 * n})
        for n, grade in enumerate(GRADES)
    ]


def check_graded(log):
    assert isinstance(log, LogCells)
    # the score that the tool leads with comes first
    assert log.scores == ("partial", "match")
    frame = log.frame.sort_values("id")
    assert frame["match"].tolist() == [1.0, 0.0, 0.5, 0.0]
    assert frame["partial"].tolist() == [0.0, 0.25, 0.5, 0.75]
    assert not frame["failed"].any()


def test_grades_are_numbers_as_the_tool_counts_them(tmp_path):
    check_graded(read_file(inspect_json(tmp_path / "old.json", inspect_log(graded())), "OLD"))


def test_an_archive_is_read(tmp_path):
    check_graded(read_file(inspect_archive(tmp_path / "old.eval", inspect_log(graded())), "OLD"))


def test_members_packed_by_zstandard_are_read(tmp_path):
    pa = pytest.importorskip("pyarrow")

    def compress(data):
        return pa.compress(data, codec="zstd", asbytes=True)

    check_graded(
        read_file(zstandard_archive(tmp_path / "old.eval", inspect_log(graded()), compress), "OLD")
    )


def test_pyarrow_unpacks_without_other_packages(tmp_path, monkeypatch):
    pa = pytest.importorskip("pyarrow")
    import sys

    monkeypatch.setitem(sys.modules, "zstandard", None)

    def compress(data):
        return pa.compress(data, codec="zstd", asbytes=True)

    check_graded(
        read_file(zstandard_archive(tmp_path / "old.eval", inspect_log(graded()), compress), "OLD")
    )


def test_epochs_are_repeats(tmp_path):
    samples = [inspect_sample("q0", {"match": "C"}, epoch=epoch) for epoch in (1, 2)]
    log = read_file(inspect_json(tmp_path / "old.json", inspect_log(samples)), "OLD")
    assert log.says_repeats
    assert log.frame["repeat"].tolist() == [1, 2]


def test_an_error_is_no_wrong_answer(tmp_path):
    samples = [*graded(), inspect_sample("q9", {}, error=True)]
    log = read_file(inspect_json(tmp_path / "old.json", inspect_log(samples)), "OLD")
    assert log.frame["failed"].tolist() == [False] * 4 + [True]
    assert math.isnan(log.frame["match"][4])


def test_a_success_in_which_every_sample_failed_is_refused(tmp_path):
    samples = [inspect_sample(f"q{n}", {}, error=True) for n in range(3)]
    with pytest.raises(UnreadableError, match="all 3 samples failed"):
        read_file(inspect_json(tmp_path / "old.json", inspect_log(samples)), "OLD")


@pytest.mark.parametrize("status", ["cancelled", "error"])
def test_a_run_that_was_stopped_is_named(tmp_path, status):
    log = inspect_log(graded(), status=status, n=16)
    (warning,) = read_file(inspect_json(tmp_path / "old.json", log), "OLD").warnings
    assert status in warning
    assert "4 of 16" in warning


def test_an_archive_without_header_is_of_a_run_that_was_stopped(tmp_path):
    path = inspect_archive(tmp_path / "old.eval", inspect_log(graded(), n=16), has_header=False)
    (warning,) = read_file(path, "OLD").warnings
    assert "started" in warning
    assert "4 of 16" in warning


def test_a_scorer_of_several_values_gives_several_scores(tmp_path):
    samples = [
        inspect_sample(f"q{n}", {"judge": {"tone": 0.5, "ok": "C"}, "words": "good"})
        for n in range(3)
    ]
    log = read_file(inspect_json(tmp_path / "old.json", inspect_log(samples)), "OLD")
    assert set(log.scores) == {"judge.tone", "judge.ok"}
    assert "words" in log.notes[0]


def test_a_log_without_samples_is_refused(tmp_path):
    log = inspect_log([])
    with pytest.raises(UnreadableError, match="samples"):
        read_file(inspect_json(tmp_path / "old.json", log), "OLD")


def test_ids_of_messages_do_not_tell_questions_apart(tmp_path):
    logs = []
    for name in ("a", "b"):
        asked = [{"id": name, "role": "user", "content": "What is 1 plus 1?"}]
        samples = [inspect_sample("q0", {"match": "C"}, asked=asked)]
        logs.append(read_file(inspect_json(tmp_path / f"{name}.json", inspect_log(samples)), "OLD"))
    assert logs[0].frame["digest"][0] == logs[1].frame["digest"][0]


def test_a_truncated_log_is_refused(tmp_path):
    path = inspect_json(tmp_path / "old.json", inspect_log(graded()))
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(UnreadableError, match="cannot be read"):
        read_file(path, "OLD")
