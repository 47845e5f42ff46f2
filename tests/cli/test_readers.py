import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shiftmetrics._core.validation import check_matrix
from shiftmetrics.cli.inputs.readers import read_source
from shiftmetrics.cli.inputs.samples import read_sample
from shiftmetrics.cli.inputs.sources import parse_source
from shiftmetrics.cli.options import OPENING, Opening

SCORES = np.arange(12.0).reshape(4, 3) / 7


def read(path: Path | str):
    return read_source(parse_source(str(path), "SHIFTED"))


def test_every_kind_of_file_gives_the_same_numbers(tmp_path):
    frame = pd.DataFrame(SCORES, columns=["a", "b", "c"])
    frame.to_csv(tmp_path / "s.csv", index=False)
    frame.to_csv(tmp_path / "s.csv.gz", index=False)
    frame.to_csv(tmp_path / "semicolon.csv", index=False, sep=";")
    frame.to_csv(tmp_path / "bom.csv", index=False, encoding="utf-8-sig")
    frame.to_parquet(tmp_path / "s.parquet")
    np.save(tmp_path / "s.npy", SCORES)
    np.savez(tmp_path / "s.npz", only=SCORES)
    np.savez_compressed(tmp_path / "two.npz", runs=SCORES, other=np.zeros(2))
    for name in (
        "s.csv",
        "s.csv.gz",
        "semicolon.csv",
        "bom.csv",
        "s.parquet",
        "s.npy",
        "s.npz",
        "two.npz:runs",
    ):
        content = read(tmp_path / name)
        np.testing.assert_allclose(np.asarray(content), SCORES)
        if hasattr(content, "columns"):
            assert list(content.columns) == ["a", "b", "c"]


def test_a_csv_without_a_header_keeps_its_first_row(tmp_path):
    np.savetxt(tmp_path / "s.csv", SCORES, delimiter=",")
    frame = read(tmp_path / "s.csv")
    assert frame.shape == SCORES.shape
    assert list(frame.columns) == ["0", "1", "2"]


def test_class_numbers_are_a_header(tmp_path):
    pd.DataFrame(SCORES).to_csv(tmp_path / "s.csv", index=False)
    assert read(tmp_path / "s.csv").shape == SCORES.shape


def test_large_arrays_are_mapped_and_not_copied(tmp_path):
    np.save(tmp_path / "s.npy", SCORES)
    assert isinstance(read(tmp_path / "s.npy"), np.memmap)


def test_an_npz_of_several_arrays_lists_them(tmp_path):
    np.savez(
        tmp_path / "s.npz",
        log_probs=np.zeros((4, 5, 6, 3), np.float32),
        labels=np.zeros(6, np.uint8),
    )
    with pytest.raises(ValueError, match=r"got none; it holds 'log_probs', 'labels'"):
        read(tmp_path / "s.npz")
    with pytest.raises(ValueError, match=r"got 'logits'; it holds 'log_probs'"):
        read(f"{tmp_path / 's.npz'}:logits")


