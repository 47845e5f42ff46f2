"""The command ``shiftmetrics doctor``: what is installed, what it runs on, and known conflicts."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import sys
from dataclasses import dataclass

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

_TORCH_PROBE = """
import torch
devices = ["cpu"]
if torch.cuda.is_available():
    devices += [f"cuda:{i} {torch.cuda.get_device_name(i)}" for i in range(torch.cuda.device_count())]
if getattr(torch.backends, "mps", None) and torch.backends.mps.is_available():
    devices += ["mps"]
print("; ".join(devices))
"""


@dataclass(frozen=True)
class Finding:
    """One line of the examination."""

    name: str
    value: str
    remark: str = ""
    broken: bool = False


def doctor() -> None:
    """Show versions and devices, and look for known conflicts between installed packages."""
    from rich.text import Text

    from shiftmetrics.tools.cli.outputs import new_console, print_table

    console = new_console()
    findings = [*_machine(), *_packages()]
    print_table(console, ("", "found", "remark"), [(f.name, f.value, f.remark) for f in findings])
    conflicts = _conflicts()
    for conflict in conflicts:
        console.print(Text(f"Conflict: {conflict}", style="yellow"))
    broken = [finding.name for finding in findings if finding.broken]
    if broken:
        raise ImportError(f"shiftmetrics needs {', '.join(broken)}: pip install --upgrade shiftmetrics.")
    console.print("No known conflicts." if not conflicts else f"{len(conflicts)} known conflict(s).")


def _machine() -> list[Finding]:
    from shiftmetrics._core.blocks import cpu_count
    from shiftmetrics._version import __version__

    threads = os.environ.get("OMP_NUM_THREADS", "")
    return [
        Finding("shiftmetrics", __version__),
        Finding("python", platform.python_version(), sys.executable),
        Finding("platform", f"{platform.system()} {platform.machine()}"),
        Finding("cpus", str(cpu_count()), f"OMP_NUM_THREADS={threads}" if threads else ""),
    ]


def _packages() -> list[Finding]:
    findings = []
    for name in REQUIRED:
        version = _version(name)
        findings.append(
            Finding(name, version or "missing", "" if version else "required", broken=not version)
        )
    for name, extra in OPTIONAL.items():
        version = _version(name)
        remark = f"optional: pip install 'shiftmetrics[{extra}]'" if version is None else ""
        if name == "torch" and version is not None:
            ran, said = _probe(_TORCH_PROBE)
            remark = f"devices: {said}" if ran else f"cannot be imported: {said}"
        findings.append(Finding(name, version or "not installed", remark))
    return findings


def _conflicts() -> list[str]:
    """Return what is known to break, tried in a child process so that a crash stays there."""
    found = []
    if _version("torchvision") is not None:
        ran, said = _probe("import torchvision")
        if not ran:
            found.append(
                f"torchvision {_version('torchvision')} cannot be imported ({said}). While it is "
                "installed, torchmetrics and lightning fail to import too. shiftmetrics does not need "
                "it: pip uninstall torchvision, or install the build that matches your torch."
            )
    if _version("torch") is not None and _version("torchmetrics") is not None:
        ran, said = _probe("import torchmetrics")
        if not ran:
            found.append(f"torchmetrics is installed but cannot be imported ({said}).")
    if _version("pyarrow") is not None:
        ran, said = _probe("import pandas, pyarrow.parquet")
        if not ran:
            found.append(
                f"pyarrow is installed but cannot be imported ({said}); parquet files cannot be read."
            )
    return found


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _probe(code: str) -> tuple[bool, str]:
    """Run ``code`` in a fresh interpreter; return whether it ran, and the last line that it said."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
        )
    except subprocess.TimeoutExpired:
        return False, "it did not finish within two minutes"
    said = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    return done.returncode == 0, said[-1] if said else f"exit code {done.returncode}"


__all__ = ["doctor"]
