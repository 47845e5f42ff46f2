"""``python -m shiftmetrics`` is the ``shiftmetrics`` command."""

from shiftmetrics.cli import main

if __name__ == "__main__":
    main()
