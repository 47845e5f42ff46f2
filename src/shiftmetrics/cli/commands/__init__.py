"""One file for each command, of the name of the command."""