def test_pickled_arrays_are_refused_with_the_reason(tmp_path):
    np.save(tmp_path / "s.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "s.npz", good=SCORES, bad=np.array([[1], [1, 2]], dtype=object))
    with pytest.raises(
        ValueError, match=r"s.npy', which .* holds pickled Python objects, which can run code"
    ):
        read(tmp_path / "s.npy")
    with pytest.raises(ValueError, match=r"s.npz', which .* holds pickled"):
        read(f"{tmp_path / 's.npz'}:bad")
    np.testing.assert_array_equal(read(f"{tmp_path / 's.npz'}:good"), SCORES)


@pytest.mark.parametrize("keep", [0, 5, 0.5, 0.97])
@pytest.mark.parametrize("name", ["s.npy", "s.npz", "s.csv.gz", "s.parquet"])
def test_truncated_files_say_so(tmp_path, name, keep):
    values = np.random.default_rng(0).normal(size=(400, 3))
    frame = pd.DataFrame(values, columns=["a", "b", "c"])
    path = tmp_path / name
    {
        "s.npy": lambda: np.save(path, values),
        "s.npz": lambda: np.savez_compressed(path, x=values),
        "s.csv.gz": lambda: path.write_bytes(gzip.compress(frame.to_csv(index=False).encode())),
        "s.parquet": lambda: frame.to_parquet(path),
    }[name]()
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content)) if keep < 1 else keep])
    with pytest.raises(
        ValueError, match=r"SHIFTED must be an? .*truncated or of another kind"
    ) as error:
        read(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be read"),
        (b"a,b,c\n", "none below its header"),
        (b"a,b,a\n1,2,3\n", "distinct names, got 'a' twice"),
        (b"a,b\n1,2\n1,2,3,4\n", "cannot be read"),
        (b"\xff\xfe\x00\x01binary", "cannot be read"),
    ],
)
def test_broken_csv_files_say_so(tmp_path, content, message):
    (tmp_path / "s.csv").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read(tmp_path / "s.csv")


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    pd.DataFrame(SCORES, columns=["a", "b", "c"]).to_parquet(tmp_path / "s.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'shiftmetrics\[parquet\]'"):
        read(tmp_path / "s.parquet")


def scores(path: Path, **options) -> np.ndarray:
    return read_sample(str(path), "SHIFTED", role="scores", **options).numbers()


@pytest.fixture
def opening():
    """Return a function that sets how files are opened, as options of a command do."""
    token = OPENING.set(Opening())
    yield lambda **options: OPENING.set(Opening(**options))
    OPENING.reset(token)


@pytest.mark.slow
def test_ten_thousand_columns(tmp_path):
    values = np.random.default_rng(0).normal(size=(100, 10_000))
    pd.DataFrame(values).add_prefix("c").to_csv(tmp_path / "s.csv", index=False)
    assert scores(tmp_path / "s.csv").shape == values.shape


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,y\n0.1,0.2\n0.3,oops\n", "got 'oops' in column 'y', row 1"),
        ("x;y\n0,1;0,2\n0,3;0,4\n", "got '0,1' in column 'x', row 0. For a decimal comma give --decimal ,"),
        ('x,y\n"0,1",1\n"0,3",2.5\n', "For a decimal comma give --decimal ,"),
        ("x;y\n1,000;0.2\n2,500;0.4\n", "got '1,000' in column 'x', row 0. Write thousands without a mark"),
        ("x,y\n5%,0.5\n7%,0.5\n", "got '5%' in column 'x', row 0. Write percentages as plain numbers"),
        ("x,y\n2024-01-31,0.5\n2024-02-01,0.5\n", "'2024-01-31' in column 'x', row 0. Turn dates into numbers"),
        ("x,y\n31.01.2024,0.5\n1.2.2024,0.5\n", "Turn dates into numbers"),
        ("x y\n0.5 0.5\n0.1 0.9\n", "Say what stands between cells with --sep"),
        ("x,y\n1,2,3\n4,5,6\n", "which cannot be read as one"),
        ("x,y\n0,1,0,2\n0,3,0,4\n", "which cannot be read as one"),
        (f"x,y\n{'9' * 310},1.5\n1.5,2.5\n", "SHIFTED"),
        ("x,y\n" + "a" * 200_000 + ",1\n", "SHIFTED must"),
        ("x" * 200_000 + ",x\n1,oops\n", "SHIFTED must"),
    ],
)  # fmt: skip
def test_the_cell_that_is_no_number_is_named_with_what_reads_it(tmp_path, text, message):
    (tmp_path / "s.csv").write_text(text)
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        check_matrix(scores(tmp_path / "s.csv"), "SHIFTED")


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("x;y\n0,1;0,2\n0,3;0,4\n", {"decimal": ","}),
        ("0,1;0,2\n0,3;0,4\n", {"decimal": ","}),
        ("x|y\n0.1|0.2\n0.3|0.4\n", {}),
        ('"x;1"|z\n0.1|0.2\n0.3|0.4\n', {}),
        ("x\ty\n0.1\t0.2\n0.3\t0.4\n", {}),
        ("x:y\n0.1:0.2\n0.3:0.4\n", {"sep": ":"}),
        ("x y\n0.1 0.2\n0.3 0.4\n", {"sep": " "}),
        ("\n\nx,y\n0.1,0.2\n0.3,0.4\n", {}),
        ("x,y,\n0.1,0.2,\n0.3,0.4,\n", {"columns": "x,y"}),
    ],
)
def test_separators_and_decimal_marks(tmp_path, opening, text, options):
    chosen = {name: options.pop(name) for name in ("columns",) if name in options}
    opening(**options)
    (tmp_path / "s.csv").write_text(text)
    np.testing.assert_allclose(scores(tmp_path / "s.csv", **chosen), [[0.1, 0.2], [0.3, 0.4]])


