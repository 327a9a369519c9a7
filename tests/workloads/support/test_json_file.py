"""JSON files: plain types, written in one piece, refused before any work where they cannot be written."""

import json
import os

import numpy as np
import pytest

from workloads.support import json_file
from workloads.support.errors import InputError


def test_numpy_and_tuples_become_plain():
    value = {"a": (np.float32(0.5), np.int64(3)), 7: [np.bool_(True), None, "x"]}
    assert json_file.plain(value) == {"a": [0.5, 3], "7": [True, None, "x"]}


def test_numbers_that_json_does_not_have_become_texts():
    assert json_file.plain([float("nan"), np.float32("inf"), -float("inf"), 1.5]) == ["nan", "inf", "-inf", 1.5]


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "out.json"
    json_file.write_json(str(path), {"a": np.float64(2.0)})
    assert json.loads(path.read_text()) == {"a": 2.0}
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(TypeError):
        json_file.write_json(str(path), {"a": object()})
    assert json.loads(path.read_text()) == {"a": 2.0}  # what was there stays


def test_a_place_that_cannot_be_written_is_refused_by_the_flags_name(tmp_path):
    json_file.require_writable(str(tmp_path / "new.json"), "--out")
    for place in (tmp_path, tmp_path / "no" / "out.json"):
        with pytest.raises(InputError, match=r"^--out: got .*must be a file in a folder that exists"):
            json_file.require_writable(str(place), "--out")
    with pytest.raises(InputError, match="--json: cannot write"):
        json_file.write_json(os.path.join(str(tmp_path), "no", "out.json"), {})
