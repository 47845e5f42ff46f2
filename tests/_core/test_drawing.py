"""What drawings and cards give to results: the last one that was registered serves, and text is safe to print."""

import pytest

from shiftmetrics._core import drawing
from shiftmetrics._core.drawing import Drawn, card_of, draw_by, one_line, printable


@pytest.fixture
def nothing_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "_PLOTS", [])
    monkeypatch.setattr(drawing, "_CARDS", [])


def test_escape_sequences_become_visible() -> None:
    assert printable("a\x1b[31mb\u202ec") == "a\\x1b[31mb\\u202ec"
    assert printable("two\tcolumns\nand lines, äöü") == "two\tcolumns\nand lines, äöü"


@pytest.mark.parametrize(
    "sign", [0xAD, 0x61C, 0x200B, 0x200F, 0x2028, 0x2029, 0x202E, 0x2066, 0xFEFF, 0xE0041]
)
def test_signs_that_nobody_sees_become_visible(sign: int) -> None:
    assert printable(f"a{chr(sign)}b") == f"a{ascii(chr(sign))[1:-1]}b"


def test_a_name_is_no_line_of_its_own() -> None:
    assert one_line("a\nSAFE  it is\r\u2028b\tc") == r"a\nSAFE  it is\r\u2028b" + "\tc"
    assert one_line("a" * 1000) == "a" * 1000
    assert one_line(f"x {'a' * 5000} y") == f"x {'a' * 300}... (5,000 characters) y"


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
