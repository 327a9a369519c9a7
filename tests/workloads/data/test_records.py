"""Examples from TFRecord files: in the order of arrays, by the user's parser, whose faults are told."""

import os
import pickle

import numpy as np
import pytest
import tensorflow as tf

from tests.workloads.data import record_examples
from tests.workloads.data.record_examples import parse, write_records
from workloads.data.batches import Request, Wanted
from workloads.data.epochs import Epochs, Order
from workloads.data.opening import open_data
from workloads.data.records import RecordData
from workloads.support.errors import InputError, UserError

INPUTS = {"x": Wanted(1, "float (2,)"), "y": Wanted(0, "int ()")}
EXAMPLES = "tests.workloads.data.record_examples"


def request(size=4, **order):
    return Request(Order(size, **order), INPUTS, lambda what, arrays, count: arrays)


@pytest.fixture
def path(tmp_path):
    write_records(tmp_path / "a.tfrecord", range(6))
    write_records(tmp_path / "b.tfrecord", range(6, 10))
    return str(tmp_path)


@pytest.mark.parametrize("order", [{}, {"seed": 3}, {"shuffle": False}, {"last_batch": "drop"}])
def test_batches_have_the_order_of_arrays(path, order):
    batches = RecordData(path, parse, "mine").batches(request(**order))
    epochs = Epochs(10, Order(4, **order))
    for step in (0, 2, 1, 100):
        rows = epochs.rows(step)
        assert batches.batch(step)["x"].tolist() == np.stack([rows, -rows], 1).tolist()
        assert batches.batch(step)["y"].tolist() == (rows % 3).tolist()
    assert (batches.ends(), batches.steps(2)) == (epochs.ends(), epochs.steps(2))


def test_a_graph_that_is_being_built_gets_nothing_of_it(path):
    with tf.Graph().as_default() as graph:
        RecordData(path, parse, "mine").batches(request()).batch(0)
    assert not graph.get_operations()


def test_another_process_imports_the_parser_again(path):
    data = open_data(path, f"{EXAMPLES}:parse")
    again = pickle.loads(pickle.dumps(data)).batches(request()).batch(1)
    assert np.array_equal(again["x"], data.batches(request()).batch(1)["x"])
    assert data.description.startswith("records:") and data.description.endswith("parser=" + EXAMPLES + ":parse")


@pytest.mark.parametrize(
    "parser, error, says",
    [
        ("parse_failing", UserError, "record_examples.py:.*raised OSError: no such codec; expected: {input name"),
        ("parse_other_feature", UserError, "record_examples.py:.*an op of mine raised .*z .*could not be found"),
        ("parse_to_a_tuple", InputError, "mine at .*record_examples.py:.*must be {input name: tensor} of one example"),
        ("parse_one_input", InputError, r"mine at .*got 'x', it must have 'y': int \(\)"),
        ("parse_sparse", InputError, r"'x' must be float \(2,\)"),
    ],
)
def test_a_fault_of_the_parser_names_its_line(parser, error, says, path):
    batches = RecordData(path, getattr(record_examples, parser), "mine").batches(request())
    with pytest.raises(error, match=says):
        batches.batch(0)


def test_refused_combinations(path):
    with pytest.raises(InputError, match="10 examples', fewer than --global_batch=12"):
        RecordData(path, parse, "mine").batches(request(12))
    with pytest.raises(InputError, match="a folder of TFRecord files needs --parser=module:function"):
        open_data(path)
    recording = os.path.join(path, "run")
    os.makedirs(recording)
    with open(os.path.join(recording, "recording.json"), "w"):
        pass
    with pytest.raises(InputError, match="it is the folder of a recording: .*--recording=FOLDER.* compares on the rec"):
        open_data(recording)
    with pytest.raises(InputError, match="--parser: got 'parse', expected module:function"):
        open_data(path, "parse")
    with pytest.raises(InputError, match="--parser: .*has no attribute 'nothing'"):
        open_data(path, "os:nothing")
