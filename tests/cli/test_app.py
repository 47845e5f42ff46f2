"""The command line as a whole: the installed script, its start, its help, its exit codes."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shiftmetrics import __version__

COMMANDS = ("demo", "agreement", "stability", "novelty", "compare", "check", "run", "report")


def script(*arguments: object, **options) -> subprocess.CompletedProcess[str]:
    path = shutil.which("shiftmetrics", path=str(Path(sys.executable).parent)) or shutil.which(
        "shiftmetrics"
    )
    assert path is not None, "the script is not installed"
    return subprocess.run(
        [path, *map(str, arguments)], capture_output=True, text=True, check=False, **options
    )


def test_the_installed_script_prints_its_version():
    done = script("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"shiftmetrics {__version__}\n", "")


def test_the_module_runs_as_the_script():
    done = subprocess.run(
        [sys.executable, "-m", "shiftmetrics", "--version"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, f"shiftmetrics {__version__}\n")


def test_the_start_loads_nothing_heavy():
    code = (
        "import sys\n"
        "sys.argv = ['shiftmetrics', '--version']\n"
        "from shiftmetrics.cli import main\n"
        "try:\n    main()\n"
        "finally:\n"
        "    print({'scipy', 'sklearn', 'pandas', 'matplotlib', 'torch', 'jinja2'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "set()"


def test_without_arguments_it_lists_the_commands(run):
    result = run()
    assert result.exit_code == 0
    assert all(command in result.stdout for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(run, command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert "Usage" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["agreemnt"],
            "No such command 'agreemnt'. Did you mean 'agreement'? Try 'shiftmetrics --help'.",
        ),
        (["--loud"], "No such option"),
        (["agreement"], "Missing argument 'SHIFTED'. Try 'shiftmetrics agreement --help'."),
        (["novelty", "a.csv", "b.csv", "--eta", "much"], "'--eta'"),
    ],
)
def test_slips_of_the_keyboard(fails, arguments, message):
    assert message in fails(*arguments)


@pytest.mark.slow
def test_files_are_written_even_when_the_reader_leaves(folder):
    arguments = "agreement runs.npz:noisy runs.npz:clean --json o.json --report r.html"
    command = f"{sys.executable} -m shiftmetrics {arguments} | head -1"
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    assert (folder / "o.json").is_file()
    assert (folder / "r.html").is_file()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(
    "module", ["typer", "numpy", "shiftmetrics.agreement", "shiftmetrics.views"]
)
def test_an_interrupt_ends_with_130_also_while_a_module_is_imported(folder, module):
    code = f"""
import os, signal, sys

class Interrupter:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
from shiftmetrics.cli import main
sys.meta_path.insert(0, Interrupter())
sys.argv = ["shiftmetrics", "agreement", "runs.npz:noisy", "runs.npz:clean"]
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupt_leaves_no_file_half_written(tmp_path):
    code = """
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
import shiftmetrics.cli as cli
from shiftmetrics._core.files import atomic_path
signal.signal(signal.SIGINT, cli._interrupted)
with atomic_path("out.json") as temporary:
    temporary.write_text("half")
    os.kill(os.getpid(), signal.SIGINT)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False)
    assert done.returncode == 130
    assert list(tmp_path.iterdir()) == []


def test_help_imports_neither_rich_nor_pydantic():
    """Both come with typer, and take longer than all else that the help needs."""
    code = (
        "import sys\n"
        "sys.argv = ['shiftmetrics', 'agreement', '--help']\n"
        "from shiftmetrics.cli import main\n"
        "try:\n    main()\n"
        "finally:\n    print({'rich', 'pydantic', 'scipy', 'pandas', 'jinja2'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "Intervals:" in done.stdout
    assert done.stdout.splitlines()[-1] == "set()"
