"""A recording's manifest is checked before any of it is used."""

import json

import numpy as np
import pytest

from workloads.records.manifest import parse_manifest, shape_problems

SOUND = {"format": 1, "steps": 2, "variables": [["w", [2], "float32", True]], "job": {"replicas": "2"}}


def test_a_sound_manifest_is_read_and_numbers_become_texts():
    manifest = parse_manifest(json.dumps(dict(SOUND, settings={"keras": 3})))
    assert manifest.steps == 2 and manifest.variables[0][:4] == ("w", (2,), "float32", True)
    assert manifest.texts == {"job": {"replicas": "2"}, "settings": {"keras": "3"}, "environment": {}}


@pytest.mark.parametrize(
    "change, message",
    [
        ({"format": 2}, "format 2, this reader knows 1"),
        ({"steps": "2"}, "steps is '2' in its manifest"),
        ({"steps": True}, "steps is True"),
        ({"steps": -1}, "steps is -1"),
        ({"variables": {}}, "variables is {}"),
        ({"variables": [["w", [2], "float32"]]}, "expected .name, shape, dtype, trainable"),
        ({"variables": [["w", [-2], "float32", True]]}, "expected lengths"),
        ({"variables": [["w", [2], "O", True]]}, "dtype 'O' of variable 'w'"),
        ({"variables": [["w", [2], "f(4", True]]}, "dtype 'f\\(4' of variable 'w'"),
        ({"variables": [["w", [2], "float32", True]] * 2}, "two variables of its manifest have one name"),
        ({"job": []}, "job is .* expected texts by name"),
        ({"job": {"a": {}}}, "job is .* expected texts by name"),
    ],
)
def test_what_is_of_another_type_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        parse_manifest(json.dumps({**SOUND, **change}))


@pytest.mark.parametrize("text", ["", "[]", "{}", "1", "nothing", "[" * 100000])
def test_what_is_no_manifest_is_refused(text):
    with pytest.raises(ValueError):
        parse_manifest(text)


def test_arrays_must_be_of_their_variables_shape_and_dtype():
    specs = {spec.name: spec for spec in parse_manifest(json.dumps(SOUND)).variables}
    assert shape_problems({"w": np.zeros(2, np.float32), "other": np.zeros(7)}, specs) == []
    assert shape_problems({"w": np.zeros(2)}, specs) == ["'w' is float64 [2], not float32 [2]"]
    assert shape_problems({"w": np.zeros((1, 2), np.float32)}, specs) == ["'w' is float32 [1, 2], not float32 [2]"]
