import pytest

from shiftmetrics.examples.evaluate import WithheldDigit, evaluate_digits


def test_all_measures_have_an_answer(small):
    measures = [result.measure for result in small.results.values()]
    assert [measure.split(".")[0] for measure in measures] == [
        "posterior_agreement",
        "posterior_agreement",
        "stability",
        "novelty",
    ]
    assert all(result.status.ok for result in small.results.values())
    assert set(small.context.rows) == set(small.results)


def test_the_withheld_digit_is_found_in_a_small_sample_too(small):
    assert small.withheld.found
    assert small.withheld.digit == 0
    assert "first novel mode is that digit" in str(small.withheld)
    assert str(small.withheld) in small.context.remarks.values()


def test_the_seed_fixes_everything(small):
    again = evaluate_digits(n_images=500, withheld=0)
    for name, result in small.results.items():
        assert again.results[name].value == result.value
    assert again.withheld == small.withheld


@pytest.mark.parametrize(
    "options", [{"withheld": 10}, {"withheld": -1}, {"seed": -1}, {"n_images": 50}]
)
def test_arguments_out_of_range(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        evaluate_digits(**options)


def test_a_mode_that_is_another_digit_is_not_praised():
    withheld = WithheldDigit(
        digit=3, n_images=9, n_typical=12, n_typical_found=2, n_members=8, n_members_found=1
    )
    assert not withheld.found
    assert "is not that digit: 2 of its 12" in str(withheld)


@pytest.mark.slow
@pytest.mark.parametrize("withheld", range(0, 10, 2))
def test_every_digit_is_found_when_it_is_withheld(withheld):
    found = evaluate_digits(withheld=withheld).withheld
    assert found.n_typical_found == found.n_typical == 12
    assert found.purity > 0.35
