"""Values as they are typed: bounds, costs, class priors."""

import numpy as np
import pytest

from shiftmetrics.cli.forms import Option, class_prior, parse_bounds, parse_cost, parse_pairs


def test_bounds_as_they_are_typed():
    assert parse_bounds("data") == "data"
    assert parse_bounds("a=1:2, b=:3,c=0:") == {
        "a": (1.0, 2.0),
        "b": (-np.inf, 3.0),
        "c": (0.0, np.inf),
    }
    for text in ("a", "a=1", "a=x:2", "=", ""):
        if text:
            with pytest.raises(ValueError, match="--bounds must be data, none"):
                parse_bounds(text)


def test_costs_are_a_word_or_numbers_by_column():
    assert parse_cost("std") == "std"
    # The last equals sign parts name and number: names may hold one.
    assert parse_cost("sex=0.1,a=b=inf") == {"sex": 0.1, "a=b": np.inf}
    with pytest.raises(ValueError, match="--price must be a price.*got 'a=x'"):
        parse_pairs("a=x", "--price", "a price", "a=1")
    with pytest.raises(ValueError, match="each name once, got 'a=1,b=2,a=3'"):
        parse_pairs("a=1,b=2,a=3", "--price", "a price", "a=1")


def test_class_priors_are_words_numbers_or_files(tmp_path):
    assert class_prior("uniform", "--prior") is None
    assert class_prior("predicted", "--prior") == "predicted"
    assert class_prior("0.25,0.75", "--prior") == [0.25, 0.75]
    np.save(tmp_path / "prior.npy", [0.5, 0.5])
    np.testing.assert_array_equal(class_prior(str(tmp_path / "prior.npy"), "--prior"), [0.5, 0.5])
    with pytest.raises(ValueError, match="--prior must be uniform, predicted"):
        class_prior("even", "--prior")


def test_names_of_options_are_those_of_parameters():
    assert Option("n_resamples").flag == "--resamples"
    assert Option("id_column").flag == "--id"
    assert Option("confidence_level").flag == "--confidence-level"
    parameter = Option("seed", int, 0, help="A seed.").parameter()
    assert (parameter.name, parameter.default) == ("seed", 0)
