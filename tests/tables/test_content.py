"""A file that is opened."""

import pytest

from shiftmetrics.tables.content import Content, ReadOptions, UnreadableError


def test_a_file_above_the_limit_is_refused():
    content = Content("OLD", "a", ReadOptions(max_gib=1.0), data=b"ab")
    content.check_size(2**30)
    with pytest.raises(UnreadableError, match="1 GiB"):
        content.check_size(2**30 + 1)
