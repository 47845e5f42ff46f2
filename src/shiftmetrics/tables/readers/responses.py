"""Answers of model servers in JSON: arrays whose shape, names or classes stand beside their values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def columns_of_response(found: Mapping[str, Any]) -> dict[str, list[Any]] | None:
    """Return the columns of a response of a server, or of an export of classes and labels; None for anything else."""
    return _outputs(found) or _named_array(found) or _labels_by_place(found)


def _outputs(found: Mapping[str, Any]) -> dict[str, list[Any]] | None:
    """Return the tensors of the protocol of KServe and Triton: a name, a shape and all values one after another."""
    outputs = found.get("outputs")
    if not isinstance(outputs, list) or not outputs:
        return None
    columns: dict[str, list[Any]] = {}
    for tensor in outputs:
        if not isinstance(tensor, dict) or not {"name", "shape", "data"} <= set(tensor):
            return None
        part = _of_shape(str(tensor["name"]), tensor["shape"], tensor["data"])
        if part is None:
            return None
        columns.update(part)
    is_whole = len({len(values) for values in columns.values()}) == 1
    return columns if is_whole else None


def _named_array(found: Mapping[str, Any]) -> dict[str, list[Any]] | None:
    """Return the array of Seldon: names of its columns beside rows, or beside a tensor."""
    data = found.get("data")
    if not isinstance(data, dict) or not {"ndarray", "tensor"} & set(data):
        return None
    rows = data.get("ndarray")
    tensor = data.get("tensor")
    if isinstance(tensor, dict):
        columns = _of_shape("", tensor.get("shape"), tensor.get("values"))
    elif isinstance(rows, list) and rows and all(isinstance(row, list) for row in rows):
        if len({len(row) for row in rows}) > 1:
            return None
        values = [value for row in rows for value in row]
        columns = _of_shape("", [len(rows), len(rows[0])], values)
    elif isinstance(rows, list) and rows:
        columns = {"": rows}
    else:
        return None
    names = data.get("names")
    # Names in another number are of something else; the places of the columns do instead.
    if columns is None or not isinstance(names, list) or len(names) != len(columns):
        names = None if columns is None else list(range(len(columns)))
    if columns is None or names is None or len(set(map(str, names))) < len(names):
        return None
    return dict(zip(map(str, names), columns.values(), strict=True))


def _labels_by_place(found: Mapping[str, Any]) -> dict[str, list[Any]] | None:
    """Return the labels of files by name, given as places among the classes, as exports of images have them."""
    if set(found) != {"classes", "labels"}:
        return None
    classes, labels = found["classes"], found["labels"]
    if not isinstance(classes, list) or not isinstance(labels, dict) or not labels:
        return None
    places = list(labels.values())
    if any(type(place) is not int or not 0 <= place < len(classes) for place in places):
        return None
    return {"id": list(labels), "label": [str(classes[place]) for place in places]}


def _of_shape(name: str, shape: Any, values: Any) -> dict[str, list[Any]] | None:
    """Return values that stand one after another as the columns of a matrix."""
    if not isinstance(shape, list) or not isinstance(values, list) or not shape:
        return None
    if any(type(size) is not int or size < 1 for size in shape):
        return None
    if len(shape) > 2 or math.prod(shape) != len(values):
        return None
    if any(isinstance(value, (list, dict)) for value in values):
        return None
    n_columns = shape[1] if len(shape) == 2 else 1
    if n_columns == 1:
        return {name: values}
    return {f"{name}.{place}": values[place::n_columns] for place in range(n_columns)}
