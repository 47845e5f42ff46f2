"""Downloads resume, are checked, and never stand half-finished under their name."""

import hashlib

import numpy as np
import pytest

from shiftmetrics_lab.datasets.download import download

CONTENT = np.random.default_rng(0).bytes(3_000_000)
SHA = "sha256:" + hashlib.sha256(CONTENT).hexdigest()
MD5 = "md5:" + hashlib.md5(CONTENT, usedforsecurity=False).hexdigest()


@pytest.mark.parametrize("checksum", [SHA, MD5, SHA[:7] + SHA[7:].upper()])
def test_a_file_arrives_whole_and_is_not_fetched_twice(server, tmp_path, checksum):
    server.files["/a"] = CONTENT
    target = tmp_path / "new" / "a"
    for _ in range(2):
        assert download(server.url + "/a", target, checksum=checksum, progress=False) == target
    assert target.read_bytes() == CONTENT
    assert len(server.requests) == 1
    assert sorted(file.name for file in target.parent.iterdir()) == ["a"]


def test_a_broken_download_is_resumed_where_it_stopped(server, tmp_path):
    server.files["/a"], server.break_after = CONTENT, [1_000_000, 500_000]
    download(server.url + "/a", tmp_path / "a", checksum=SHA, progress=False)
    assert (tmp_path / "a").read_bytes() == CONTENT
    assert [asked for _, asked in server.requests] == [None, "bytes=1000000-", "bytes=1500000-"]


def test_what_arrived_is_kept_for_the_next_call(server, tmp_path):
    server.files["/a"], server.break_after = CONTENT, [2_000_000]
    with pytest.raises(
        ConnectionError, match="ended after 2000000 of 3000000 bytes.*Call again to resume"
    ):
        download(server.url + "/a", tmp_path / "a", checksum=SHA, progress=False, attempts=1)
    assert [file.name for file in tmp_path.iterdir()] == ["a.part"]
    download(server.url + "/a", tmp_path / "a", checksum=SHA, progress=False, attempts=1)
    assert server.requests[-1] == ("/a", "bytes=2000000-")
    assert (tmp_path / "a").read_bytes() == CONTENT


def test_a_server_without_ranges_starts_again(server, tmp_path):
    server.files["/a"], server.break_after, server.ranges = CONTENT, [1_000_000], False
    download(server.url + "/a", tmp_path / "a", checksum=SHA, progress=False)
    assert (tmp_path / "a").read_bytes() == CONTENT


@pytest.mark.parametrize("stale", [b"of an older version", CONTENT + b"too long"])
def test_a_part_of_another_version_is_thrown_away(server, tmp_path, stale):
    server.files["/a"] = CONTENT
    (tmp_path / "a.part").write_bytes(stale)
    download(server.url + "/a", tmp_path / "a", checksum=SHA, progress=False)
    assert (tmp_path / "a").read_bytes() == CONTENT


def test_a_complete_part_needs_no_bytes(server, tmp_path):
    server.files["/a"] = CONTENT
    (tmp_path / "a.part").write_bytes(CONTENT)
    download(server.url + "/a", tmp_path / "a", checksum=SHA, progress=False)
    assert (tmp_path / "a").read_bytes() == CONTENT


def test_a_failing_checksum_leaves_nothing(server, tmp_path):
    server.files["/a"] = CONTENT[:-1] + b"x"
    with pytest.raises(
        ValueError, match=r"must have sha256 .* got .* Delete it and download it again"
    ):
        download(server.url + "/a", tmp_path / "a", checksum=SHA, progress=False)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_already_is_checked_and_kept(server, tmp_path):
    (tmp_path / "a").write_bytes(b"mine")
    with pytest.raises(ValueError, match="another version"):
        download(server.url + "/a", tmp_path / "a", checksum=SHA, progress=False)
    assert (tmp_path / "a").read_bytes() == b"mine"
    assert server.requests == []


def test_without_a_checksum_the_first_download_is_pinned(server, tmp_path):
    server.files["/a"] = CONTENT
    download(server.url + "/a", tmp_path / "a", checksum=None, progress=False)
    assert (tmp_path / "a.sha256").read_text() == SHA + "\n"
    (tmp_path / "a").unlink()
    server.files["/a"] = b"silently replaced"
    with pytest.raises(ValueError, match="another version"):
        download(server.url + "/a", tmp_path / "a", checksum=None, progress=False)
    assert not (tmp_path / "a").exists()


def test_a_passing_fault_is_tried_again_and_a_missing_file_is_not(server, tmp_path):
    server.files["/a"], server.fail = CONTENT, [503]
    download(server.url + "/a", tmp_path / "a", checksum=SHA, progress=False)
    assert len(server.requests) == 2
    with pytest.raises(ConnectionError, match=r"answered 404 .* for http://127"):
        download(server.url + "/none", tmp_path / "b", checksum=SHA, progress=False)
    assert len(server.requests) == 3


def test_progress_is_shown_and_can_be_switched_off(server, tmp_path, capsys, monkeypatch):
    server.files["/a"] = CONTENT
    download(server.url + "/a", tmp_path / "quiet", checksum=SHA, progress=False)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    download(server.url + "/a", tmp_path / "loud", checksum=SHA)
    assert "loud" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"url": "file:///etc/hostname"}, "url must be an http or https address"),
        ({"checksum": "crc32:00"}, "checksum must be 'sha256:' or 'md5:'"),
        ({"checksum": "md5:xyz"}, "checksum must be"),
        ({"attempts": 0}, "attempts must be an integer at least 1"),
    ],
)
def test_bad_arguments(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        download(
            **{
                "url": "http://127.0.0.1:1/a",
                "target": tmp_path / "a",
                "checksum": SHA,
                **arguments,
            }
        )
    assert list(tmp_path.iterdir()) == []


def test_no_server(tmp_path):
    with pytest.raises(ConnectionError, match="failed after 1 attempt"):
        download("http://127.0.0.1:1/a", tmp_path / "a", checksum=SHA, progress=False, attempts=1)
    assert list(tmp_path.iterdir()) == []
