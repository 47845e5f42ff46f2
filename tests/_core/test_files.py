"""A file is all there or as it was: no half-written targets, no litter."""

import errno
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shiftmetrics._core import interrupts
from shiftmetrics._core.files import atomic_path, write_text


def test_a_new_file_appears_whole(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "höhe\n")
    assert (tmp_path / "a.txt").read_bytes() == "höhe\n".encode()
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_the_temporary_file_keeps_the_suffix(tmp_path: Path) -> None:
    """Writers that look at the suffix (images, archives) must see the right one."""
    with atomic_path(str(tmp_path / "a.npz")) as temporary:
        assert temporary.suffix == ".npz"
        assert temporary.parent == tmp_path
        assert not (tmp_path / "a.npz").exists()
        temporary.write_bytes(b"1")
    assert (tmp_path / "a.npz").read_bytes() == b"1"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_interruption_leaves_the_old_file_and_no_litter(
    error: type[BaseException], tmp_path: Path
) -> None:
    write_text(tmp_path / "a.txt", "old")

    def interrupted() -> None:
        with atomic_path(tmp_path / "a.txt") as temporary:
            temporary.write_text("half of the ne")
            raise error

    with pytest.raises(error):
        interrupted()
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_a_full_disk_leaves_the_old_file_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_text(tmp_path / "a.txt", "old")

    def full(self: Path, *args: object, **kwargs: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device", str(self))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        write_text(tmp_path / "a.txt", "new")
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_a_killed_process_leaves_the_old_file(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "old")
    script = (
        "import os, sys\nfrom shiftmetrics._core.files import atomic_path\n"
        "with atomic_path(sys.argv[1]) as temporary:\n    temporary.write_text('half')\n    os.kill(os.getpid(), 9)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script, str(tmp_path / "a.txt")], check=False)
    assert ended.returncode != 0
    assert (tmp_path / "a.txt").read_text() == "old"


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_a_new_file_has_the_permissions_of_any_other(mask: int, mode: int, tmp_path: Path) -> None:
    before = os.umask(mask)
    try:
        write_text(tmp_path / "a.txt", "new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == mode


def test_a_folder_is_no_target(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="The output path must be a file, got the folder"):
        write_text(tmp_path, "text")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"The output folder must exist, got '.*nowhere'\. Create it first"
    ):
        write_text(tmp_path / "nowhere" / "a.txt", "text")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    write_text(tmp_path / "a", "text")
    with pytest.raises(ValueError, match="The output folder must exist, got"):
        write_text(tmp_path / "a" / "b.txt", "text")


def test_a_read_only_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(
        **options: object,
    ) -> None:  # root may write anywhere, so the system's refusal is played here
        raise PermissionError(errno.EACCES, "Permission denied", str(options["dir"]))

    monkeypatch.setattr(interrupts.tempfile, "mkstemp", refuse)
    with pytest.raises(
        ValueError, match=r"The output folder must be writable, got '.*' \(Permission denied\)"
    ):
        write_text(tmp_path / "a.txt", "text")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_a_folder_without_the_right_to_write_is_left_alone(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "old")
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(ValueError, match="must be writable"):
            write_text(tmp_path / "a.txt", "new")
        assert (tmp_path / "a.txt").read_text() == "old"
    finally:
        tmp_path.chmod(0o700)


def test_a_link_keeps_pointing_at_its_target(tmp_path: Path) -> None:
    write_text(tmp_path / "target.txt", "old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "target.txt")
    write_text(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "target.txt").read_text() == "new"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_written_to_and_never_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as executor:
        read = executor.submit(pipe.read_text)
        write_text(pipe, "text")
        assert read.result(timeout=30) == "text"
    assert pipe.is_fifo()


def test_names_may_be_as_long_as_the_system_allows(tmp_path: Path) -> None:
    path = tmp_path / ("ö" * 120 + ".json")
    write_text(path, "new")
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_named() -> None:
    with pytest.raises(OSError, match="/dev/full"):
        write_text("/dev/full", "text")


def test_errors_without_a_name_get_that_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"No space.*out\.json"), atomic_path(tmp_path / "out.json"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert list(tmp_path.iterdir()) == []
