"""A comparison of tokens: its tiles hold the fraction of places that change, and the divergence."""

import every_kind
from shiftmetrics.views.report.tokens import answer_of_tokens


def test_the_tiles_hold_what_is_counted(tmp_path):
    result = every_kind.tokens(tmp_path)
    tiles = {tile.name: tile for tile in answer_of_tokens(result).tiles}
    counted = int(result.changes.changed.sum()), int(result.changes.n_places.sum())
    assert float(tiles["Changed tokens"].value.split()[0]) == float(
        f"{100 * counted[0] / counted[1]:.2g}"
    )
    assert tiles["Changed tokens"].meaning.startswith("95 %: ")
    assert tiles["Tokens"].value == str(counted[1])
    assert float(tiles["Divergence"].value) > 0.0
