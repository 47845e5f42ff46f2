"""What stands on top: the command line, and the rules of a release."""
