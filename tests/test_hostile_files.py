"""Damaged results, deep documents and damaged chunks: each is read, or refused in words of this package.

``python tests/test_hostile_files.py`` prints what is not.
"""

import copy
import json
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import hostile_inputs as hostile
from shiftmetrics import (
    Computing,
    HingeLoss,
    Resampling,
    feature_stability,
    kernel_entropic_novelty,
    model_stability,
    posterior_agreement,
    stability_criterion,
)
from shiftmetrics._core.documents import read_results, write_results
from shiftmetrics._core.result import Result
from shiftmetrics.agreement import agreement_curves, agreement_matrix
from shiftmetrics.comparison import compare_agreement
from shiftmetrics.novelty import NoveltyResampling
from shiftmetrics.rules import Rule, check_results, read_rules

RNG = np.random.default_rng(0)
REFERENCE = RNG.normal(size=(40, 3))
SCORES = REFERENCE + RNG.normal(size=(40, 3))
LABELS = RNG.integers(0, 2, 40)
MODEL = LogisticRegression().fit(REFERENCE, LABELS)
QUIET = Computing(progress=False)
FEW = Resampling(n_resamples=39, rng=0)
VALUES = [
    None,
    "x",
    "",
    -1,
    0,
    1e308,
    True,
    [],
    {},
    [[1, [2]]],
    {"type": "Status"},
    {"array": "no"},
]


def results() -> dict[str, Result]:
    scores = {"a": SCORES, "b": REFERENCE}
    return {
        "agreement": posterior_agreement(SCORES, REFERENCE, resampling=FEW),
        "curves": agreement_curves(SCORES, REFERENCE, resampling=FEW),
        "matrix": agreement_matrix(scores),
        "stability": stability_criterion(HingeLoss(np.abs(SCORES[:, 0]), 1.0), 0.9),
        "model": model_stability(MODEL, REFERENCE, LABELS, 0.6, computing=QUIET),
        "features": feature_stability(MODEL, REFERENCE, LABELS, 0.6, computing=QUIET),
        "novelty": kernel_entropic_novelty(
            SCORES, REFERENCE, resampling=NoveltyResampling(n_resamples=19)
        ),
        "comparison": compare_agreement(scores, REFERENCE, resampling=FEW),
    }


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to each part of a document."""
    inner: Any = ()
    if isinstance(document, dict):
        inner = document.items()
    elif isinstance(document, list):
        inner = list(enumerate(document))[:3]
    for key, part in inner:
        yield (*path, key)
        yield from places(part, (*path, key))


def damaged(document: Any, place: tuple[Any, ...], value: Any) -> Any:
    found = copy.deepcopy(document)
    part = found
    for key in place[:-1]:
        part = part[key]
    if value is KeyError:
        del part[place[-1]]
    else:
        part[place[-1]] = value
    return found


def use(text: str) -> None:
    """Read a result and do with it what the commands do."""
    result = Result.from_json(text)
    result.summary()
    result.to_frame()
    result.to_json()
    check_results({"r": result}, [Rule(measure=result.measure, at_least=0.0)])


def wrong_documents(seed: int, most: int) -> list[str]:
    """Return what is wrong with some of all documents in which one part is damaged."""
    generator = random.Random(seed)
    found = []
    for name, result in results().items():
        document = json.loads(result.to_json())
        jobs = [(place, value) for place in places(document) for value in [*VALUES, KeyError]]
        for place, value in generator.sample(jobs, min(most, len(jobs))):
            text = json.dumps(damaged(document, place, value))
            problem = hostile.outcome(lambda text=text: use(text))
            if problem is not None:
                found.append(f"{name} {'.'.join(map(str, place))} = {value!r}: {problem}")
    return found


@pytest.mark.slow
def test_a_damaged_part_of_a_result_is_refused_in_words() -> None:
    assert wrong_documents(0, 150) == []


def deep(kind: str) -> str:
    if kind == "toml":
        return "a = " + "[" * 3000 + "]" * 3000
    return "[" * 100_000 + "]" * 100_000


def test_a_deep_document_is_refused_in_words(tmp_path: Path) -> None:
    for name, read in (
        ("a.toml", read_rules),
        ("a.json", Result.from_json),
        ("b.json", read_results),
    ):
        (tmp_path / name).write_text(deep(name[2:]))
        with pytest.raises(ValueError, match=r"a\.toml|a\.json|b\.json"):
            read(tmp_path / name)


def stores(folder: Path) -> dict[str, tuple[Path, Callable[[], Any]]]:
    """Write a stored array of each kind; return a file of each, and what opens the array."""
    found: dict[str, tuple[Path, Callable[[], Any]]] = {}
    try:
        import h5py
    except ImportError:
        pass
    else:
        with h5py.File(folder / "a.h5", "w") as file:
            file.create_dataset("x", data=SCORES, chunks=(7, 3), compression="gzip")
        found["hdf5"] = folder / "a.h5", lambda: h5py.File(folder / "a.h5", "r")["x"]
    try:
        import zarr
    except ImportError:
        pass
    else:
        zarr.create_array(str(folder / "z"), data=SCORES, chunks=(7, 3))
        chunks = [
            path for path in (folder / "z").rglob("*") if path.is_file() and path.suffix == ""
        ]
        found["zarr"] = sorted(chunks)[-1], lambda: zarr.open_array(str(folder / "z"), mode="r")
    return found


def wrong_chunks(folder: Path, times: int) -> list[str]:
    """Return what is wrong with measures of stored arrays of which some bytes are damaged."""
    generator = random.Random(0)
    found = []
    for name, (file, opened) in stores(folder).items():
        whole = file.read_bytes()
        for _ in range(times):
            content = bytearray(whole)
            for _ in range(generator.choice((1, 3, 40))):
                content[generator.randrange(len(content))] = generator.randrange(256)
            file.write_bytes(bytes(content[: generator.choice((len(content), len(content) // 2))]))
            try:
                stored = opened()
            except Exception:
                continue  # that the library itself refuses
            problem = hostile.outcome(lambda stored=stored: posterior_agreement(stored, REFERENCE))
            if problem is not None and problem != "the value is NaN":
                found.append(f"{name}: {problem}")
        file.write_bytes(whole)
    return found


@pytest.mark.slow
def test_damaged_chunks_are_refused_in_words(tmp_path: Path) -> None:
    assert wrong_chunks(tmp_path, 60) == []


def test_several_results_survive_a_round_trip(tmp_path: Path) -> None:
    written = results()
    write_results(written, tmp_path / "r.json")
    for name, result in read_results(tmp_path / "r.json").items():
        assert result.equals(written[name]), name


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        for line in [*wrong_documents(1, 1500), *wrong_chunks(Path(place), 400)]:
            print(line)
