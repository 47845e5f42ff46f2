"""A command that is interrupted at a write: all is as before and it says so, or all is written."""

import shutil
import signal
import sys

import pytest

import killed_writes

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def everything(folder):
    """Return all that is in a folder but locks, what is hidden and empty folders too."""
    return {
        str(path.relative_to(folder)): killed_writes.MOMENTS.sub(b"*", path.read_bytes())
        if path.is_file()
        else b""
        for path in folder.rglob("*")
        if path.suffix != ".lock"
    }


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("read", signal.SIGINT),
        ("read", signal.SIGTERM),
        pytest.param("passport", signal.SIGINT, marks=pytest.mark.slow),
        pytest.param("run", signal.SIGINT, marks=pytest.mark.slow),
        pytest.param("monitor", signal.SIGINT, marks=pytest.mark.slow),
    ],
)
def test_an_interrupt_at_a_write_leaves_all_or_nothing(name, number, tmp_path):
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    killed_writes.write_inputs(inputs, 0)
    before = everything(inputs)
    line = killed_writes.COMMANDS[name]
    place = shutil.copytree(inputs, tmp_path / "place")
    code, n_changes = killed_writes.ended(place, line)
    whole = everything(place)
    assert n_changes >= 3
    n_interrupted = 0
    for change in range(n_changes):
        shutil.rmtree(place)
        shutil.copytree(inputs, place)
        got, _ = killed_writes.ended(place, line, change, number=number)
        after = everything(place)
        if got == code:  # too late: as if nothing had come
            assert after.keys() == whole.keys(), change
            continue
        assert got == 128 + number, change
        n_interrupted += 1
        if name == "run" and "out/a.json" in after:  # results that are whole stay
            assert set(after) - set(before) == {"out", "out/a.json", "out/a.npz"}, change
            assert killed_writes.ended(place, line)[0] == code
        else:
            assert after == before, change
    assert 0 < n_interrupted < n_changes
