"""JSON files: plain types, written in one piece, refused before any work where they cannot be written."""

import json
import os
import threading

import numpy as np
import pytest

from workloads.support.errors import InputError
from workloads.support.files import json_file


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


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    read = []
    reader = threading.Thread(target=lambda: read.append(open(path, encoding="utf-8").read()))
    reader.start()
    json_file.require_writable(path, "--json")
    json_file.write_json(path, [1])
    reader.join(60)
    assert json.loads(read[0]) == [1] and os.listdir(tmp_path) == ["pipe"]
    assert not json_file.is_replaceable(path) and json_file.is_replaceable(str(tmp_path / "new"))


def test_a_link_is_written_through_and_stays_a_link(tmp_path):
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_text("before")
    link.symlink_to(target)
    json_file.write_json(str(link), {})
    assert link.is_symlink() and json.loads(target.read_text()) == {}


def test_a_file_that_is_renamed_must_be_a_regular_one(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    json_file.require_replaceable(str(tmp_path / "new.npz"), "--out")
    for path in (str(tmp_path / "pipe"), "-"):
        with pytest.raises(InputError, match="--out: got .*must be a regular file"):
            json_file.require_replaceable(path, "--out")


def test_a_failed_write_leaves_nothing_beside_the_file(tmp_path, monkeypatch):
    def full(*paths):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(json_file.os, "replace", full)
    with pytest.raises(InputError, match="--markdown: cannot write .*: No space left on device"):
        json_file.write_text(str(tmp_path / "page.md"), "text", "--markdown")
    assert os.listdir(tmp_path) == []


def test_a_dash_is_standard_output(capsys):
    assert json_file.is_stdout("-") and not json_file.is_stdout("result.json")
    json_file.write_json("-", {"a": 1})
    assert json.loads(capsys.readouterr().out) == {"a": 1}
