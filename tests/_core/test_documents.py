import errno
import hashlib
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from shiftmetrics._core.documents import read_results, write_results
from shiftmetrics._core.result import Result
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


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: "[" * 100_000 + "]" * 100_000, "nested too deeply"),
        (
            lambda text: text.replace('"n_samples": 30', '"n_samples": ' + "9" * 5000),
            "a number that no result has",
        ),
        (
            lambda text: text.replace('"n_samples": 30', '"n_samples": Infinity'),
            "a number that no result has",
        ),
        (
            lambda text: text.replace('"n_samples": 30', '"n_samples": NaN'),
            "a number that no result has",
        ),
    ],
)
def test_numbers_and_depths_that_no_result_has_are_refused(change, words, results, tmp_path):
    path = tmp_path / "one.json"
    text = results["mild"].to_json()
    path.write_text(change(text))
    assert path.read_text() != text
    for read in (Result.from_json, read_results):
        with pytest.raises(ValueError, match=words) as caught:
            read(path)
        assert "sys." not in str(caught.value)


def test_a_name_that_stands_twice_is_refused(results, tmp_path):
    """The second would hide the first one from the rules of a release."""
    path = tmp_path / "all.json"
    document = json.loads(write_results(results))
    document["results"].append(document["results"][0])
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match="'mild' stands twice"):
        read_results(path)


@pytest.mark.parametrize("digest", ["../../../../etc/x", "0" * 64, "", 3])
def test_a_digest_is_no_path(digest, results, tmp_path):
    path = tmp_path / "one.json"
    results["mild"].to_json(path)
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "arrays_sha256": digest}))
    with pytest.raises(ValueError, match="damaged file or one of another result"):
        read_results(path)


def test_damaged_arrays_are_told_in_our_words(results, tmp_path):
    """Whole as an archive, and with the digest of the JSON; an array in it is shorter than it says."""
    path = tmp_path / "one.json"
    results["mild"].to_json(path)
    with zipfile.ZipFile(path.with_suffix(".npz"), "w") as archive:
        archive.writestr("a.npy", array_bytes(np.zeros(9))[:-8])
    content = path.with_suffix(".npz").read_bytes()
    document = json.loads(path.read_text())
    digest = hashlib.sha256(content).hexdigest()
    path.write_text(json.dumps({**document, "arrays_sha256": digest}))
    with pytest.raises(ValueError, match=r"The arrays in .* must be whole, got damaged ones"):
        read_results(path)


def array_bytes(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()
