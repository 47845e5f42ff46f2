"""A result as a card: the verdict and its chart, or the measure with its own."""

from shiftmetrics.stability import FixedLoss, stability_criterion


def test_the_card_of_a_notebook_shows_the_same(decided):
    card = decided._repr_html_()
    for part in ("SAFE", "Ship it.", "Kappa 0.9.", "var(--good)"):
        assert part in card
    assert "&lt;b&gt;" in card


def test_the_card_of_a_measure_has_its_chart():
    measured = stability_criterion(FixedLoss([0.0, 0.0, 1.0, 0.0]), 0.5)
    card = measured._repr_html_()
    assert "<svg" in card
    assert "BREAKS" in card
    assert measured.headline() in card
