"""The ``shiftmetrics`` command: files in, a readable answer, JSON and an HTML report out.

Each command is imported when it is used, so that ``--help`` and ``--version`` start fast. Exit codes: 0 done, 1 a
rule failed, 2 an error (one line on stderr), 130 interrupted; 128 and its number for another signal to end.
"""

import gc
import os
import signal
import sys
from typing import Any

MOST_NEW_OBJECTS = 50_000
"""So many are made between two looks for those that nothing needs any more; Python's default is 700."""


def main() -> None:
    """Run the command line; the installed script points here."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has not all of them
        # What the caller ignores stays ignored, such as the end of a terminal under nohup.
        if number and signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
            signal.signal(number, _interrupted)
    _open_streams()
    # Imports allocate what stays: looking through all of it again and again takes an eighth of a small comparison.
    gc.set_threshold(MOST_NEW_OBJECTS, 20, 20)
    from shiftmetrics.cli.app import app

    app(prog_name="shiftmetrics")


def _open_streams() -> None:
    """Give a closed standard output or error a place where what is written is lost, and no more than that.

    Else the next file that is opened would take its number, and get what libraries print.
    """
    number = os.open(os.devnull, os.O_RDWR)
    while number <= 2:
        number = os.dup(number)
    os.close(number)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115 - stays open


def _interrupted(number: int, _frame: Any) -> None:
    """Leave at once, or when what belongs together is written; before anything can be written, just leave."""
    leave = getattr(sys.modules.get("shiftmetrics._core.interrupts"), "leave", None)
    if leave is None:
        os._exit(128 + number)
    leave(number)
