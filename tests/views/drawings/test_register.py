"""Drawings register themselves for a class of results; a result finds that of its class or of a base."""

import pytest

from shiftmetrics._core.drawing import Drawn
from shiftmetrics.views import plot
from shiftmetrics.views.drawings import kinds
from shiftmetrics.views.drawings.kinds import drawing


@pytest.fixture(autouse=True)
def register(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what these tests register apart."""
    monkeypatch.setattr(kinds, "_DRAWINGS", {})


class Shape(Drawn):
    pass


class Square(Shape):
    pass


def test_a_result_is_drawn_by_the_function_of_its_class() -> None:
    @drawing(Shape, kind="outline")
    def draw(result: Shape, ax: object, *, color: str = "red") -> tuple[object, ...]:
        return result, ax, color

    shape, square = Shape(), Square()
    assert shape.plot() == (shape, None, "red")
    axes = object()
    assert square.plot(axes, color="blue") == (square, axes, "blue")


def test_the_nearest_class_wins() -> None:
    drawing(Shape, kind="outline")(lambda result, ax: "shape")
    drawing(Square, kind="outline")(lambda result, ax: "square")
    assert (Shape().plot(), Square().plot()) == ("shape", "square")


def test_a_class_without_a_drawing_is_named() -> None:
    with pytest.raises(TypeError, match="result must be of a class that has a drawing, got Square"):
        plot(Square())


def test_a_kind_is_chosen_by_name_and_the_default_comes_first() -> None:
    drawing(Shape, kind="outline")(lambda result, ax: "outline")
    drawing(Shape, kind="area", default=True)(lambda result, ax: "area")
    assert (Shape().plot(), Square().plot(kind="outline")) == ("area", "outline")
    with pytest.raises(ValueError, match="kind must be"):
        Shape().plot(kind="volume")
