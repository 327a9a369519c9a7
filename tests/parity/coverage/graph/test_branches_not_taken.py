"""Mutants of constants in branches: those of a branch that a step does not take show nothing, and take no step."""

import contextlib

import numpy as np
import pytest
import tensorflow as tf

from parity.coverage.observed_step import ObservedStep
from parity.verdict.measurement_plan import _towers
from tests.legacy.source.conditional import with_old_cond
from tests.legacy.variants.programs import lifted, plain, split_batch, sum_of_squares, towers, weights

v1 = tf.compat.v1


def accumulates():
    """Gradients of two steps are added up; the second one applies them, times 0.25, and a factor of all steps."""
    xs = split_batch()
    gradients = towers(lambda tower: tf.gradients(sum_of_squares(xs[tower]), [weights()])[0])
    count, kept = plain("count", []), plain("kept", weights().shape.as_list())
    everywhere = tf.constant(0.5, name="everywhere")
    total = tf.add_n(gradients) * everywhere

    def update():
        own = (kept + total * everywhere) * tf.constant(0.25, name="of_update")
        applied = v1.assign_sub(weights(), own)
        with tf.control_dependencies([applied]):
            return tf.group(v1.assign(kept, tf.zeros_like(kept)), v1.assign(count, 0.0))

    def keep():
        kept_on = v1.assign_add(kept, total * tf.constant(0.75, name="of_keeping"))
        with tf.control_dependencies([kept_on]):
            return tf.group(v1.assign_add(count, tf.constant(1.0, name="one")))

    return tf.group(v1.cond(count > 0.5, update, keep), name="train")


@pytest.fixture(scope="module")
def towers_and_steps(tmp_path_factory):
    """The towers, and a step of each branch."""
    setup = lifted(with_old_cond(accumulates), tmp_path_factory.mktemp("lift"))
    with contextlib.closing(_towers(setup)) as made:
        found, state = [], made._program.state()
        for _ in range(2):
            record = made._program.step()
            found.append(ObservedStep(setup.job, state, record, "float32"))
            state = record.state
        yield made, found


def seen(mutant, step):
    """Whether a mutant changes a tensor of a step."""
    return any(np.asarray(e.mutated).tobytes() != np.asarray(e.expected).tobytes() for e in mutant.effects(step))


def test_a_constant_shows_where_its_branch_is_taken(towers_and_steps):
    made, steps = towers_and_steps
    named = {name: mutant for mutant in made.mutants(with_towers=True) for name in mutant.name.split()[-1].split("/")}
    shown = {
        name: [seen(named[name], step) for step in steps] for name in ("of_keeping", "of_update", "everywhere", "one")
    }
    assert shown == {
        "of_keeping": [True, False],
        "of_update": [False, True],
        "everywhere": [True, True],
        "one": [True, False],
    }


def test_no_step_is_taken_for_a_branch_that_is_not(towers_and_steps, monkeypatch):
    made, steps = towers_and_steps
    mutants = list(made.mutants(with_towers=True))
    taken, step = [], made._step
    monkeypatch.setattr(made, "_step", lambda of, values, *more: taken.append(set(values)) or step(of, values, *more))
    quick = [seen(mutant, one) for one in steps for mutant in mutants]
    few = len(taken)
    monkeypatch.setattr(made.index, "only_branches", lambda changed: frozenset())
    mutants = list(made.mutants(with_towers=True))
    assert quick == [seen(mutant, one) for one in steps for mutant in mutants]
    assert few < len(taken) - few and any(quick) and not all(quick)


def test_a_constant_that_is_used_outside_of_branches_too_is_in_none(towers_and_steps):
    index = towers_and_steps[0].index
    names = {node.rpartition("/outside")[0] or node: node for c in index.constants() for node in c.nodes}
    branches = {
        name.split("/")[-1]: [branch.value for branch in index.only_branches([node + ":0"])]
        for name, node in names.items()
    }
    assert branches["of_keeping"] == [0] and branches["of_update"] == [1] and branches["everywhere"] == []
