"""The ``shiftmetrics`` command: files in, a readable answer, JSON and an HTML report out.

Each command is imported when it is used, so that ``--help`` and ``--version`` start fast. Exit codes: 0 done, 1 a
rule failed, 2 an error (one line on stderr).
"""


def main() -> None:
    """Run the command line; the installed script points here."""
    from shiftmetrics.tools.cli.app import app

    app(prog_name="shiftmetrics")
