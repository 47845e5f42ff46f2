"""Tables in boxes, and records with a line for each cell, are read as the rows that they hold."""

import pytest

from shiftmetrics.tables.content import ReadOptions, UnreadableError
from shiftmetrics.tables.register import read_file

NAMES = ["id", "answer", "note"]
ROWS = [
    ["100", "virginica", "two words"],
    ["107", "setosa", ""],
    ["114", "versicolor", "a, b = c | d"],
]


def boxed(rows=ROWS, top="┌┬┐", inner="├┼┤", edge="│", more=()):
    """Return rows in a box, as sqlite3, psql and polars draw it."""
    widths = [max(map(len, cells)) for cells in zip(NAMES, *rows, *more, strict=True)]

    def rule(signs):
        return signs[0] + signs[1].join("─" * (width + 2) for width in widths) + signs[2]

    def line(cells):
        words = (f" {cell.ljust(width)} " for cell, width in zip(cells, widths, strict=True))
        return edge + edge.join(words) + edge

    lines = [rule(top), line(NAMES), *map(line, more), rule(inner), *map(line, rows), rule("└┴┘")]
    return "\n".join(lines) + "\n"


def expanded(border=False):
    """Return rows as psql -x prints them."""
    lines = []
    for place, row in enumerate(ROWS, start=1):
        lines.append(f"{'+' if border else ''}-[ RECORD {place} ]-{'+--+' if border else ''}")
        cells = [f"{name.ljust(6)} | {cell}" for name, cell in zip(NAMES, row, strict=True)]
        lines += [f"| {cell.ljust(30)} |" for cell in cells] if border else cells
    return "\n".join(lines) + ("\n+--+--+\n" if border else "\n")


def by_stars():
    """Return rows as mariadb prints them behind \\G."""
    lines = []
    for place, row in enumerate(ROWS, start=1):
        lines.append(f"{'*' * 27} {place}. row {'*' * 27}")
        lines += [f"{name.rjust(8)}: {cell}" for name, cell in zip(NAMES, row, strict=True)]
    return "\n".join(lines) + "\n"


def by_equals():
    """Return rows as sqlite3 -line prints them."""
    blocks = [
        "\n".join(f"{name.rjust(8)} = {cell}" for name, cell in zip(NAMES, row, strict=True))
        for row in ROWS
    ]
    return "\n\n".join(blocks) + "\n"


def read(tmp_path, text):
    path = tmp_path / "old.txt"
    path.write_text(text, encoding="utf-8")
    return read_file(path, "OLD", ReadOptions())


PRINTS = [boxed(), "shape: (3, 3)\n" + boxed(), boxed(edge="┃"), boxed(more=[["---"] * 3]),
          expanded(), expanded(border=True), by_stars(), by_equals()]  # fmt: skip


@pytest.mark.parametrize("text", PRINTS)
def test_a_printed_table_is_read(text, tmp_path):
    cells = read(tmp_path, text)
    assert cells.header == "names"
    assert list(cells.frame.columns) == NAMES
    assert cells.frame["id"].tolist() == [100, 107, 114]
    assert cells.frame["answer"].tolist() == [row[1] for row in ROWS]
    assert cells.frame["note"].fillna("").tolist() == [row[2] for row in ROWS]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([*ROWS, ["…", "…", "…"]], "leaves out"),
        ([["1", "virgin…", "x"], *ROWS], "leaves out"),
        ([["1", "a│b", "x"], *ROWS], "4"),
    ],
)
def test_a_print_that_is_not_whole_is_refused(rows, said, tmp_path):
    with pytest.raises(UnreadableError, match=said):
        read(tmp_path, boxed(rows))


def test_records_with_other_names_are_refused(tmp_path):
    with pytest.raises(UnreadableError, match="row 2 has others"):
        read(tmp_path, expanded().replace("answer | setosa", "result | setosa"))
    with pytest.raises(UnreadableError, match="a line for each cell"):
        read(tmp_path, expanded() + "and more\n")


def test_lists_of_settings_are_no_records(tmp_path):
    text = "id,rule\n" + "".join(f"{place},a = {place}\n" for place in range(9))
    assert read(tmp_path, text).frame["rule"].tolist()[:2] == ["a = 0", "a = 1"]


def test_the_rest_of_a_cell_with_ends_of_lines_is_not_lost(tmp_path):
    with pytest.raises(UnreadableError, match="with the line 'more'"):
        read(tmp_path, by_equals() + "\n" + by_equals().rstrip("\n") + "\nmore\n")
