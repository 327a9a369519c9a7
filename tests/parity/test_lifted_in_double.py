"""Verdicts on lifted programs under "auto", which judges their mathematics in float64."""

import dataclasses

import pytest
import tensorflow as tf

from legacy.options import LegacyOptions
from modern.lifted.program import LiftedProgram
from modern.options import ModernOptions
from parity.comparison import stages
from parity.comparison.runs.options import Companions, Criterion
from parity.comparison.runs.verification import verify
from parity.comparison.setup import Setup
from tests.small_lift import CountingSource, small_lift
from tests.workloads.lifted.double.test_rewriting import with_quantized_gradient
from workloads.job import Job
from workloads.lifted.graph import Graph
from workloads.lifted.workload import as_lifted

v1 = tf.compat.v1


def with_scaled_constant(node, factor):
    """A port whose graph has another value of one constant."""

    def port(setup):
        workload = as_lifted(setup.job.workload)
        graph_def = v1.GraphDef()
        graph_def.CopyFrom(workload.graph.graph_def)
        tensor = next(each for each in graph_def.node if each.name == node).attr["value"].tensor
        value = tf.make_ndarray(tensor)
        tensor.CopyFrom(v1.make_tensor_proto((value * factor).astype(value.dtype)))
        job = dataclasses.replace(setup.job, workload=dataclasses.replace(workload, graph=Graph(graph_def)))
        return LiftedProgram(job, setup.make_source(job), setup.modern, setup.devices())

    return port


def verdict(workload, port=None):
    options = LegacyOptions(exact=True), ModernOptions(all_reduce="tower_order", exact=True)
    made = Setup(Job(workload, 2), CountingSource, *options, port=port)
    with made.legacy_program() as left, made.modern_program() as right, made.closing_references() as references:
        return verify(left, right, made.job, 3, Criterion("locked", "auto"), Companions(references=references))


@pytest.mark.parametrize("factor, passed", [(1.0, True), (1 + 1e-6, False), (1 - 1e-6, False)])
def test_a_millionth_in_one_constant_is_found(tmp_path, factor, passed):
    result = verdict(small_lift(str(tmp_path)), with_scaled_constant("mean/y", factor))
    assert result.passed == passed and result.single_only == ""
    if not passed:
        assert result.first.stage == stages.COMBINED and result.first.precision == "float64"


def test_a_program_that_cannot_be_rewritten_says_why(tmp_path):
    workload = with_quantized_gradient(small_lift(str(tmp_path)), of="w/read")
    result = verdict(workload)
    assert result.passed and result.single_only == "FakeQuantWithMinMaxArgs 'quant' has no form in float64"
    assert not result.double
