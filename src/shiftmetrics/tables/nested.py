"""Nested cells become columns: objects, lists, vectors, pairs of a label and a score, and texts of them.

A column ``probs`` with cells ``{"cat": 0.3, "dog": 0.7}`` becomes ``probs.cat`` and ``probs.dog``, with cells
``[0.3, 0.7]`` it becomes ``probs.0`` and ``probs.1``. Pairs go by their label, never by their place: tools sort them
by score, in another order in each row.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftmetrics.tables.best_labels import best_labels
from shiftmetrics.tables.parallel_lists import pairs_of_object, with_pairs

if TYPE_CHECKING:
    import pandas as pd

MOST_COLUMNS = 10_000
"""Cells with more keys than that are no classes."""

LABEL_KEYS = ("label", "class", "name", "category", "key", "token_str")
SCORE_KEYS = ("score", "probability", "prob", "confidence", "value", "p")
"""Of cells that are pairs of a label and a score."""

_SPARSE = re.compile(r"\((\d+),\s*(\[.*\]),\s*(\[.*\])\)")
_PAIR = re.compile(r"([^\s:,;]+)[:=]([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)")
_STARRED = re.compile(
    r"\*?[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?(,\*?[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)+"
)
_NUMPY_LIST = re.compile(r"\[[-+\d.eE\s]+\]")
_SCALAR_REPR = re.compile(r"\b(?:np|numpy)\.(?:str_|bool_?|u?int\d*|float\d*)\(([^()]*)\)")
"""How NumPy 2 writes its scalars within lists, such as np.float64(0.3)."""
_ARRAY_REPR = re.compile(
    r"(?:tensor|array|Array)\((\[.*\])(?:,\s*(?:dtype|device|grad_fn|size|requires_grad)=[^\[\]]*)*,?\s*\)",
    re.S,
)
"""How arrays are written in cells: array([0.1, 0.9], dtype=float32), tensor([0.1, 0.9], device='cuda:0')."""
_WEIGHT = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_POSTGRES_ARRAY = re.compile(rf"\{{{_WEIGHT}(?:,{_WEIGHT})+\}}")
_DISTRIBUTION = re.compile(r"[\w.]+(?:\{.*\})?\((.*=>.*)\)")
_ARROW = re.compile(rf'"?([^",()=]+?)"?\s*=>\s*({_WEIGHT})')
_ALTERNATING = re.compile(rf"(?:(\S+)\s+{_WEIGHT})(?:\s+(\S+)\s+{_WEIGHT})*")


def expanded(
    frame: pd.DataFrame, written: Iterable[str]
) -> tuple[pd.DataFrame, frozenset[str], tuple[str, ...]]:
    """Return the frame with nested cells as columns, the columns of texts, and what is said of it."""
    import pandas as pd

    written = set(written)
    columns: dict[str, Any] = {}
    notes = []
    frame, paired_name = with_pairs(frame)
    changed = paired_name is not None
    for name in frame.columns:
        column = frame[name]
        parts = _parts(column)
        if parts is None:
            if column.dtype == object and _is_nested(column):
                changed = True
                column = column.map(_as_text, na_action="ignore")
                written.add(name)
                notes.append(f"cells of {name} hold lists of unequal kinds and stay texts")
            _add(columns, name, column)
            continue
        changed = True
        written.discard(name)
        best = best_labels(parts)
        if best is not None:
            parts, note = best
            notes.append(note)
        for key, values in parts.items():
            # a list of one value in each row is the value
            part = _add(
                columns, name if list(parts) == ["0"] else f"{name}.{key}", pd.Series(values)
            )
            if pd.Series(values).dtype.kind not in "iufb":
                written.add(part)
    if not changed:
        return frame, frozenset(written), ()
    return pd.DataFrame(columns), frozenset(written), tuple(notes)


def pairs_by_label(frame: pd.DataFrame, written: list[str]) -> pd.DataFrame | None:
    """Return a table whose columns are a label and its score in turn, with one column for each label.

    None for other tables. Such rows are sorted by score, so that the same label stands in other columns in other
    rows.
    """
    import pandas as pd

    names = list(frame.columns)
    n_pairs = len(names) // 2
    labels = names[::2]
    scores = names[1::2]
    if (
        n_pairs < 2
        or len(names) % 2
        or not set(labels) <= set(written)
        or set(scores) & set(written)
    ):
        return None
    rows = frame[labels].to_numpy(dtype=object)
    words = pd.unique(pd.Series(rows.ravel()).dropna())
    # each row names each label once at most, and the labels stand in several columns
    distinct = [len(set(row)) == n_pairs for row in rows]
    shared = set(rows[:, 0]) & set(rows[:, 1])
    if not all(distinct) or not shared or len(words) > MOST_COLUMNS:
        return None
    values = frame[scores].to_numpy(dtype=float)
    table = np.full((len(frame), len(words)), np.nan)
    for place, word in enumerate(words):
        row, column = np.nonzero(rows == word)
        table[row, place] = values[row, column]
    by_label = dict(zip(map(str, words), table.T, strict=True))
    best = best_labels(by_label)
    return pd.DataFrame(by_label if best is None else best[0])


def _add(columns: dict[str, Any], name: str, values: Any) -> str:
    number = 1
    free = name
    while free in columns:
        number += 1
        free = f"{name} {number}"
    columns[free] = values
    return free


def _is_nested(column: pd.Series) -> bool:
    return any(isinstance(cell, (dict, list, tuple, np.ndarray)) for cell in column)


def _parts(column: pd.Series) -> dict[str, Any] | None:
    """Return the columns that the cells of a column hold; None if they are plain."""
    if column.dtype.kind in "iufbMm":
        return None
    first = next((cell for cell in column if _is_cell(cell)), None)
    if first is None or (isinstance(first, str) and _from_text(first) is None):
        return None
    if not isinstance(first, (str, dict, list, tuple, np.ndarray)):
        return None
    cells = []
    for cell in column:
        found = _as_mapping(cell)
        if found is None and _is_cell(cell):
            return None
        cells.append(found)
    return _by_key(cells)


def _is_cell(cell: Any) -> bool:
    """Return False for gaps."""
    if cell is None or (isinstance(cell, float) and cell != cell):
        return False
    return type(cell).__name__ not in ("NAType", "NaTType")


def _by_key(cells: Sequence[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    """Return one column for each key: a gap where a cell has no such key."""
    keys: dict[str, None] = {}
    for cell in cells:
        if cell is not None:
            keys.update(dict.fromkeys(cell))
            if len(keys) > MOST_COLUMNS:
                return None
    lengths = {len(cell) for cell in cells if cell is not None}
    # Vectors have one length; a list that is longer in some rows is no vector of scores.
    by_place = all(key.isdigit() for key in keys)
    if not keys or (by_place and len(lengths) > 1):
        return None
    found: dict[str, Any] = {}
    for key in keys:
        values = [None if cell is None else cell.get(key) for cell in cells]
        if any(isinstance(value, (dict, list, tuple, np.ndarray)) for value in values):
            inner = _by_key([_as_mapping(value) if _is_cell(value) else None for value in values])
            if inner is None:
                return None
            is_one = list(inner) == ["0"]
            found.update({key if is_one else f"{key}.{name}": part for name, part in inner.items()})
            continue
        given = [value for value in values if value is not None]
        numbers = all(
            isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
            for value in given
        )
        found[key] = (
            np.array(values, dtype=float) if numbers and len(given) < len(values) else values
        )
    return found


def _as_mapping(cell: Any) -> dict[str, Any] | None:
    """Return a nested cell as keys and values; None if it is a gap or plain."""
    if isinstance(cell, str):
        return _from_text(cell)
    if isinstance(cell, np.ndarray):
        cell = cell.tolist()
    if isinstance(cell, Mapping):
        return _from_object(cell)
    if isinstance(cell, (list, tuple)):
        return _from_list(cell)
    return None


def _from_object(cell: Mapping[Any, Any]) -> dict[str, Any] | None:
    # vectors of Spark: dense ones have their values, sparse ones places and values
    if set(cell) >= {"type", "values"} and isinstance(cell["values"], (list, np.ndarray)):
        values = list(cell["values"])
        if cell.get("indices") is not None and cell["type"] == 0:
            return _sparse(int(cell["size"]), list(cell["indices"]), values)
        return {str(place): value for place, value in enumerate(values)}
    return pairs_of_object(cell) or {str(key): value for key, value in cell.items()}


def _from_list(cell: Sequence[Any]) -> dict[str, Any] | None:
    items = [item.tolist() if isinstance(item, np.ndarray) else item for item in cell]
    if items and all(isinstance(item, Mapping) for item in items):
        pairs = _from_pairs([_label_and_score(item) for item in items])
        # a batch of one answer, as services give it
        return _from_object(items[0]) if pairs is None and len(items) == 1 else pairs
    if len(items) == 1 and isinstance(items[0], str):
        return {"0": items[0]}
    if items and all(_is_pair(item) for item in items):
        return _from_pairs([(item[0], item[1]) for item in items])
    if not items or not all(
        isinstance(item, (int, float, np.number)) or item is None for item in items
    ):
        if len(items) == 1 and isinstance(items[0], list):
            # a batch of one row
            return _from_list(items[0])
        return None
    return {str(place): value for place, value in enumerate(items)}


def _is_pair(item: Any) -> bool:
    return isinstance(item, (list, tuple)) and len(item) == 2 and isinstance(item[0], str)


def _label_and_score(item: Mapping[Any, Any]) -> tuple[Any, Any] | None:
    lower = {str(key).lower(): value for key, value in item.items()}
    label = next((lower[key] for key in LABEL_KEYS if key in lower), None)
    score = next((lower[key] for key in SCORE_KEYS if key in lower), None)
    if label is None and isinstance(lower.get("value"), str):
        label = lower["value"]
    if len(item) == 1:
        ((label, score),) = item.items()
    if label is None or isinstance(score, (str, list, dict)) or score is None:
        return None
    return label, score


def _from_pairs(pairs: Sequence[tuple[Any, Any] | None]) -> dict[str, Any] | None:
    known = [pair for pair in pairs if pair is not None]
    labels = [str(label) for label, _ in known]
    if len(known) < len(pairs) or len(set(labels)) < len(labels):
        return None
    return {label: score for label, (_, score) in zip(labels, known, strict=True)}


def _sparse(size: int, places: Sequence[Any], values: Sequence[Any]) -> dict[str, Any] | None:
    if not 0 < size <= MOST_COLUMNS or len(places) != len(values):
        return None
    dense = dict.fromkeys(map(str, range(size)), 0.0)
    dense.update({str(int(place)): value for place, value in zip(places, values, strict=True)})
    return dense if len(dense) == size else None


def _from_text(text: str) -> dict[str, Any] | None:
    """Return the keys and values of a nested cell that is written as text."""
    text = _without_types(text.strip())
    if text[:1] in "[{(" and text[-1:] in "]})":
        return _from_brackets(text)
    if "=>" in text:
        return _from_arrows(text)
    if ":" in text or "=" in text:
        found = _PAIR.findall(text)
        rest = _PAIR.sub("", text).replace(",", "").replace(";", "").strip()
        # Pairs with colons need a blank between them; pairs with equals signs do not.
        # a time such as 10:30 has one pair, and its key is a number
        if not rest and (len(found) > 1) and len(text.split()) > 1 - (":" not in text):
            return _from_pairs([(key, float(value)) for key, value in found])
        return None
    if _STARRED.fullmatch(text) and "*" in text:
        # the largest one is marked with a star
        return {str(place): float(part.lstrip("*")) for place, part in enumerate(text.split(","))}
    words = text.split()
    if len(words) > 1 and len(words) % 2 == 0 and _ALTERNATING.fullmatch(text):
        labels = words[::2]
        # a street and its number, such as "Main 12", is no label with its score
        is_place = len(words) == 2 and words[1].isdigit() and int(words[1]) > 1
        if not is_place and not any(re.fullmatch(_WEIGHT, label) for label in labels):
            return _from_pairs(
                [(label, float(score)) for label, score in zip(labels, words[1::2], strict=True)]
            )
    return None


def _without_types(text: str) -> str:
    """Return a text of values without the types that Python writes around them."""
    if not text.endswith((")", "]", "}")):
        return text
    array = _ARRAY_REPR.fullmatch(text)
    if array is not None:
        text = array[1]
    return _SCALAR_REPR.sub(r"\1", text) if "np." in text or "numpy." in text else text


def _from_arrows(text: str) -> dict[str, Any] | None:
    """Return the pairs of a distribution that is printed as Distribution{...}(cat=>0.3, dog=>0.7)."""
    written = _DISTRIBUTION.fullmatch(text)
    if written is None:
        return None
    pairs = _ARROW.findall(written[1])
    rest = _ARROW.sub("", written[1]).replace(",", "").strip()
    return None if rest else _from_pairs([(key.strip(), float(value)) for key, value in pairs])


def _from_brackets(text: str) -> dict[str, Any] | None:
    sparse = _SPARSE.fullmatch(text)
    if sparse:
        return _sparse(int(sparse[1]), json.loads(sparse[2]), json.loads(sparse[3]))
    if _NUMPY_LIST.fullmatch(text) and "," not in text:
        return {str(place): float(part) for place, part in enumerate(text[1:-1].split())}
    if _POSTGRES_ARRAY.fullmatch(text):
        return {str(place): float(part) for place, part in enumerate(text[1:-1].split(","))}
    try:
        found = json.loads(text)
    except ValueError:
        try:
            # as Python writes it, with single quotes
            found = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None
    if isinstance(found, (dict, list, tuple)):
        return _as_mapping(found)
    return None


def _as_text(cell: Any) -> str:
    if isinstance(cell, np.ndarray):
        cell = cell.tolist()
    if isinstance(cell, str):
        return cell
    return json.dumps(cell, default=str, ensure_ascii=False)
