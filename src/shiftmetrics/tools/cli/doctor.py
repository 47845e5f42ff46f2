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

    from shiftmetrics.tools.cli.outputs import new_console, print_table

    console = new_console()
    print_table(console, ("", "found", "remark"), [*_machine(), *_packages()])
    conflicts = []
    for name, (code, consequence) in CONFLICTS.items():
        version = _version(name)
        ran, output = (True, "") if version is None else _probe(code)
        if not ran:
            conflicts.append(f"{name} {version} cannot be imported ({output}). {consequence}".rstrip())
    for conflict in conflicts:
        console.print(Text(f"Conflict: {conflict}", style="yellow"))
    missing = [name for name in REQUIRED if _version(name) is None]
    if missing:
        raise ImportError(f"shiftmetrics needs {', '.join(missing)}: pip install --upgrade shiftmetrics.")
    console.print("No known conflicts." if not conflicts else f"{len(conflicts)} known conflict(s).")


def _machine() -> list[tuple[str, str, str]]:
    from shiftmetrics._core.blocks import cpu_count
    from shiftmetrics._version import __version__

    threads = os.environ.get("OMP_NUM_THREADS", "")
    return [
        ("shiftmetrics", __version__, ""),
        ("python", platform.python_version(), sys.executable),
        ("platform", f"{platform.system()} {platform.machine()}", ""),
        ("cpus", str(cpu_count()), f"OMP_NUM_THREADS={threads}" if threads else ""),
    ]


def _packages() -> list[tuple[str, str, str]]:
    rows = [(name, _version(name) or "missing", "" if _version(name) else "required") for name in REQUIRED]
    for name, extra in OPTIONAL.items():
        version = _version(name)
        remark = f"optional: pip install 'shiftmetrics[{extra}]'" if version is None else ""
        if name == "torch" and version is not None:
            ran, output = _probe(_TORCH_PROBE)
            remark = f"devices: {output}" if ran else f"cannot be imported: {output}"
        rows.append((name, version or "not installed", remark))
    return rows


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
