"""What the commands `demo` and `example` write: a demonstration on handwritten digits, and small files to try."""
