"""Reads behind an assignment: lookups by a handle become lookups in the assigned value."""

import pytest
import tensorflow as tf

from legacy.saved.analysis import assigned_values
from legacy.saved.analysis.assigned_values import AssignedRead, notes_on_reads
from tests.legacy.saved.graphs import traced
from workloads.lifted.graph.edits import GraphCopy

v1 = tf.compat.v1


@pytest.mark.parametrize("batch_dims", [0, 1])
def test_a_lookup_by_a_handle_is_one_in_a_value(batch_dims):
    table = tf.reshape(tf.range(24.0), [2, 3, 4])
    rows = tf.constant([[1, 0], [0, 2]]) if batch_dims else tf.constant([1, 0])

    def build():
        weight = v1.get_variable("table", initializer=table.numpy(), use_resource=True)
        tf.raw_ops.ResourceGather(
            resource=weight.handle, indices=rows.numpy(), dtype=tf.float32, batch_dims=batch_dims, name="found"
        )
        v1.placeholder(tf.float32, [2, 3, 4], name="value")

    result = GraphCopy(traced(build))
    result.nodes["found"].input[0] = "value"
    assigned_values._look_up_in_value(result, result.nodes["found"])
    with tf.Graph().as_default() as graph, v1.Session() as session:
        tf.import_graph_def(result.graph_def, name="")
        assert graph.get_operation_by_name("found").type == "GatherV2"
        found = session.run("found:0", {"value:0": table.numpy()})
    assert (found == tf.gather(table, rows, batch_dims=batch_dims).numpy()).all()


def test_reads_of_assigned_and_of_updated_variables_are_noted_apart():
    reads = [AssignedRead("a", "state", ("set",)), AssignedRead("b", "w", ("train",), by_rule=True)]
    assert notes_on_reads(reads) == [
        "a uses state after the step has assigned it: it takes the new value",
        "b uses w after the step has updated it: it takes the new value",
    ]
