"""The last line that a process printed, through a pipe."""

import multiprocessing
import os

import pytest

from workloads.support.processes.last_line import LastLine


@pytest.mark.parametrize(
    "printed, expected",
    [
        (b"", ""),
        (b"\n \n", ""),
        (b"first\nlast\n\n", "last"),
        (b"first\nno end", "no end"),
        (b"x\xff\n", "x\ufffd"),  # no UTF-8
        (b"y" * 3 * LastLine.LONGEST, "y" * LastLine.LONGEST),
    ],
)
def test_the_last_line_that_is_not_empty(printed, expected):
    reader, writer = multiprocessing.Pipe(duplex=False)
    last = LastLine(reader)
    os.write(writer.fileno(), printed)
    writer.close()
    assert last.read() == expected
