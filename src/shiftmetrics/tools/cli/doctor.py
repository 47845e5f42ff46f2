"""The command ``shiftmetrics doctor``: what is installed, what it runs on, and known conflicts."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import sys

REQUIRED = (
    "numpy", "scipy", "scikit-learn", "pandas", "matplotlib", "jinja2", "typer", "tqdm", "array-api-compat",
)  # fmt: skip
OPTIONAL = {
    "torch": "torch",
    "torchmetrics": "torch",
    "pyarrow": "parquet",
    "cvxpy": "conic",
    "clarabel": "conic",
}
CONFLICTS = {
    "torchvision": (
        "import torchvision",
        "While it is installed, torchmetrics and lightning fail to import too. shiftmetrics does not need it: "
        "pip uninstall torchvision, or install the build that matches your torch.",
    ),
    "torchmetrics": ("import torchmetrics", ""),
    "pyarrow": ("import pandas, pyarrow.parquet", "Parquet files cannot be read."),
}
"""By package: what fails where it is broken, and what follows."""

_TORCH_PROBE = """
import torch
devices = ["cpu"]
if torch.cuda.is_available():
    devices += [f"cuda:{i} {torch.cuda.get_device_name(i)}" for i in range(torch.cuda.device_count())]
if getattr(torch.backends, "mps", None) and torch.backends.mps.is_available():
    devices += ["mps"]
print("; ".join(devices))
"""


def doctor() -> None:
    """Show versions and devices, and look for known conflicts between installed packages."""
    from rich.text import Text

    from shiftmetrics._core.blocks import cpu_count
    from shiftmetrics._version import __version__
    from shiftmetrics.tools.cli.outputs import new_console, print_table

    threads = os.environ.get("OMP_NUM_THREADS", "")
    rows = [
        ("shiftmetrics", __version__, ""),
        ("python", platform.python_version(), sys.executable),
        ("platform", f"{platform.system()} {platform.machine()}", ""),
        ("cpus", str(cpu_count()), f"OMP_NUM_THREADS={threads}" if threads else ""),
    ]
    versions = {name: _version(name) for name in (*REQUIRED, *OPTIONAL, *CONFLICTS)}
    missing = [name for name in REQUIRED if versions[name] is None]
    for name in (*REQUIRED, *OPTIONAL):
        version, remark = versions[name], ""
        if version is None:
            extra = OPTIONAL.get(name)
            remark = f"optional: pip install 'shiftmetrics[{extra}]'" if extra else "required"
        elif name == "torch":
            ran, output = _probe(_TORCH_PROBE)
            remark = f"devices: {output}" if ran else f"cannot be imported: {output}"
        rows.append((name, version or "not installed", remark))
    console = new_console()
    print_table(console, ("", "found", "remark"), rows)
    conflicts = 0
    for name, (code, consequence) in CONFLICTS.items():
        ran, output = (True, "") if versions[name] is None else _probe(code)
        if not ran:
            conflicts += 1
            text = f"Conflict: {name} {versions[name]} cannot be imported ({output}). {consequence}".rstrip()
            console.print(Text(text, style="yellow"))
    if missing:
        raise ImportError(f"shiftmetrics needs {', '.join(missing)}: pip install --upgrade shiftmetrics.")
    console.print(f"{conflicts} known conflict(s)." if conflicts else "No known conflicts.")


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _probe(code: str) -> tuple[bool, str]:
    """Run ``code`` in a fresh interpreter, where a crash does no harm; return whether it ran, and its last line."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
        )
    except subprocess.TimeoutExpired:
        return False, "it did not finish within two minutes"
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    return done.returncode == 0, lines[-1] if lines else f"exit code {done.returncode}"
