"""Drawings register themselves for a class of results; a result finds that of its class or of a base."""

import pytest

from shiftmetrics._core import drawing
from shiftmetrics._core.drawing import Drawn, drawing_of, draws, on_first_drawing


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what these tests register apart."""
    monkeypatch.setattr(drawing, "_DRAWINGS", {})
    monkeypatch.setattr(drawing, "_LOADERS", [])


class Shape(Drawn):
    pass


class Square(Shape):
    pass


def test_a_result_is_drawn_by_the_function_of_its_class() -> None:
    @draws(Shape, kind="outline")
    def draw(result: Shape, ax: object, *, color: str = "red") -> tuple[object, ...]:
        return result, ax, color

    shape, square = Shape(), Square()
    assert shape.plot() == (shape, None, "red")
    assert square.plot("axes", color="blue") == (square, "axes", "blue")


def test_the_nearest_class_wins() -> None:
    draws(Shape, kind="outline")(lambda result, ax: "shape")
    draws(Square, kind="outline")(lambda result, ax: "square")
    assert (Shape().plot(), Square().plot()) == ("shape", "square")


def test_drawings_are_loaded_at_the_first_use_and_once() -> None:
    loaded = []

    def load() -> None:
        loaded.append(1)
        draws(Shape, kind="outline")(lambda result, ax: "drawn")

    on_first_drawing(load)
    assert not loaded
    assert [Shape().plot(), Square().plot()] == ["drawn", "drawn"]
    assert loaded == [1]


def test_a_class_without_a_drawing_is_named() -> None:
    with pytest.raises(TypeError, match="result must be of a class that has a drawing, got Square"):
        drawing_of(Square)


def test_a_kind_is_chosen_by_name_and_the_default_comes_first() -> None:
    draws(Shape, kind="outline")(lambda result, ax: "outline")
    draws(Shape, kind="area", default=True)(lambda result, ax: "area")
    assert (Shape().plot(), Square().plot(kind="outline")) == ("area", "outline")
    with pytest.raises(ValueError, match="kind must be"):
        Shape().plot(kind="volume")
