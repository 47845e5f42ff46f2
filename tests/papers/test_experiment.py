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


def test_claims_and_conclusions_may_change_without_a_computation(script: Path) -> None:
    computed: list[int] = []

    def measure(seed: int, quick: bool) -> dict[str, float]:
        computed.append(seed)
        return {"raw": float(seed)}

    def double(one: dict) -> dict[str, float]:
        return {"size": 2 * one["raw"]}

    def more(one: dict) -> dict[str, bool]:
        return {"size": one["raw"] > 0}

    _experiment.run(str(script), CLAIMS, measure, conclude=double, seeds=3)
    text = script.read_text(encoding="utf-8")
    added = 'CLAIMS = {"size": 1}\n\n\ndef conclude(one):\n    """Words."""\n    return {}\n'
    script.write_text(added + text, encoding="utf-8")
    counts = {"size": Claim("It is ahead.", "fraction", ">", 0.5)}
    _experiment.run(str(script), counts, measure, conclude=more, seeds=3)
    assert computed == [0, 1, 2]
    record = json.loads((script.parent / "results" / "experiment.json").read_text(encoding="utf-8"))
    assert [one["size"] for one in record["runs"]] == [False, True, True]
    assert record["claims"]["size"]["bound"] == 0.5


@pytest.mark.parametrize(("now", "agrees"), [(1.0, True), (1.0004, True), (1.01, False)])
def test_a_confirmation_computes_the_first_seed_again(
    script: Path, monkeypatch: pytest.MonkeyPatch, now: float, agrees: bool
) -> None:
    _experiment.run(str(script), CLAIMS, lambda seed, quick: {"size": 1.0, "all": [2.0]}, seeds=3)
    kept = script.parent / "results" / "experiment.json"
    before = json.loads(kept.read_text(encoding="utf-8"))
    monkeypatch.setattr("sys.argv", ["experiment.py", "--confirm"])
    monkeypatch.setattr(_experiment, "stamp", lambda path: {"commit": "abc", "parts": {"x": "1"}})

    def measure(seed: int, quick: bool) -> dict:
        assert seed == 0
        return {"size": now, "all": [2.0]}

    if agrees:
        _experiment.run(str(script), CLAIMS, measure, seeds=3)
    else:
        with pytest.raises(SystemExit) as ended:
            _experiment.run(str(script), CLAIMS, measure, seeds=3)
        assert ended.value.code == _experiment.ANOTHER
    after = json.loads(kept.read_text(encoding="utf-8"))
    assert after["runs"] == before["runs"]
    assert (after.get("confirmed"), after["parts"] == {"x": "1"}) == (
        ("abc", True) if agrees else (None, False)
    )


def test_a_confirmation_draws_the_same_conclusions(
    script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measure(seed: int, quick: bool) -> dict[str, float]:
        return {"size": 1.0}

    def double(one: dict) -> dict[str, float]:
        return {"size": 2.0}

    _experiment.run(str(script), CLAIMS, measure, conclude=double, seeds=2)
    monkeypatch.setattr("sys.argv", ["experiment.py", "--confirm"])
    _experiment.run(str(script), CLAIMS, measure, conclude=double, seeds=2)
    assert "comes out as before" in capsys.readouterr().out


def test_sources_that_give_alike_on_one_machine_are_confirmed(
    script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Here the kept number cannot be had again, by the earlier sources as little as by the present ones."""

    def larger(one: dict) -> dict[str, bool]:
        return {"size": one["size"] > 1}

    now = [1.0]
    options = {"measure": lambda seed, quick: {"size": now[0], "raw": now[0]}, "conclude": larger}
    _experiment.run(str(script), CLAIMS, seeds=2, **options)
    kept = script.parent / "results" / "experiment.json"
    monkeypatch.setattr("sys.argv", ["experiment.py", "--confirm"])
    monkeypatch.setattr(_experiment, "commit_that_made", lambda name: "abc")
    now[0] = 1.5
    for earlier, agrees in ((1.5, True), (1.6, False)):
        measured = {"size": earlier, "raw": earlier}
        monkeypatch.setattr(_experiment, "first_seed_by", lambda commit, name, m=measured: m)
        before = json.loads(kept.read_text(encoding="utf-8"))
        if agrees:
            _experiment.run(str(script), CLAIMS, seeds=2, **options)
            after = json.loads(kept.read_text(encoding="utf-8"))
            assert (after["runs"], after["comes_out"]) == (before["runs"], "alike on one machine")
        else:
            with pytest.raises(SystemExit):
                _experiment.run(str(script), CLAIMS, seeds=2, **options)
            assert json.loads(kept.read_text(encoding="utf-8")) == before
            assert "another size, raw" in capsys.readouterr().out
