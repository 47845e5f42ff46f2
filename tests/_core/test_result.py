"""The common part of results: reading sentences, JSON with and without a file, tables, notebooks."""

import dataclasses
import json
import math
import pickle
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftmetrics import posterior_agreement
from shiftmetrics._core.documents import SCHEMA_VERSION, write_document
from shiftmetrics._core.record import Record, decode, encode_value
from shiftmetrics._core.result import (
    Interval,
    Result,
    Status,
    format_number,
    format_percent,
    plain_figure,
    settings_of,
)


class Ending:
    """How a sample of a solver ended."""

    CONVERGED = Status("converged", "The bound was reached.")
    FAILED = Status("failed", "No <progress> & no hope.", "Allow more steps.", ok=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class Cluster(Record):
    name: str
    members: Any = field(default_factory=lambda: np.arange(3))


@dataclass(frozen=True, eq=False, kw_only=True)
class Length(Result):
    measure = "distance"
    title = "Length <from> a & b"
    unit = "nats"
    higher_is_better = False

    status: Status = Ending.CONVERGED
    curve: Any = None
    clusters: tuple[Cluster, ...] = ()


def distance(**fields: Any) -> Length:
    return Length(
        **{
            "value": 0.25,
            "error_bound": 1e-9,
            "n_samples": 3,
            "interval": Interval(low=0.2, high=math.inf, method="bootstrap"),
            "settings": settings_of(theta1=math.inf, rng=0, columns=["a", "b"]),
            "warnings": ("One column is constant. Drop it.",),
            "curve": np.array([[0.0, np.inf], [-np.inf, np.nan]]),
            "clusters": (Cluster(name="inf"), Cluster(name="b", members=np.array(["x", "nan"]))),
            **fields,
        }
    )


# --- sentences -------------------------------------------------------------------------------------------


def test_the_summary_reads_from_the_value_to_the_warnings() -> None:
    result = distance(status=Ending.FAILED)
    lines = result.summary().splitlines()
    assert lines == [
        "Length <from> a & b: 0.25 nats.",
        "Status failed: No <progress> & no hope. Allow more steps.",
        "Warning: One column is constant. Drop it.",
        "Lower is better. The numerical error is at most 1.0e-09.",
        "Interval: [0.2, inf] (95 %).",
    ]
    assert str(result) == result.summary()


def test_a_plain_result_says_no_more_than_it_knows() -> None:
    result = Length(value=1.0, error_bound=0.0, n_samples=1)
    assert len(result.summary().splitlines()) == 2


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.0, "0"), (0.123456, "0.1235"), (-2.0, "-2"), (123456.0, "123,456"), (9999.7, "10,000"), (1e-7, "1.000e-07"),
     (1e9, "1.000e+09"), (math.inf, "inf"), (-math.inf, "-inf"), (math.nan, "nan")],
)  # fmt: skip
def test_numbers_are_short(number: float, text: str) -> None:
    assert format_number(number) == text


def test_settings_carry_the_versions() -> None:
    settings = settings_of(eta=1.0, rng=7)
    assert settings["eta"] == 1.0
    assert set(settings["versions"]) == {"shiftmetrics", "numpy", "python"}


# --- JSON ------------------------------------------------------------------------------------------------


def test_json_text_round_trips() -> None:
    result = distance()
    text = result.to_json()
    document = json.loads(text)
    assert document["schema_version"] == SCHEMA_VERSION
    assert document["measure"] == "distance"
    assert document["higher_is_better"] is False
    assert document["status"]["cause"] == Ending.CONVERGED.cause
    assert document["settings"]["theta1"] == "inf"
    assert document["curve"]["array"] == [0.0, "inf", "-inf", "nan"]
    assert not re.search(r"\bNaN\b|\bInfinity\b", text)
    back = Length.from_json(text)
    assert back.equals(result)
    assert back.status == Ending.CONVERGED
    assert back.curve.dtype == np.float64
    assert not back.curve.flags.writeable
    assert Result.from_json(text).equals(result)


