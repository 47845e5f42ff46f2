"""Nested cells become columns."""

import pandas as pd

from shiftmetrics.tables.nested import expanded


def test_objects_become_columns():
    frame, _, _ = expanded(pd.DataFrame({"p": [{"a": 0.25}, {"a": 0.5}]}), [])
    assert frame["p.a"].tolist() == [0.25, 0.5]


def test_an_array_as_postgresql_writes_it_becomes_columns():
    frame, _, _ = expanded(pd.DataFrame({"probs": ["{0.25,7.5e-1}", "{1,0}"]}), ["probs"])
    assert frame.to_dict("list") == {"probs.0": [0.25, 1.0], "probs.1": [0.75, 0.0]}


def rows_of(cells):
    frame, *_ = expanded(pd.DataFrame({"p": pd.Series(cells, dtype=object)}), ["p"])
    return frame


def test_pairs_go_by_their_label_whatever_the_case_of_the_keys():
    cells = [
        [{"Name": "cat", "Score": 0.75}, {"Name": "dog", "Score": 0.25}],
        [{"Name": "dog", "Score": 0.5}, {"Name": "cat", "Score": 0.5}],
    ]
    frame = rows_of(cells)
    assert frame["p.cat"].tolist() == [0.75, 0.5]
    assert frame["p.dog"].tolist() == [0.25, 0.5]


def test_a_value_that_is_a_word_is_the_label():
    cells = [[{"value": "cat", "confidence": 0.75}], [{"value": "dog", "confidence": 0.5}]]
    frame = rows_of(cells)
    assert frame["p.label"].tolist() == ["cat", "dog"]
    assert frame["p.score"].tolist() == [0.75, 0.5]


def test_a_printed_distribution_becomes_columns():
    cells = [
        "UnivariateFinite{Multiclass{3}}(cat=>0.1, dog=>0.9, sea lion=>4.0e-5)",
        "UnivariateFinite{Multiclass{3}}(cat=>0.75, dog=>0.25, sea lion=>0.0)",
    ]
    frame = rows_of(cells)
    assert frame["p.cat"].tolist() == [0.1, 0.75]
    assert frame["p.sea lion"].tolist() == [4e-5, 0.0]
    words = ["if (a=>1, then b) x", "a => b"]
    assert rows_of(words)["p"].tolist() == words


def test_values_go_without_the_types_that_python_writes_around_them():
    for first, second in (
        ("[np.float64(0.25), np.float64(0.75)]", "[np.float64(1.0), np.float64(0.0)]"),
        ("array([0.25, 0.75], dtype=float32)", "array([1., 0.], dtype=float32)"),
        ("tensor([0.25, 0.75], device='cuda:0', grad_fn=<UnbindBackward0>)", "tensor([1., 0.])"),
    ):
        frame = rows_of([first, second])
        assert frame.to_dict("list") == {"p.0": [0.25, 1.0], "p.1": [0.75, 0.0]}, first
    named = rows_of(["{'cat': np.float32(0.25), 'np.dog': np.float32(0.75)}"])
    assert named.to_dict("list") == {"p.cat": [0.25], "p.np.dog": [0.75]}
    # A sentence is none.
    assert rows_of(["call np.float64(3) twice (or once)"])["p"].tolist() == [
        "call np.float64(3) twice (or once)"
    ]


def test_lists_of_one_value_are_the_value():
    assert rows_of([["cat"], ["dog"]]).to_dict("list") == {"p": ["cat", "dog"]}
    assert rows_of(["[0.25]", "[0.5]"]).to_dict("list") == {"p": [0.25, 0.5]}
    found = rows_of([[{"score": 0.5, "answer": {"choices": ["cat"]}}], [{"score": 1.0}]])
    assert found["p.score"].tolist() == [0.5, 1.0]
    assert found["p.answer.choices"].iloc[0] == "cat"
    assert found["p.answer.choices"].isna().tolist() == [False, True]
    # A second label in some row is a set of labels, and stays what it is.
    assert rows_of([["cat"], ["dog", "fox"]])["p"].tolist() == ['["cat"]', '["dog", "fox"]']