def test_what_unpacks_to_too_much_is_refused(tmp_path, opening, run):
    pd.DataFrame({"x": np.zeros(200_000), "y": 1.5}).to_csv(tmp_path / "s.csv.gz", index=False)
    np.savez_compressed(tmp_path / "s.npz", np.zeros((1000, 200)))
    pd.DataFrame({"x": np.zeros(200_000), "y": 1.5}).to_parquet(tmp_path / "s.parquet")
    opening(max_gib=2**-10)
    for name in ("s.csv.gz", "s.npz", "s.parquet"):
        with pytest.raises(
            ValueError, match=rf"{name}', which cannot be read as one \(it unpacks to more than"
        ):
            read(tmp_path / name)
    limited = run("novelty", tmp_path / "s.npz", tmp_path / "s.npz", "--memory-limit", 10**6)
    assert "takes at most 0.000931323 GiB" in limited.stderr
    assert "--max-gib" in limited.stderr


PEAK = """
import sys
from pathlib import Path
from shiftmetrics.cli.inputs import readers
from shiftmetrics.cli.inputs.sources import Source
counted = []
readers._check_size = counted.append
def peak(name):
    readers.read_source(Source(argument="FILE", path=Path(name)))
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
before = peak(sys.argv[1])
counted.clear()
print(peak(sys.argv[2]) - before, max(counted))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize("kind", ["digits", "nothing", "floats", "words", "sentences", "lines"])
def test_texts_take_no_more_than_is_counted(kind, tmp_path):
    rng = np.random.default_rng(0)
    row = {
        "digits": "1,2,3,4,5,6,7,8,9,0",
        "nothing": "1,,,,,,,,,",
        "floats": ",".join(f"{value:.6f}" for value in rng.normal(size=10)),
        "words": ",".join("w%06d" for _ in range(10)),
        "sentences": ",".join("%060d" for _ in range(10)),
        "lines": '{"a":1,"b":2,"c":"w%06d"}',
    }[kind]
    n_rows = 100_000
    count = row.count("%")
    rows = [row % tuple(rng.integers(0, 10**6, count)) if count else row for _ in range(n_rows)]
    head = [] if kind == "lines" else ["a,b,c,d,e,f,g,h,i,j"]
    suffix = "jsonl" if kind == "lines" else "csv"
    for name, n in (("small", 5), ("large", n_rows)):
        (tmp_path / f"{name}.{suffix}").write_text("\n".join([*head, *rows[:n]]) + "\n")
    names = [str(tmp_path / f"{name}.{suffix}") for name in ("small", "large")]
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *names], capture_output=True, text=True, check=True
    )
    taken, counted = map(float, done.stdout.split())
    assert taken <= 1.1 * counted
    assert counted <= 3.0 * taken  # nor is twice as much refused as fits


def header(path: Path, text: bytes) -> None:
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)


def test_damaged_arrays_are_named(tmp_path):
    header(tmp_path / "token.npy", b"{'descr': '<f8', 'shape': (3, ((\n")
    header(
        tmp_path / "huge.npy",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807, 9), }\n",
    )
    np.savez(tmp_path / "zip.npz", SCORES)
    content = (tmp_path / "zip.npz").read_bytes()
    start = content.index(b"PK\x01\x02")
    for name, place, value in (("encrypted.npz", 8, 1), ("packed.npz", 10, 99)):
        damaged = bytearray(content)
        damaged[start + place] = damaged[place - 2] = value
        (tmp_path / name).write_bytes(damaged)
    (tmp_path / "corrupt.npz").write_bytes(content[:200] + b"x" * 50 + content[250:])
    for name in ("token.npy", "huge.npy", "encrypted.npz", "packed.npz", "corrupt.npz"):
        with pytest.raises(
            ValueError, match=rf"SHIFTED must be an .*{name}', which cannot be read"
        ) as error:
            read(tmp_path / name)
        assert "\n" not in str(error.value)


def test_a_damaged_parquet_is_named(tmp_path):
    pytest.importorskip("pyarrow")
    pd.DataFrame({"x": np.arange(2000.0)}).to_parquet(tmp_path / "s.parquet")
    content = (tmp_path / "s.parquet").read_bytes()
    (tmp_path / "s.parquet").write_bytes(content[:100] + b"\xff" * 400 + content[500:])
    with pytest.raises(ValueError, match=r"s.parquet', which cannot be read"):
        read(tmp_path / "s.parquet")
    pd.DataFrame({"x": [[1.0], [2.0]], "y": [0.5, 0.25]}).to_parquet(tmp_path / "lists.parquet")
    with pytest.raises((TypeError, ValueError), match="SHIFTED.*'x'"):
        scores(tmp_path / "lists.parquet")


def test_a_single_value_is_no_sample(tmp_path):
    np.savez(tmp_path / "s.npz", np.float64(1.0))
    with pytest.raises(ValueError, match="SHIFTED must hold rows, got .*, a single value"):
        read(tmp_path / "s.npz")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_a_pipe_is_refused_as_one(tmp_path):
    os.mkfifo(tmp_path / "s.csv")
    with pytest.raises(ValueError, match="a pipe or a device: save it to a file first"):
        read(tmp_path / "s.csv")


def test_files_of_others_are_not_replaced(fails, run, folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "package.json").write_text('{"name": "mine"}')
    (folder / "page.html").write_text("<p>mine</p>")
    for option, name in (("--json", "package.json"), ("--report", "page.html")):
        before = (folder / name).read_text()
        message = fails("agreement", "runs.npz:noisy", "runs.npz:clean", option, name)
        assert (
            f"{option} must not replace a file that shiftmetrics did not write, got '{name}'"
            in message
        )
        assert (folder / name).read_text() == before
    for _ in range(2):  # its own it does
        assert (
            run("agreement", "runs.npz:noisy", "runs.npz:clean", "--json", "o.json", "-q").exit_code
            == 0
        )


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "more.csv",
            b"a,b\n1,2,3\n4,5,6\n",
            "a row has more cells than the header\\). Say what stands between cells",
        ),
        ("one.csv", b"a\n0,5\n0,7\n", "give --decimal , for decimal commas"),
        ("latin.csv", "größe,b\n1,2\n".encode("latin1"), "Save it in UTF-8"),
        ("text.npy", b"hello", "text.npy"),
    ],
)
def test_what_libraries_say_is_put_in_better_words(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read(tmp_path / name)


def test_json_lines_are_a_table(tmp_path):
    lines = ['{"id": "a", "cat": 0.25, "dog": 0.75}', '{"id": "b", "cat": 0.5, "dog": 0.5}']
    (tmp_path / "s.jsonl").write_text("\n".join(lines))
    frame = read(tmp_path / "s.jsonl")
    assert frame.to_dict("list") == {"id": ["a", "b"], "cat": [0.25, 0.5], "dog": [0.75, 0.5]}
    (tmp_path / "broken.jsonl").write_text('{"id": "a", "cat"')
    with pytest.raises(ValueError, match="SHIFTED must be a file of JSON lines"):
        read(tmp_path / "broken.jsonl")
