import pytest

from shiftmetrics_lab.shifts.factors.spec import FACTORS, FactorSpec


def test_nine_places_and_six_hues():
    assert len(FACTORS["position"]) == 9
    assert len(FACTORS["hue"]) == 6


def test_choices_can_be_changed_and_compared():
    base = FactorSpec(hue="red", shape=(4, 9))
    other = base.replace(hue="blue", shape=(1, 7))
    assert other.differences(base) == ("hue", "shape")
    assert base.differences(base) == ()
    assert base.replace().equals(base)
    assert list(base.values()) == list(FACTORS)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"hue": "purple"}, ValueError, "hue must be one of 'red'"),
        ({"position": "XX"}, ValueError, "position must be one of"),
        ({"shape": ()}, ValueError, "shape must be distinct digits"),
        ({"shape": (4, 4)}, ValueError, "shape must be distinct digits"),
        ({"shape": (4.5,)}, TypeError, "shape must be an integer"),
        ({"shape": (-1,)}, ValueError, "shape must be an integer at least 0"),
    ],
)
def test_unknown_values_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        FactorSpec(**arguments)


def test_unknown_factors_are_named():
    with pytest.raises(TypeError, match="got 'colour'"):
        FactorSpec().replace(colour="red")
