"""Parts of a batch that towers take in branches, in functions of `cond`."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.input_places.parts_in_branches import with_parts_before_branches
from tests.legacy.saved.graphs import traced
from tests.legacy.source.conditional import counter, with_old_cond
from tests.legacy.source.trained import assert_workload_verified, source_of
from tests.legacy.variants.programs import BATCH, TOWERS, assert_same, lifted, sum_of_squares, towers, weights
from workloads.lifted.graph import Graph
from workloads.support.errors import InputError

v1 = tf.compat.v1
ROWS = TOWERS * BATCH


def program(part):
    """Towers whose data are one of two batches in turn: `part(step, x, y, tower)`."""

    @with_old_cond
    def build():
        x, y = (v1.placeholder(tf.float32, [ROWS, 3], name=name) for name in "xy")
        step = counter("global_step", dtype=tf.int64)
        found = towers(lambda tower: tf.gradients(sum_of_squares(part(step, x, y, tower)), [weights()])[0])
        optimizer = v1.train.GradientDescentOptimizer(0.1)
        return optimizer.apply_gradients([(tf.add_n(found) / TOWERS, weights())], global_step=step)

    return build


def rows(x, tower):
    """A tower's rows, by bounds that the branch computes."""
    size = tf.shape(x)[0] // TOWERS
    return x[tower * size : (tower + 1) * size]


def other_batch(step, x, y, tower):
    return v1.cond(tf.equal(step % 2, 0), lambda: tf.split(x, TOWERS)[tower], lambda: tf.split(y * 2.0, TOWERS)[tower])


def places_from_outside(step, x, y, tower):
    size = tf.shape(x)[0] // TOWERS
    here = slice(tower * size, (tower + 1) * size)
    return v1.cond(tf.equal(step % 2, 0), lambda: x[here], lambda: y[here] * 2.0)


def branch_in_a_branch(step, x, y, tower):
    def inner():
        return v1.cond(step > 2, lambda: tf.split(y, TOWERS)[tower] + 1.0, lambda: rows(x, tower) * 2.0)

    return v1.cond(tf.equal(step % 2, 0), lambda: rows(x, tower), inner)


def gathered(step, x, y, tower):
    here = tf.range(tower * (tf.shape(x)[0] // TOWERS), (tower + 1) * (tf.shape(x)[0] // TOWERS))
    known = list(range(tower * BATCH, (tower + 1) * BATCH))
    return v1.cond(tf.equal(step % 2, 0), lambda: tf.gather(x, here), lambda: tf.gather(y, known) * 2.0)


def masked(step, x, y, tower):
    own = [row // BATCH == tower for row in range(ROWS)]
    return v1.cond(tf.equal(step % 2, 0), lambda: v1.boolean_mask(x, own), lambda: v1.boolean_mask(y, own) * 2.0)


def only_one_guarded(step, x, y, tower):
    """The second tower leaves its part out in turn, so that the batch is no shared one."""
    own, rows_of_y = rows(x, tower), tf.split(y, TOWERS)[tower]
    return own + rows_of_y if not tower else v1.cond(tf.equal(step % 2, 0), lambda: rows(x, 1), lambda: rows_of_y)


@pytest.mark.parametrize("part", [other_batch, places_from_outside, branch_in_a_branch, masked, gathered])
def test_towers_that_take_their_parts_in_branches_are_lifted_and_written(part, tmp_path):
    setup = lifted(program(part), tmp_path)
    plan = setup.job.workload.plan
    assert {entry.kind for entry in plan.inputs} == {"batch"} and len(plan.inputs) == 2
    assert_same(setup)
    assert_workload_verified(setup, tmp_path, source_of(setup, "workload"))


def test_a_part_that_one_tower_alone_guards_is_lifted(tmp_path):
    assert_same(lifted(program(only_one_guarded), tmp_path))


def at_fed_places(step, x, y, tower):
    own = tf.split(v1.placeholder(tf.int32, [ROWS], f"places_{tower}"), TOWERS)[tower]
    return v1.cond(tf.equal(step % 2, 0), lambda: tf.gather(x, own), lambda: tf.gather(y, own))


def next_of_a_queue(step, x, y, tower):
    """The next batch of one of two queues, which no op of the branch is computed from."""
    queues = [v1.FIFOQueue(8, [tf.float32], [[BATCH, 3]]) for _ in range(2)]
    return v1.cond(tf.equal(step % 2, 0), queues[0].dequeue, lambda: tf.nn.relu(queues[1].dequeue()))


def changed_in_the_branch(step, x, y, tower):
    queues = [v1.FIFOQueue(8, [tf.float32], [[BATCH, 3]]) for _ in range(2)]
    return v1.cond(tf.equal(step % 2, 0), lambda: queues[0].dequeue() * 2.0, lambda: queues[1].dequeue() + 1.0)


@pytest.mark.parametrize("part", [at_fed_places, next_of_a_queue])
def test_data_that_enter_in_a_branch_are_refused(part, tmp_path):
    with pytest.raises(InputError, match="in a branch of a `cond`"):
        lifted(program(part), tmp_path)


def test_the_next_batch_that_an_op_of_the_branch_takes_is_lifted(tmp_path):
    assert_same(lifted(program(changed_in_the_branch), tmp_path))


def changed(branch) -> bool:
    """Whether a part moves out of a branch `branch(table, x, weight, tensor)` of a step that trains `table`."""

    @with_old_cond
    def build():
        table, weight = (v1.get_variable(n, [4, 3], use_resource=False) for n in ("table", "weight"))
        x = v1.placeholder(tf.float32, [4, 3], "x")
        for tower in range(2):
            with v1.name_scope(f"tower_{tower}"):
                v1.cond(tf.reduce_sum(x) > 0, lambda: branch(table, x, weight), lambda: tf.zeros([2, 3]))

    graph = traced(build)
    found = with_parts_before_branches(graph, ["table"])
    assert isinstance(found, Graph)
    return found is not graph


def test_a_part_of_data_is_taken_before_its_branch():
    assert changed(lambda table, x, weight: tf.split(x, 2)[0])
    assert changed(lambda table, x, weight: tf.split(tf.abs(x) * 2.0, 2)[0])
    assert changed(lambda table, x, weight: tf.gather(x, [0, 1]))


def test_a_part_that_a_branch_may_guard_stays():
    """As a row that only some batches have."""

    @with_old_cond
    def build():
        x = v1.placeholder(tf.float32, [None, 3], "x")
        v1.cond(tf.shape(x)[0] > 3, lambda: x[3], lambda: tf.zeros([3]))

    graph = traced(build)
    assert with_parts_before_branches(graph, []) is graph


def test_parts_of_weights_of_random_numbers_and_behind_updates_stay():
    assert not changed(lambda table, x, weight: tf.gather(table, [0, 1]))
    assert not changed(lambda table, x, weight: tf.split(x * table, 2)[0])
    assert not changed(lambda table, x, weight: tf.split(x + tf.random.normal([4, 3]), 2)[0])

    def behind_an_update(table, x, weight):
        with v1.control_dependencies([v1.assign_add(weight, weight)]):
            return tf.split(x, 2)[0]

    assert not changed(behind_an_update)
