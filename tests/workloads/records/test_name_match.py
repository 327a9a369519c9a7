"""Names of a port's variables: what is matched how, what is ambiguous, and files that cannot be used."""

import json

import numpy as np
import pytest

from workloads.records.name_match import match_names, read_names
from workloads.records.variable_match import LAYER, NAME, SHAPE, VALUE, ModelVariables
from workloads.support.errors import InputError

LEGACY = {
    "one/weights": np.float32([[1.0, 2.0], [3.0, 4.0]]),
    "two/weights": np.float32([[5.0, 6.0], [7.0, 8.0]]),
    "one/biases": np.zeros(2, np.float32),
    "two/biases": np.zeros(2, np.float32),
    "scale": np.float32(1.0),
    "step": np.zeros(3, np.float32),
}


def names_of(legacy, port):
    return match_names(ModelVariables(legacy), ModelVariables(port))


def test_values_tell_weights_apart_and_biases_follow_them():
    port = {
        "dense_1/kernel": LEGACY["two/weights"],
        "dense/kernel": LEGACY["one/weights"],
        "dense_1/bias": LEGACY["two/biases"],
        "dense/bias": LEGACY["one/biases"],
        "gain": np.float32(2.0),
        "step": LEGACY["step"],
    }
    found = names_of(LEGACY, port)
    assert found.names["dense/kernel"] == "one/weights" and found.names["dense_1/kernel"] == "two/weights"
    assert found.names["dense/bias"] == "one/biases" and found.names["dense_1/bias"] == "two/biases"
    assert [found.ways[name] for name in port] == [VALUE, VALUE, LAYER, LAYER, SHAPE, NAME]
    assert not found.ambiguous() and not found.unmatched


def test_what_order_alone_matches_is_said():
    zeros = np.zeros(2)
    found = names_of({"b1": zeros, "b2": zeros}, {"x": zeros, "y": zeros})
    assert found.names == {"x": "b1", "y": "b2"}
    assert [line.split()[0] for line in found.ambiguous()] == ["x", "y"] and not found.unmatched


def test_what_has_no_counterpart_is_listed():
    found = names_of({"a": np.zeros(2), "b": np.zeros(3)}, {"x": np.zeros(2), "y": np.zeros(4)})
    assert found.names == {"x": "a"} and found.unmatched == ["y (port)", "b (legacy)"]


def test_a_transposed_variable_is_named_as_such():  # as PyTorch has the weights of a dense layer
    found = names_of({"a": np.zeros((2, 3)), "b": np.zeros(2)}, {"x": np.zeros((3, 2)), "y": np.zeros(4)})
    assert found.unmatched == [
        "x (port), whose axes are in another order than those of a",
        "y (port)",
        "a (legacy)",
        "b (legacy)",
    ]


def test_a_statistic_that_was_recorded_as_a_weight_is_named_as_such():
    mean = {"mean": np.zeros(2)}
    found = match_names(ModelVariables(mean, frozenset(mean)), ModelVariables({"bn.running_mean": np.zeros(2)}))
    assert found.unmatched == ["bn.running_mean (port), a weight, while mean is a statistic", "mean (legacy)"]


@pytest.mark.parametrize(
    "content, reason",
    [
        ("{", "cannot read"),
        ("[]", "must be JSON with"),
        ('{"names": {"x": 1}}', "must be JSON with"),
        ('{"names": {"z": "a"}}', "'z' is no variable of the port"),
        ('{"names": {"x": "c"}}', "'c' is no variable of the legacy"),
        ('{"names": {"x": "a", "y": "a"}}', "'a' is named twice"),
    ],
)
def test_files_that_cannot_be_used(tmp_path, content, reason):
    path = tmp_path / "names.json"
    path.write_text(content)
    with pytest.raises(InputError, match=f"--names: .*{reason}"):
        read_names(str(path), ["a", "b"], ["x", "y"])


def test_a_file_is_read_back(tmp_path):
    path = tmp_path / "names.json"
    path.write_text(json.dumps(names_of({"a": np.zeros(2)}, {"x": np.zeros(2)}).to_json()))
    assert read_names(str(path), ["a"], ["x"]) == {"x": "a"}
