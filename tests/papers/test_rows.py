"""What a row of the page says: the verdict, by the printed size as well, and where a bound comes from."""

import json

import pytest
from _rows import OTHER_SIZE, UNTESTABLE, bound_in_words, claims_of, counted, leaves_out
from index import ENTRIES, FOLDER, REMARKS


def claim(low: float, high: float, **others: object) -> dict:
    found = {"relation": ">", "bound": 0.0, "low": low, "high": high, "mean": (low + high) / 2}
    return {**found, "verdict": "holds", "source": "", "kind": "", **others}


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (8.9, True),
        (0.5, False),
        (-1.0, True),
        ([1.2, 3.0], True),
        ([0.8, 3.0], False),
        (None, False),
    ],
)
def test_a_printed_number_is_left_out_where_the_interval_has_it_outside(
    size: float | list[float] | None, expected: bool
) -> None:
    assert leaves_out(claim(-0.29, 0.89), size) is expected


@pytest.mark.parametrize(
    ("first", "size", "expected"),
    [
        ("undecided", 8.9, OTHER_SIZE),
        ("holds", 8.9, OTHER_SIZE),
        ("does not hold", 8.9, "does not hold"),
        ("undecided", 0.4, "undecided"),
    ],
)
def test_the_fifth_verdict(
    first: str, size: float, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(REMARKS, "made_up", {"gain": {"size": size, "why": "few rows"}})
    record = {"script": "made_up", "claims": {"gain": claim(-0.29, 0.89, verdict=first)}}
    found = next(claims_of({**record, "runs": [{"gain": 0.1}]}))
    assert found["verdict"] == expected
    if expected == OTHER_SIZE:
        assert "8.9" in found["why"]
        assert ("undecided" in found["why"]) == (first == "undecided")


def test_a_bound_of_ours_says_for_which_bounds_a_claim_would_hold() -> None:
    words = bound_in_words(claim(0.07, 0.1, relation="<", bound=0.05))
    for part in ("ours", "above 0.1", "below 0.07"):
        assert part in words
    words = bound_in_words(claim(-0.3, -0.01, relation="within", bound=0.1))
    for part in ("above 0.3", "below 0.01"):
        assert part in words
    assert "ours" not in bound_in_words(claim(0.07, 0.1))
    assert "(figure 8)" in bound_in_words(claim(0.07, 0.1, bound=5.0, source="figure 8"))


def test_every_bound_is_natural_has_a_source_or_says_that_it_is_ours() -> None:
    for name in {entry.script for entry in ENTRIES if entry.script}:
        record = json.loads((FOLDER / "results" / f"{name}.json").read_text(encoding="utf-8"))
        for found in claims_of(record):
            words = bound_in_words(found)
            plain = abs(found["bound"]) in (0.0, 1.0) or found["kind"] or found["low"] is None
            plain = plain or (counted(found) and found["bound"] == 0.5)
            assert plain or found["source"] or "is ours" in words, (name, found["sentence"])


def test_what_cannot_be_tested_here_has_no_other_verdict() -> None:
    path = FOLDER / "results" / "novelty_fitness.json"
    found = claims_of(json.loads(path.read_text(encoding="utf-8")))
    exceptions = [one for one in found if "exceptions GGAN" in one["sentence"]]
    assert [one["verdict"] for one in exceptions] == [UNTESTABLE]