def test_a_file_keeps_its_arrays_beside_it(tmp_path) -> None:
    result = distance()
    text = result.to_json(tmp_path / "distance.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["distance.json", "distance.npz"]
    assert (tmp_path / "distance.json").read_text() == text + "\n"
    with np.load(tmp_path / "distance.npz", allow_pickle=False) as arrays:
        assert set(arrays.files) == {"curve", "clusters.0.members", "clusters.1.members"}
    for source in (tmp_path / "distance.json", str(tmp_path / "distance.json")):
        assert Length.from_json(source).equals(result)


def test_a_result_without_arrays_needs_no_second_file(tmp_path) -> None:
    result = distance(curve=None, clusters=())
    result.to_json(tmp_path / "a.json")
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    assert Length.from_json(tmp_path / "a.json").equals(result)


@pytest.mark.parametrize(
    "value", [math.inf, -math.inf, math.nan, 1 / 3, 5e-324, 1.7976931348623157e308]
)
def test_every_double_comes_back_exactly(value: float, tmp_path) -> None:
    result = distance(value=value, curve=np.array([value]))
    assert Length.from_json(result.to_json()).equals(result)
    result.to_json(tmp_path / "a.json")
    assert Length.from_json(tmp_path / "a.json").equals(result)


# --- what can be wrong with a file -----------------------------------------------------------------------


def test_an_archive_of_someone_else_is_not_replaced(tmp_path) -> None:
    np.savez(tmp_path / "runs.npz", scores=np.zeros(3))
    before = (tmp_path / "runs.npz").read_bytes()
    with pytest.raises(
        ValueError, match=r"path must be .*do not replace .*runs\.npz.*got .*runs\.json"
    ):
        write_document({}, {"values": np.arange(3.0)}, tmp_path / "runs.json")
    assert (tmp_path / "runs.npz").read_bytes() == before
    assert not (tmp_path / "runs.json").exists()
    write_document({}, {"values": np.arange(3.0)}, tmp_path / "other.json")
    write_document(
        {}, {"values": np.arange(4.0)}, tmp_path / "other.json"
    )  # one's own may be written again
    assert np.load(tmp_path / "other.npz")["values"].shape == (4,)


def test_a_json_without_arrays_owns_no_archive(tmp_path) -> None:
    write_document({}, {}, tmp_path / "runs.json")
    np.savez(tmp_path / "runs.npz", scores=np.zeros(3))
    with pytest.raises(ValueError, match=r"do not replace .*runs\.npz"):
        write_document({}, {"values": np.arange(3.0)}, tmp_path / "runs.json")
    write_document({}, {}, tmp_path / "runs.json")
    assert np.load(tmp_path / "runs.npz").files == ["scores"]
    write_document({}, {"values": np.arange(3.0)}, tmp_path / "own.json")
    write_document({}, {}, tmp_path / "own.json")  # arrays of an earlier result would stay for ever
    assert not (tmp_path / "own.npz").exists()


def test_the_json_may_not_be_the_archive(tmp_path) -> None:
    with pytest.raises(ValueError, match=r"path must .*\.json, got .*a\.npz"):
        distance().to_json(tmp_path / "a.npz")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_named_and_nothing_is_written(tmp_path) -> None:
    with pytest.raises(ValueError, match="output folder must exist, got .*missing"):
        distance().to_json(tmp_path / "missing" / "a.json")
    assert list(tmp_path.iterdir()) == []


def test_missing_arrays_are_named(tmp_path) -> None:
    distance().to_json(tmp_path / "a.json")
    (tmp_path / "a.npz").unlink()
    with pytest.raises(
        ValueError,
        match=r"The array 'curve' must be in the .npz file beside the JSON, got .*a\.npz",
    ):
        Length.from_json(tmp_path / "a.json")
    with pytest.raises(
        ValueError, match="The array 'curve' must be in the .npz file beside the JSON, got None"
    ):
        Length.from_json(distance().to_json(tmp_path / "a.json"))


@pytest.mark.parametrize("damage", ["truncated", "of another result", "empty"])
def test_damaged_arrays_are_never_read(damage: str, tmp_path) -> None:
    distance().to_json(tmp_path / "a.json")
    content = (tmp_path / "a.npz").read_bytes()
    distance(curve=np.zeros((2, 2))).to_json(tmp_path / "b.json")
    wrong = {
        "truncated": content[:-9],
        "empty": b"",
        "of another result": (tmp_path / "b.npz").read_bytes(),
    }
    (tmp_path / "a.npz").write_bytes(wrong[damage])
    with pytest.raises(
        ValueError, match="must be those that were written with the JSON, got a damaged file"
    ):
        Length.from_json(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "source must be the JSON of a result, got a.json, not JSON"),
        (
            b'{"schema_version": 2, "ty',
            "source must be the JSON of a result, got a.json, not JSON",
        ),
        (
            b"\xff\xfe\x00binary",
            "source must be the JSON of a result, got a.json, not JSON",
        ),
        (b"[1, 2]", "without schema_version and type"),
        (b'{"value": 1}', "without schema_version and type"),
        (b'{"schema_version": 2, "type": "Lost"}', "JSON of a known result, got type 'Lost'"),
        (
            b'{"schema_version": 2, "type": "Interval", "low": 0, "high": 1}',
            "JSON of a known result, got type",
        ),
        (
            b'{"schema_version": 2, "type": "Length", "status": "converged"}',
            "JSON of a Length must hold",
        ),
        (
            b'{"schema_version": 2, "type": "Length", "status": "lost", '
            b'"value": 1, "error_bound": 0, "n_samples": 1}',
            "Length must hold a whole status, got 'lost'",
        ),
        (
            b'{"schema_version": 1, "type": "Length"}',
            "schema_version 2, got 1. It was written by an earlier development version: compute it again.",
        ),
        (
            b'{"schema_version": 99, "type": "Length"}',
            "schema_version 2, got 99. Upgrade shiftmetrics",
        ),
        (b'{"schema_version": "one", "type": "Length"}', "schema_version 2, got 'one'"),
    ],
    ids=range(12),
)
def test_a_wrong_file_is_a_value_error(content: bytes, message: str, tmp_path) -> None:
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        Result.from_json(tmp_path / "a.json")


