#!/usr/bin/env bash
# pandas 2.3: DataFrame.to_json writes times in the unit of their dtype, divided as if they were nanoseconds.
#
# The default of to_json is milliseconds since 1970. A column of datetime64[us], which pyarrow, polars and DuckDB hand
# over, is written 1,000 times too small and one of datetime64[s] a billion times, without a warning: the same moment
# stands as four different numbers in one row. read_json finds the times of ns and us again by their size, and leaves
# those of ms and s as the integers 1704102 and 1704. Guess before the run: all four are 1704102533000, as in pandas 3.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet "pandas==2.3.3" "numpy==2.3.5"
"$work/venv/bin/python" - <<'PYTHON'
import io
import json
import sys

import pandas as pd

moment = pd.to_datetime(["2024-01-01 09:48:53"])
units = ("ns", "us", "ms", "s")
frame = pd.DataFrame({unit: moment.astype(f"datetime64[{unit}]") for unit in units})
text = frame.to_json(orient="records")
(row,) = json.loads(text)
back = pd.read_json(io.StringIO(text), convert_dates=list(units))
print("pandas", pd.__version__)
print("written:", text)
print("read back:", {unit: str(back[unit].iloc[0]) for unit in units})
expected = {"ns": 1704102533000, "us": 1704102533, "ms": 1704102, "s": 1704}
if row != expected:
    sys.exit(f"changed: {row} in place of {expected}")
print("seen: one moment is written as four numbers, three of them in no unit of to_json's default")
PYTHON
