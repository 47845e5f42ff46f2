"""The ``shiftmetrics`` command: files in, a readable answer, JSON and an HTML report out.

Each command lives in a file of its own and imports what is heavy inside the command, so that ``--help`` and
``--version`` answer at once. Exit codes: 0 done, 2 an error (one line on stderr), 1 is kept for failed rules.
"""


def main() -> None:
    """Run the command line; the installed script points here."""
    from shiftmetrics.tools.cli.app import app

    app(prog_name="shiftmetrics")


__all__ = ["main"]
