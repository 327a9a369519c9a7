"""The description of a recording: found beside a graph file, read, and refused where it is none."""

import json

import pytest

from legacy.saved.runs.recording_folder import ABOUT, read_about, recording_beside
from workloads.support.errors import InputError

GOOD = {"format": 1, "tensorflow": "1.4.1", "python": "2.7.18", "steps": [["train", "loss"], ["train"]]}


def test_the_folder_of_a_graph_is_a_recording_if_it_holds_a_description(tmp_path, monkeypatch):
    graph = tmp_path / "graph.meta"
    assert recording_beside(str(graph)) is None
    (tmp_path / ABOUT).write_text(json.dumps(GOOD))
    assert recording_beside(str(graph)) == str(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert recording_beside("graph.meta") == "."


def test_a_description_is_read(tmp_path):
    (tmp_path / ABOUT).write_text(json.dumps(GOOD))
    assert read_about(str(tmp_path), "subject") == GOOD


@pytest.mark.parametrize(
    "content, message",
    [
        ("{", "^subject: recording.json: "),
        ("[]", "must hold the format"),
        (json.dumps({**GOOD, "format": 2}), "expected format 1"),
        (json.dumps({**GOOD, "steps": []}), "names of the nodes of each step"),
        (json.dumps({**GOOD, "steps": [[1]]}), "names of the nodes of each step"),
    ],
)
def test_a_damaged_description_is_refused(tmp_path, content, message):
    (tmp_path / ABOUT).write_text(content)
    with pytest.raises(InputError, match=message):
        read_about(str(tmp_path), "subject")
