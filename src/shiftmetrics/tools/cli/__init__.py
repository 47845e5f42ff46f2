"""The ``shiftmetrics`` command: files in, a readable answer, JSON and an HTML report out.

Each command is imported when it is used, so that ``--help`` and ``--version`` start fast. Exit codes: 0 done, 1 a
rule failed, 2 an error (one line on stderr), 130 interrupted.
"""

import os
import signal
import sys
from typing import Any


def main() -> None:
    """Run the command line; the installed script points here."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupted)
    from shiftmetrics.tools.cli.app import app

    app(prog_name="shiftmetrics")


def _interrupted(*_: Any) -> None:
    """Leave at once: an exception could be lost, or become a traceback, in imports and in other threads."""
    for file in getattr(sys.modules.get("shiftmetrics._core.files"), "UNFINISHED", ()):
        file.unlink(missing_ok=True)
    os._exit(130)
