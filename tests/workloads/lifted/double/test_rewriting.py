"""Lifted workloads in float64: what is rewritten, what stays, and that both sides run it to the same bits."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from parity.comparison import stages
from parity.comparison.difference import compare
from tests import old_programs
from tests.small_lift import small_lift
from workloads.lifted.double.errors import NotInDouble
from workloads.lifted.double.rewriting import in_float64
from workloads.lifted.graph import Graph
from workloads.lifted.plan import TensorType
from workloads.lifted.plan.settings import fed_learning_rates

v1 = tf.compat.v1
#: Run by default, since each needs another part of the rewriting: formulas, random numbers, loops, resource variables.
QUICK = ("d_batch_norm", "e_slim_dropout", "h_dynamic_rnn", "j_dataset_resource")
FIXTURES = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in old_programs.NAMES]


def dtype(workload, node, attribute="T"):
    return tf.as_dtype(workload.graph.nodes[node].attr[attribute].type).name


def with_quantized_gradient(workload, of="mean"):
    """The workload, whose update gets its gradient by way of an op that exists in float32 only."""
    graph_def = v1.GraphDef()
    graph_def.CopyFrom(workload.graph.graph_def)
    graph_def.node.add(name="quant", op="FakeQuantWithMinMaxArgs", input=[of])
    update = next(node for node in graph_def.node if node.name == "update")
    update.input[2] = "quant"
    effect = dataclasses.replace(workload.plan.phases[0].effects[0], values=["rate:0", "quant:0"], gradient="quant:0")
    phase = dataclasses.replace(workload.plan.phases[0], effects=[effect])
    tensors = {**workload.plan.tensors, "quant:0": TensorType("float32", [])}
    plan = dataclasses.replace(workload.plan, phases=[phase], tensors=tensors)
    return dataclasses.replace(workload, plan=plan, graph=Graph(graph_def))


def test_variables_constants_and_ops_are_float64(tmp_path):
    narrow = small_lift(str(tmp_path))
    wide = in_float64(narrow)
    assert dtype(wide, "w", "dtype") == dtype(wide, "loss0") == dtype(wide, "update") == "float64"
    assert wide.variables()[0].dtype == "float64" and wide.initial_state().weights["w"].dtype == "float64"
    assert wide.plan.tensors["mean:0"].dtype == "float64"
    assert dtype(narrow, "loss0") == narrow.variables()[0].dtype == "float32"  # the lift itself is as it was


def test_inputs_stay_in_float32_and_are_cast_where_they_are_used(tmp_path):
    wide = in_float64(small_lift(str(tmp_path)))
    assert wide.plan.tensors["x0:0"].dtype == wide.inputs()["x"].dtype == dtype(wide, "x0", "dtype") == "float32"
    assert wide.graph.type(wide.graph.inputs("g0")[0].node) == "Cast"


def test_a_constant_keeps_the_value_that_it_has_in_float32(tmp_path):
    narrow = small_lift(str(tmp_path))
    tensor = narrow.graph.nodes["rate"].attr["value"].tensor
    tensor.CopyFrom(v1.make_tensor_proto(np.float32(0.1)))
    value = tf.make_ndarray(in_float64(narrow).graph.nodes["rate"].attr["value"].tensor)
    assert value.dtype == np.float64 and value == np.float64(np.float32(0.1)) != 0.1


def test_a_learning_rate_that_is_an_input_is_cast_for_its_update(tmp_path):
    narrow = small_lift(str(tmp_path))
    rate = dataclasses.replace(narrow.plan.inputs[0], name="rate", shape=[], kind="setting", tensors=["rate:0"])
    wide = in_float64(dataclasses.replace(narrow, plan=dataclasses.replace(narrow.plan, common=[rate])))
    (effect,) = wide.plan.phases[0].effects
    assert effect.learning_rate == effect.values[0] == "rate/output_0_as_float64:0" and effect.gradient == "mean:0"
    assert dtype(wide, "rate", "dtype") == "float32"
    assert fed_learning_rates(wide.plan, wide.graph) == {"rate"} and fed_learning_rates(wide.plan) == set()


def test_an_op_that_cannot_be_rewritten_is_named(tmp_path):
    workload = with_quantized_gradient(small_lift(str(tmp_path)), of="w/read")
    with pytest.raises(NotInDouble, match="^FakeQuantWithMinMaxArgs 'quant' has no form in float64$"):
        in_float64(workload)


def test_an_op_that_only_sees_data_keeps_its_precision(tmp_path):
    wide = in_float64(with_quantized_gradient(small_lift(str(tmp_path))))  # the gradient is the sum of the data
    assert wide.plan.tensors["quant:0"].dtype == "float32" and wide.plan.phases[0].effects[0].values[1] != "quant:0"
    assert wide.graph.type(wide.graph.inputs("quant")[0].node) == "Cast"


@pytest.mark.parametrize("name", FIXTURES)
def test_both_sides_of_an_old_program_have_the_same_bits_in_float64(name):
    made = old_programs.setup(name)
    with made.legacy_program() as narrow, made.legacy_program("float64") as left, made.modern_program(
        "float64"
    ) as port:
        for _ in range(2):
            state = narrow.state().cast("float64")
            left.load(state)
            port.load(state)
            records = narrow.step(), left.step(), port.step()
            for (stage, tensor, single), (_, _, a), (_, _, b) in zip(*map(stages.tensors, records)):
                assert compare(tensor, a, b).identical, (stage, tensor)
                if single.dtype.kind == "f" and stage != stages.RATE:
                    gap = compare(tensor, a, single.astype(np.float64)).max_rel
                    assert a.dtype == np.float64 and gap < 1e-4, (stage, tensor, gap)
