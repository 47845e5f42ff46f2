"""What drawings and cards give to results: the last one that was registered serves, and text is safe to print."""

import pytest

from shiftmetrics._core import drawing
from shiftmetrics._core.drawing import Drawn, card_of, draw_by, printable


@pytest.fixture
def nothing_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "_PLOTS", [])
    monkeypatch.setattr(drawing, "_CARDS", [])


def test_escape_sequences_become_visible() -> None:
    assert printable("a\x1b[31mb\u202ec") == "a\\x1b[31mb\\u202ec"
    assert printable("two\tcolumns\nand lines, äöü") == "two\tcolumns\nand lines, äöü"


@pytest.mark.usefixtures("nothing_registered")
def test_a_result_is_drawn_by_what_was_registered_last() -> None:
    loaded = []

    def plot_with(name: str) -> object:
        def load() -> object:
            loaded.append(name)
            return lambda result, ax, **options: (name, result, ax, options)

        return load

    for name in ("first", "second"):
        draw_by(plot_with(name), lambda: lambda result: f"a card of {type(result).__name__}\x07")
    assert loaded == []  # not before the first drawing
    result = Drawn()
    assert result.plot("axes", kind="bars", color="red") == (
        "second",
        result,
        "axes",
        {"kind": "bars", "color": "red"},
    )
    assert loaded == ["second"]
    assert card_of(result) == "a card of Drawn\\x07"
