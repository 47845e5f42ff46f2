"""The tables of the papers, copied here once more, row by row as they are printed."""

import itertools

import pytest

from shiftmetrics_lab.shifts.factors.published import CORRECTIONS, ENVIRONMENTS
from shiftmetrics_lab.shifts.factors.spec import FACTORS

DISCRIMINABILITY = ENVIRONMENTS["discriminability"]
HUE_TEST, POSITION_TEST = ENVIRONMENTS["hue test"], ENVIRONMENTS["position test"]
HUE_TRAINING, POSITION_TRAINING = ENVIRONMENTS["hue training"], ENVIRONMENTS["position training"]
HUE_CO_OCCURRENCE_TEST = ENVIRONMENTS["hue co-occurrence test"]
POSITION_CO_OCCURRENCE_TEST = ENVIRONMENTS["position co-occurrence test"]
HUE_VALIDATION, POSITION_VALIDATION = (
    {
        name: ENVIRONMENTS[f"{factor} validation {name}"]
        for name in ("SD", "ID", "1F-MD", "5F-MD", "OOD")
    }
    for factor in ("hue", "position")
)

# Paper table 2 = thesis tables 4.6 and C.1.
TABLE_2 = """
Hue red blue blue blue blue blue
Lightness dark dark bright bright bright bright
Position CC CC CC LC LC LC
Scale normal normal normal normal large large
Texture blank blank blank blank blank tiles
"""
# Thesis table 5.2 = C.2.
TABLE_5_2 = """
Hue red green green green green green
Lightness dark dark bright bright bright bright
Position CC CC CC CC UL UL
Scale large large large large large small
Texture blank blank blank tiles tiles tiles
"""
# Thesis table C.3 as printed: its hue turns back.
TABLE_C_3 = """
Hue green green green red green green
Lightness dark dark dark dark bright bright
Position UL CC CC CC CC CC
Scale large large small small small small
Texture blank blank blank blank blank tiles
"""
# Thesis table C.6, hue and position.
TABLE_C_6_HUE = """
Position CC CC CR CR CR CR
Scale large large large small small small
Lightness bright bright bright bright dark dark
Texture tiles tiles tiles tiles tiles wood
"""
TABLE_C_6_POSITION = """
Scale large large small small small small
Hue blue blue blue red red red
Lightness bright bright bright bright dark dark
Texture tiles tiles tiles tiles tiles wood
"""


def columns(printed):
    rows = [line.split() for line in printed.strip().splitlines()]
    return {row[0].lower(): row[1:] for row in rows}


@pytest.mark.parametrize(
    ("environments", "printed", "shape"),
    [
        (DISCRIMINABILITY, TABLE_2, (4, 9)),
        (HUE_TEST, TABLE_5_2, (1, 4, 7, 9)),
        (
            POSITION_TEST,
            TABLE_C_3.replace("green green green red green green", "green green green red red red"),
            (1, 4, 7, 9),
        ),
        (HUE_CO_OCCURRENCE_TEST, TABLE_C_6_HUE, (4, 7, 9)),
        (POSITION_CO_OCCURRENCE_TEST, TABLE_C_6_POSITION, (4, 7, 9)),
    ],
)
def test_environments_equal_the_printed_tables(environments, printed, shape):
    for factor, values in columns(printed).items():
        assert [getattr(spec, factor) for spec in environments] == values, factor
    assert {spec.shape for spec in environments} == {shape}


@pytest.mark.parametrize("environments", [DISCRIMINABILITY, HUE_TEST, POSITION_TEST])
def test_environment_j_shifts_j_factors_cumulatively(environments):
    for count, spec in enumerate(environments):
        assert len(spec.differences(environments[0])) == count
    for before, after in itertools.pairwise(environments):
        assert len(after.differences(before)) == 1


@pytest.mark.parametrize("environments", [HUE_CO_OCCURRENCE_TEST, POSITION_CO_OCCURRENCE_TEST])
def test_co_occurrence_tests_shift_one_factor_at_a_time_after_the_first(environments):
    assert environments[0].equals(environments[1])
    for count, spec in enumerate(environments[1:]):
        assert len(spec.differences(environments[0])) == count


def test_training_and_validation_pairs():
    assert [tuple(spec.values().values()) for spec in HUE_TRAINING] == [
        ("red", "dark", "CC", "large", "blank"),
        ("blue", "dark", "CC", "large", "blank"),
    ]
    assert [spec.position for spec in POSITION_TRAINING] == ["UL", "LR"]
    for pairs, factor, sources in (
        (HUE_VALIDATION, "hue", HUE_TRAINING),
        (POSITION_VALIDATION, "position", POSITION_TRAINING),
    ):
        shifted = {name: second.differences(first) for name, (first, second) in pairs.items()}
        assert shifted == {
            "SD": (),
            "ID": (factor,),
            "1F-MD": (factor,),
            "5F-MD": tuple(FACTORS),
            "OOD": (factor,),
        }
        assert all(a.equals(b) for a, b in zip(pairs["ID"], sources, strict=True))
        # In the pair out of distribution both values are new.
        known = {getattr(spec, factor) for spec in sources}
        assert not known & {getattr(spec, factor) for spec in pairs["OOD"]}
        assert all(pairs[name][0].equals(sources[0]) for name in ("SD", "ID", "1F-MD", "5F-MD"))


def test_the_printed_slip_is_a_slip_and_is_noted():
    printed = columns(TABLE_C_3)
    differences = [sum(values[j] != values[0] for values in printed.values()) for j in range(6)]
    assert differences == [0, 1, 2, 3, 3, 4]  # not 0 to 5: the hue turns back
    assert "thesis C.3" in CORRECTIONS
    assert {"thesis C.5", "thesis C.6, caption", "paper, section 4.2"} <= set(CORRECTIONS)
