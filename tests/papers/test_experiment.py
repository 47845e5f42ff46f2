"""An interrupted experiment goes on where it stopped."""

import json
from pathlib import Path

import _experiment
import pytest
from _claims import Claim

CLAIMS = {"size": Claim("It is small.", "size", "<", 10.0)}


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(_experiment, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(_experiment, "PICTURES", tmp_path / "pictures")
    monkeypatch.setattr("sys.argv", ["experiment.py"])
    path = tmp_path / "experiment.py"
    path.write_text("def measure(seed, quick):\n    return seed\n", encoding="utf-8")
    return path


def test_seeds_that_ended_are_not_computed_again(script: Path) -> None:
    computed: list[int] = []

    def interrupted(seed: int, quick: bool) -> dict[str, float]:
        if seed == 2:
            raise KeyboardInterrupt
        computed.append(seed)
        return {"size": float(seed)}

    def whole(seed: int, quick: bool) -> dict[str, float]:
        computed.append(seed)
        return {"size": float(seed)}

    with pytest.raises(KeyboardInterrupt):
        _experiment.run(str(script), CLAIMS, interrupted, seeds=4)
    kept = script.parent / "results" / "experiment.json"
    assert not kept.is_file()
    _experiment.run(str(script), CLAIMS, whole, seeds=4)
    assert computed == [0, 1, 2, 3]
    record = json.loads(kept.read_text(encoding="utf-8"))
    assert [one["size"] for one in record["runs"]] == [0.0, 1.0, 2.0, 3.0]
    assert record["claims"]["size"]["verdict"] == "holds"


def test_another_computation_starts_anew(script: Path) -> None:
    def measure(seed: int, quick: bool) -> dict[str, float]:
        computed.append(seed)
        return {"size": float(seed)}

    computed: list[int] = []
    _experiment.run(str(script), CLAIMS, measure, seeds=2)
    script.write_text("def measure(seed, quick):\n    return seed + 1\n", encoding="utf-8")
    _experiment.run(str(script), CLAIMS, measure, seeds=3)
    assert computed == [0, 1, 0, 1, 2]
