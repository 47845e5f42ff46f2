"""``python -m shiftmetrics`` is the ``shiftmetrics`` command."""

from shiftmetrics.tools.cli import main

if __name__ == "__main__":
    main()