def test_a_missing_file_is_named(tmp_path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing\.json"):
        Result.from_json(tmp_path / "nothing.json")


def test_a_result_of_another_measure_is_refused() -> None:
    @dataclass(frozen=True, eq=False, kw_only=True)
    class Angle(Result):
        status: Status = Ending.CONVERGED

    with pytest.raises(ValueError, match="source must hold a Angle, got a Length"):
        Angle.from_json(distance().to_json())


# --- tables and notebooks --------------------------------------------------------------------------------


def test_rows_of_many_results_stack() -> None:
    import pandas as pd

    rows = pd.concat(
        [distance().to_frame(), distance(interval=None, status=Ending.FAILED).to_frame()]
    )
    assert rows["measure"].tolist() == ["distance", "distance"]
    assert rows["value"].tolist() == [0.25, 0.25]
    assert rows["status"].tolist() == ["converged", "failed"]
    assert rows["interval_low"].iloc[0] == 0.2
    assert rows["interval_high"].iloc[0] == math.inf
    assert rows["interval_low"].isna().iloc[1]
    assert "curve" not in rows
    assert "settings" not in rows


def test_the_notebook_view_escapes_what_users_wrote() -> None:
    html = distance(status=Ending.FAILED, warnings=("<script>alert(1)</script>",))._repr_html_()
    assert "<script>" not in html
    assert "<progress>" not in html
    assert "&lt;script&gt;" in html
    assert "Length &lt;from&gt; a &amp; b" in html
    assert "0.25 nats" in html
    assert "95 %: 0.2 to inf" in html
    assert "NO ANSWER" in html
    assert "MEASURED" not in html


# --- how a computation ended ----------------------------------------------------------------------------

STUCK = Status("stuck", "No progress.", "Allow more steps.", ok=False)


def test_a_status_says_cause_and_remedy() -> None:
    solved = Status("solved", "Solved.")
    assert (solved.ok, solved.remedy, solved.text) == (True, "", "Solved.")
    assert not STUCK.ok
    assert STUCK.text == "No progress. Allow more steps."
    assert str(STUCK) == STUCK.to_plain() == STUCK.code == "stuck"


def test_equal_parts_make_equal_statuses() -> None:
    assert Status("stuck", "No progress.", "Allow more steps.", ok=False) == STUCK
    assert dataclasses.replace(STUCK, remedy="") != STUCK
    assert {STUCK: 1}[pickle.loads(pickle.dumps(STUCK))] == 1


def test_it_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        STUCK.ok = True  # type: ignore[misc]


def test_json_holds_all_of_it() -> None:
    def no_array(*_: object) -> None:
        raise AssertionError

    text = json.dumps(encode_value(STUCK, no_array))
    assert json.loads(text) == {
        "type": "Status",
        "code": "stuck",
        "cause": "No progress.",
        "remedy": "Allow more steps.",
        "ok": False,
    }
    assert decode(json.loads(text), no_array) == STUCK


def test_arrays_of_a_result_are_counted_before_they_are_read(tmp_path, monkeypatch) -> None:
    result = posterior_agreement(np.ones((50_000, 2)), np.ones((50_000, 2)))
    result.to_json(tmp_path / "r.json")
    assert (
        tmp_path / "r.npz"
    ).stat().st_size < 20_000  # it unpacks to more than twenty times as much
    monkeypatch.setattr("shiftmetrics._core.options.available_memory", lambda: 400_000)
    with pytest.raises(MemoryError, match=r"r\.npz"):
        Result.from_json(tmp_path / "r.json")


@given(st.floats(-1e9, 1e9), st.integers(1, 4))
def test_plain_figures_are_near_and_have_no_exponent(value: float, digits: int) -> None:
    text = plain_figure(value, digits, sign="+")
    assert text[0] in "+-"
    said = float(text.replace(",", ""))
    assert said == pytest.approx(value, rel=0.51 * 10.0 ** (1 - digits))
    assert "e" not in text or abs(value) < 1e-3


def test_percentages_have_the_digits_that_were_asked_for() -> None:
    fractions = (0.0997, 0.1, 0.00998, 0.9997, 0.995, 0.27, 0.0042, -0.0997, 1.0 - 1e-13)
    said = ["10 %", "10 %", "1.0 %", "99.97 %", "99.5 %", "27 %", "0.42 %", "-10 %", "100 %"]
    assert [format_percent(fraction) for fraction in fractions] == said
