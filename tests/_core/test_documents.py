import errno
import json
from pathlib import Path

import numpy as np
import pytest

from shiftmetrics._core.documents import read_results, write_results
from shiftmetrics.agreement import posterior_agreement
from shiftmetrics.stability import FixedLoss, ZeroOneLoss, stability_criterion

RNG = np.random.default_rng(0)


@pytest.fixture
def results():
    scores = RNG.normal(size=(30, 3))
    return {
        "mild": posterior_agreement(scores, scores + 0.1),
        "out of reach": stability_criterion(FixedLoss(RNG.random(20)), 2.0),
        "0/1 ü": stability_criterion(ZeroOneLoss(RNG.random(25)), 0.2),
    }


def test_results_come_back_under_their_names_in_their_order(results, tmp_path):
    write_results(results, tmp_path / "all.json")
    back = read_results(tmp_path / "all.json")
    assert list(back) == list(results)
    for name, result in results.items():
        assert back[name].equals(result), name
    document = json.loads((tmp_path / "all.json").read_text())
    assert document["results"][1]["value"] == "inf"
    assert document["results"][0]["measure"] == "posterior_agreement"


def test_a_full_disk_leaves_no_arrays_without_their_result(results, tmp_path, monkeypatch):
    def full(self, *_, **__):
        raise OSError(errno.ENOSPC, "No space left on device", str(self))

    results["mild"].to_json(tmp_path / "old.json")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setattr(Path, "write_text", full)
    for name in ("new.json", "old.json"):
        with pytest.raises(OSError, match="No space left"):
            results["0/1 ü"].to_json(tmp_path / name)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_single_result_reads_as_a_collection_of_one(results, tmp_path):
    results["mild"].to_json(tmp_path / "one.json")
    back = read_results(tmp_path / "one.json")
    assert list(back) == ["Posterior agreement"]
    assert back["Posterior agreement"].equals(results["mild"])


def test_arrays_of_another_run_are_noticed(results, tmp_path):
    write_results(results, tmp_path / "all.json")
    np.savez(tmp_path / "all.npz", other=np.zeros(3))
    with pytest.raises(ValueError, match="damaged file or one of another result"):
        read_results(tmp_path / "all.json")


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[1]", b'{"schema_version": 2}'])
def test_what_is_no_result_is_refused(content, tmp_path):
    (tmp_path / "bad.json").write_bytes(content)
    with pytest.raises(ValueError, match="JSON"):
        read_results(tmp_path / "bad.json")


def test_a_later_schema_is_refused(results, tmp_path):
    write_results(results, tmp_path / "all.json")
    document = json.loads((tmp_path / "all.json").read_text())
    (tmp_path / "all.json").write_text(json.dumps({**document, "schema_version": 99}))
    with pytest.raises(ValueError, match="schema_version 2, got 99"):
        read_results(tmp_path / "all.json")


@pytest.mark.parametrize(
    "text",
    [
        '{"schema_version": 2, "results": [3]}',
        '{"schema_version": 2, "results": [{"type": "StabilityResult"}]}',
        '{"schema_version": 2, "results": 3}',
    ],
)
def test_a_file_with_missing_parts_is_refused(text, tmp_path):
    (tmp_path / "results.json").write_text(text)
    with pytest.raises(ValueError, match=r"results\.json.* where a part is missing or damaged"):
        read_results(tmp_path / "results.json")


def test_an_archive_that_is_none_is_refused_where_no_digest_tells(tmp_path):
    (tmp_path / "results.npz").write_bytes(b"PK\x03\x04 and nothing more")
    (tmp_path / "results.json").write_text(
        '{"schema_version": 2, "results": [{"name": "a", "type": "A"}]}'
    )
    with pytest.raises(ValueError, match=r"results\.json.* where a part is missing or damaged"):
        read_results(tmp_path / "results.json")
