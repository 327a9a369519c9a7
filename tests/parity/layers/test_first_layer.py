"""The layer that is named for tensors that differ, in a made-up net: stem, then two branches, then logits."""

import numpy as np
import pytest

from parity.comparison import stages
from parity.layers.differing_tensors import by_replica
from parity.layers.first_layer import BACKWARD, FORWARD, LOSS_FUNCTION, UPDATE, FirstLayer, find_first_layer
from parity.layers.row_order import rows_are_reordered
from parity.layers.tap_flow import producer_of, readers_of, withholding_readers
from tests.parity.step_records import step_record

#: {tap: (value, gradient)}: conv and shortcut both read the stem, whose gradient is the sum of theirs.
NET = {
    "stem/output": (1.0, 5.0),
    "conv/conv.input": (1.0, 2.0),
    "conv/conv.output": (7.0, 4.0),
    "shortcut/conv.input": (1.0, 3.0),
    "shortcut/conv.output": (9.0, 4.0),
    "logits/dense.input": (16.0, 4.0),
    "logits/dense.output": (20.0, 1.0),
}


def record(changes=()):
    """A step of the net on one replica, with other (value, gradient) of some taps."""
    net = {**NET, **dict(changes)}
    made = step_record(losses=[1.0])
    made.taps = [{name: np.array([value, 2 * value]) for name, (value, _) in net.items()}]
    made.tap_gradients = [{name: np.array([gradient, gradient**2]) for name, (_, gradient) in net.items()}]
    made.tap_gradients[0]["stem/output"] = sum(
        made.tap_gradients[0][reader] for reader in ("conv/conv.input", "shortcut/conv.input")
    )
    return made


def found(*differing, right=None, taps=tuple(NET)):
    return find_first_layer(stages.differing_tensors(differing), list(taps), record(), right or record())


def on_replica(stage, name):
    return stage, f"{name} on replica 0"


def test_the_first_activation_that_differs_names_its_layer():
    names = ["shortcut/conv.output", "logits/dense.input", "logits/dense.output"]
    layer = found((stages.LOSS, "replica 0"), *[on_replica(stages.ACTIVATIONS, name) for name in names])
    assert layer == FirstLayer("shortcut", FORWARD, "shortcut/conv.output", 0, (0,))


def test_a_loss_that_differs_behind_equal_activations_is_named():
    loss, last = (stages.LOSS, "replica 0"), on_replica(stages.ACTIVATION_GRADIENTS, "logits/dense.output")
    assert found(loss, last) == FirstLayer(LOSS_FUNCTION, FORWARD, "loss", 0)
    penalty = found(loss, on_replica(stages.GRADIENTS, "shortcut/weights"))
    assert (penalty.layer, penalty.way) == ("shortcut", BACKWARD)
    assert found(last).way == BACKWARD  # the losses agree


def test_no_layer_stands_out_where_examples_come_in_another_order():
    right = record()
    right.taps[0] = {name: value[::-1] for name, value in right.taps[0].items()}
    differing = [on_replica(stages.ACTIVATIONS, name) for name in NET]
    assert found(*differing, right=right) is None
    right.taps[0]["stem/output"] = np.array([1.0, 4.0])  # another example: the layer did that
    assert found(*differing, right=right).layer == "stem"


@pytest.mark.parametrize(
    "left, right, reordered",
    [
        ([[1.0, 2.0], [3.0, 4.0]], [[3.0, 4.0], [1.0 + 2.0**-23, 2.0]], True),
        ([[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]], False),
        ([[1.0, 2.0], [3.0, 4.0]], [[3.0, 4.0], [1.0, 3.0]], False),
        ([[1.0, 2.0]], [[1.0, 2.0], [1.0, 2.0]], False),
        ([1.0, np.nan], [np.nan, 1.0], False),
        (1.0, 2.0, False),
        (np.zeros((0, 2)), np.zeros((0, 2)), False),
    ],
)
def test_rows_in_another_order(left, right, reordered):
    assert rows_are_reordered(np.array(left), np.array(right)) == reordered


def test_an_input_that_differs_lies_between_its_producer_and_its_layer():
    layer = found(on_replica(stages.ACTIVATIONS, "shortcut/conv.input"))
    assert (layer.layer, layer.readers) == ("stem", ("shortcut",))
    assert "between stem and shortcut" in layer.sentence()


def test_on_the_way_back_the_last_gradient_that_differs_counts():
    names = ["conv/conv.input", "stem/output"]
    layer = found(*[on_replica(stages.ACTIVATION_GRADIENTS, name) for name in names])
    assert (layer.layer, layer.way, layer.tensor) == ("conv", BACKWARD, "conv/conv.input")


@pytest.mark.parametrize("reader, layer", [("conv", "conv"), ("shortcut", "shortcut")])
def test_the_reader_that_withholds_its_gradient_is_named(reader, layer):
    right = record()
    right.tap_gradients[0]["stem/output"] = (
        right.tap_gradients[0]["stem/output"] - (right.tap_gradients[0][f"{reader}/conv.input"])
    )
    place = found(on_replica(stages.ACTIVATION_GRADIENTS, "stem/output"), right=right)
    assert (place.layer, place.readers) == ("stem", (layer,))


def test_a_weight_whose_gradient_alone_differs_names_its_layer():
    layer = found(on_replica(stages.GRADIENTS, "shortcut/weights"))
    assert (layer.layer, layer.way, layer.tensor) == ("shortcut", BACKWARD, "shortcut/weights")


def test_without_inputs_a_fault_lies_in_the_layer_behind():
    taps = [name for name in NET if name.endswith("output")]
    layer = found(on_replica(stages.ACTIVATION_GRADIENTS, "conv/conv.output"), taps=taps)
    assert (layer.layer, layer.readers) == ("shortcut", ())
    last = found(on_replica(stages.ACTIVATION_GRADIENTS, "logits/dense.output"), taps=taps)
    assert last.layer == LOSS_FUNCTION


def test_the_loss_is_named_where_no_layer_differs():
    assert found((stages.LOSS, "replica 0")).layer == LOSS_FUNCTION


def test_a_variable_of_one_layer_names_it_and_those_of_several_name_none():
    layer = found((stages.STATISTICS, "stem/moving_mean"), (stages.STATISTICS, "stem/moving_variance"))
    assert (layer.layer, layer.way) == ("stem", UPDATE)
    assert found((stages.WEIGHTS, "stem/weights"), (stages.WEIGHTS, "conv/weights")) is None
    assert found((stages.RATE, "learning rate")) is None


def test_values_tell_who_reads_whom():
    taps = list(NET)
    assert producer_of("shortcut/conv.input", taps, record()) == "stem/output"
    assert producer_of("logits/dense.input", taps, record()) is None
    assert readers_of("stem/output", taps, record()) == ["conv/conv.input", "shortcut/conv.input"]
    assert withholding_readers("stem/output", readers_of("stem/output", taps, record()), record()) == [
        "conv/conv.input",
        "shortcut/conv.input",
    ]


def test_names_are_gathered_by_replica():
    assert by_replica(["a on replica 1", "b", "a on replica 3"]) == {"a": (1, 3), "b": ()}
