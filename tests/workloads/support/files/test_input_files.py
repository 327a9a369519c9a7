"""Files that commands read are regular ones, and no larger than what they can mean."""

import os

import pytest

from workloads.support.errors import InputError
from workloads.support.files.input_files import read_bytes, require_regular


def test_a_file_is_read_up_to_its_limit(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    assert read_bytes(str(path), "--data", 3) == b"abc" and require_regular(str(path), "--data") == 3
    with pytest.raises(InputError, match="--data: .*file has 3 bytes, at most 2 are expected"):
        read_bytes(str(path), "--data", 2)


def test_what_is_no_regular_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, "/dev/zero"):
        with pytest.raises(InputError, match="--data: cannot read .*: it is not a regular file"):
            read_bytes(str(path), "--data", 10)
    for path in (str(tmp_path / "none"), "a\0b"):
        with pytest.raises(InputError, match="--data: cannot read"):
            read_bytes(path, "--data", 10)
