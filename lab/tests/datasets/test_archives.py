"""Archives stay inside their folder; all files arrive or none."""

import io
import tarfile
import zipfile

import numpy as np
import pytest

from shiftmetrics_lab.datasets.archives import extract

FILES = {
    "top/one.txt": b"one",
    "top/deep/two.bin": np.random.default_rng(0).bytes(40_000),
    "empty": b"",
}


def make_tar(path, files=FILES, mode="w:gz", extra=()):
    with tarfile.open(path, mode) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.mode = 0o777
            archive.addfile(member, io.BytesIO(content))
        for member in extra:
            archive.addfile(member)
    return path


def make_zip(path, files=FILES):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def contents(folder):
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_tar(tmp_path, mode):
    folder = extract(make_tar(tmp_path / "a.tar", mode=mode), tmp_path / "out")
    assert contents(folder) == FILES
    assert (
        not (folder / "top/one.txt").stat().st_mode & 0o111
    )  # permissions in the archive are ignored


def test_zip_into_an_empty_folder(tmp_path):
    (tmp_path / "out").mkdir()
    assert contents(extract(make_zip(tmp_path / "a.zip"), tmp_path / "out")) == FILES


EVIL = ["../evil", "top/../../evil", "/tmp/shiftmetrics-evil", "C:\\evil", "C:evil", "..\\evil"]


@pytest.mark.parametrize("name", EVIL)
@pytest.mark.parametrize("make", [make_tar, make_zip])
def test_a_path_outside_the_folder_is_refused(tmp_path, name, make):
    archive = make(tmp_path / "a", files={**FILES, name: b"evil"})
    with pytest.raises(ValueError, match=r"holds a path outside the target folder .* was refused"):
        extract(archive, tmp_path / "inner" / "out")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "inner"]


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE]
)
def test_links_and_devices_are_refused(tmp_path, kind):
    member = tarfile.TarInfo("innocent")
    member.type, member.linkname = kind, "/etc/passwd"
    archive = make_tar(tmp_path / "a.tar", extra=[member])
    with pytest.raises(ValueError, match="holds a link or a device"):
        extract(archive, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_link_in_a_zip_is_refused(tmp_path):
    info = zipfile.ZipInfo("link")
    info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(ValueError, match="holds a link or a device"):
        extract(tmp_path / "a.zip", tmp_path / "out")


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.98])
def test_a_truncated_tar_leaves_nothing(tmp_path, mode, share):
    whole = make_tar(tmp_path / "whole", mode=mode)
    size = len(whole.read_bytes())
    if mode == "w":
        with tarfile.open(whole) as archive:
            size = archive.getmembers()[-1].offset_data  # what follows is padding
    cut = tmp_path / "cut"
    cut.write_bytes(whole.read_bytes()[: int(share * size)])
    with pytest.raises(ValueError, match=r"is truncated or damaged .* download it again"):
        extract(cut, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cut", "whole"]


@pytest.mark.parametrize("member", range(3))
def test_a_tar_cut_at_a_header_is_not_taken_for_complete(tmp_path, member):
    whole = make_tar(tmp_path / "whole", mode="w")
    with tarfile.open(whole) as archive:
        offset = archive.getmembers()[member].offset
    cut = tmp_path / "cut"
    for extra in (0, 100):
        cut.write_bytes(whole.read_bytes()[: offset + extra])
        with pytest.raises(ValueError, match="truncated or damaged"):
            extract(cut, tmp_path / "out")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_truncated_zip_leaves_nothing(tmp_path, share):
    whole = make_zip(tmp_path / "whole").read_bytes()
    (tmp_path / "cut").write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match="truncated or damaged"):
        extract(tmp_path / "cut", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_damaged_zip_leaves_nothing(tmp_path):
    content = bytearray(make_zip(tmp_path / "whole").read_bytes())
    content[2000] ^= 0xFF
    (tmp_path / "bad").write_bytes(bytes(content))
    with pytest.raises(ValueError, match="truncated or damaged"):
        extract(tmp_path / "bad", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("mode", ["w:gz", "w:bz2", "w:xz"])
def test_a_damaged_tar_leaves_nothing(tmp_path, mode):
    content = bytearray(make_tar(tmp_path / "whole", mode=mode).read_bytes())
    content[len(content) // 2] ^= 0xFF
    (tmp_path / "bad").write_bytes(bytes(content))
    with pytest.raises(ValueError, match="truncated or damaged"):
        extract(tmp_path / "bad", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_missing_archive_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="none.tar"):
        extract(tmp_path / "none.tar", tmp_path / "out")


def test_a_folder_in_use_is_left_alone(tmp_path):
    archive = make_tar(tmp_path / "a.tar")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("mine")
    with pytest.raises(ValueError, match="folder must be new or empty"):
        extract(archive, tmp_path / "out")
    assert contents(tmp_path / "out") == {"mine": b"mine"}


def test_a_full_disk_is_said_before_writing(tmp_path, monkeypatch):
    archive = make_tar(tmp_path / "a.tar")
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10})())
    with pytest.raises(ValueError, match="has no room for 'top/deep/two.bin'"):
        extract(archive, tmp_path / "out")
    assert not (tmp_path / "out").exists()
