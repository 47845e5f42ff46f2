"""The folder of experiments stands beside the package: its modules are imported by their file names."""

import sys
from pathlib import Path

for folder in ("papers/real", "papers"):
    sys.path.insert(0, str(Path(__file__).parents[2] / folder))
