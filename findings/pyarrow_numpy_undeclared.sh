#!/usr/bin/env bash
# PyArrow 26.0.1 cannot be imported beside NumPy 1.26.4 ("requires NumPy 2.0 or newer"), yet says so in no requirement: pip
# installs both together, and `pip check` finds nothing. OpenCompass 0.5.4, which asks for numpy<2 and, by way of datasets,
# for pyarrow, is installed so today, and does not start. Guess before the run: pip refuses the pair, or takes an older one.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==1.26.4 pyarrow==26.0.1
"$folder/venv/bin/pip" check
"$folder/venv/bin/python" - <<'PY'
from importlib.metadata import requires, version

print("pyarrow", version("pyarrow"), "numpy", version("numpy"))
plain = [line for line in requires("pyarrow") or [] if "extra ==" not in line]
print("requirements of pyarrow:", plain)
try:
    import pyarrow
except ImportError as error:
    said = str(error)
else:
    said = ""
print("import pyarrow:", said or "works")
assert not any(line.startswith("numpy") for line in plain)
assert "NumPy 2.0" in said
PY
