"""Words over files: blanks, spellings, gaps of one file, strays."""

from one_column import decided


def test_blanks_at_the_ends_are_left_out_and_said():
    _, values, typed = decided(["US ", "DE"], ["US", "DE"])
    assert values[0] == values[1]
    assert "1 cell of f0.csv" in " ".join(typed.notes)


def test_another_spelling_is_named_and_stays_another_level():
    _, values, typed = decided(["US", "DE"], ["US", "de"])
    assert values[1] == ["US", "de"]
    assert "'DE' is 'de'" in " ".join(typed.notes)


def test_a_gap_of_one_file_is_the_word_of_the_other():
    assert decided(["a", "NA", "b"], ["a", None, "b"])[1] == [["a", None, "b"]] * 2
    assert decided(["a", "NA", None], ["a", None, "b"])[1][0] == ["a", "NA", None]


def test_a_stray_among_numbers_is_a_problem():
    assert "'oops' in row 3" in decided(["1.5", "2.5", "3.25", "oops"])[2].problems[0].sentence


def test_sentences_are_text_and_addresses_are_not():
    sentences = [f"the order number {place} came too late again" for place in range(20)]
    assert decided(sentences)[0] == "text"
    assert decided([f"10.1.{place}.7" for place in range(20)])[0] == "word"
