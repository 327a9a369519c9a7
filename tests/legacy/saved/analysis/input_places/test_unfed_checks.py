"""Placeholders that only assertions take, and others that a step needs."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.input_places.unfed_checks import note_on_checks
from tests.legacy.variants.programs import assert_same, gradient_of, lifted, mean_of, plain, split_batch, towers
from workloads.lifted.graph import parse_tensor_name

v1 = tf.compat.v1

NOTE = note_on_checks({"total": set()})


def guarded(check, gradient=gradient_of):
    """A program whose towers run `check(total, x)` before they use their part `x`; `total` is fed."""

    def build():
        total, parts = v1.placeholder(tf.int32, [], "total"), split_batch()

        def tower(number):
            with v1.control_dependencies([check(total, parts[number])]):
                return gradient(tf.identity(parts[number]))

        return mean_of(towers(tower))

    return build


def asserts(total, x):
    return v1.assert_equal(total, 2 * tf.shape(x)[0])


def counts_and_asserts(total, x):
    """An assertion that waits until examples are counted, so that the model waits for that, too."""
    with v1.variable_scope("", reuse=v1.AUTO_REUSE), v1.control_dependencies(None):
        seen = plain("seen", [])
    with v1.control_dependencies([v1.assign_add(seen, 1.0)]):
        return v1.assert_equal(total, 2 * tf.shape(x)[0])


def test_assertions_of_what_is_not_fed_are_left_out(tmp_path):
    setup = lifted(guarded(asserts), tmp_path)
    plan = setup.job.workload.plan
    assert NOTE in plan.notes and [entry.name for entry in plan.inputs] == ["x"] and "total" not in plan.sources
    assert_same(setup)


def test_what_waited_for_them_waits_for_what_they_waited_for(tmp_path):
    setup = lifted(guarded(counts_and_asserts), tmp_path)
    assert NOTE in setup.job.workload.plan.notes
    assert_same(setup)
    graph = setup.job.workload.graph
    model = graph.ancestors([parse_tensor_name(setup.job.workload.plan.phases[0].losses[1]).node])
    assert [graph.type(name) for name in model].count("AssignAdd") == 1


@pytest.mark.parametrize(
    "check, gradient",
    [
        (asserts, lambda x: gradient_of(x) * tf.cast(v1.get_default_graph().get_tensor_by_name("total:0"), tf.float32)),
        (lambda total, x: v1.assert_equal(tf.shape(x)[0], 3), gradient_of),
    ],
)
def test_assertions_about_what_is_fed_stay(check, gradient, tmp_path):
    setup = lifted(guarded(check, gradient), tmp_path)
    assert NOTE not in setup.job.workload.plan.notes
    assert [name for name in setup.job.workload.graph.nodes if setup.job.workload.graph.type(name) == "Assert"]
