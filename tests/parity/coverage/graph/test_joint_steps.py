"""Steps with several changes at once: each change shows what it shows alone, and nothing that another one does."""

import dataclasses

import numpy as np

from parity.comparison.tour import Visit
from parity.coverage.graph.joint_steps import JointSteps, OwnChange
from parity.coverage.measuring import detector
from parity.coverage.mutant import Choice
from tests.parity.coverage.graph.test_held_results import towers_and_step
from tests.parity.step_records import made_up_state, step_record


@dataclasses.dataclass(frozen=True)
class Taken:
    """A step, of which only this is asked."""

    visit: Visit | None


def record(**statistics):
    """A record of a step that leaves these statistics."""
    arrays = {name: np.array([value], np.float32) for name, value in statistics.items()}
    state = dataclasses.replace(made_up_state({"w": [1.0]}), statistics=arrays)
    return dataclasses.replace(step_record(0, (1.0,), ({"w": [1.0]},)), state=state)


def own_change(key, *names, opposite=False):
    """A change of a constant of each of some statistics."""
    values = {f"{name}/decay:0": np.float32(0.5) for name in names}
    return OwnChange(key, values, values if opposite else {}, frozenset(names), frozenset(names))


def joint(*changes):
    steps = JointSteps()
    steps.set_changes(changes)
    return steps


def names_seen(effects):
    return [effect.name for effect in effects if detector.detects_any_bit(effect)]


def test_each_change_shows_by_its_own_variables_alone():
    """`b` keeps its value: the step in which `a` differs does not show its decay."""
    steps, given = joint(own_change(0, "a"), own_change(1, "b")), []
    take = lambda values: given.append(sorted(values)) or record(a=2.0, b=1.0)  # noqa: E731
    step, right = Taken(None), record(a=1.0, b=1.0)
    assert names_seen(steps.effects(0, step, right, take)) == ["a"]
    assert names_seen(steps.effects(1, step, right, take)) == []
    assert given == [["a/decay:0", "b/decay:0"]]  # one step for both


def test_a_visit_tries_the_opposite_changes_of_those_that_have_one():
    steps, given = joint(own_change(0, "a", opposite=True), own_change(1, "b")), []
    take = lambda values: given.append(sorted(values)) or record(a=2.0, b=2.0)  # noqa: E731
    step, right = Taken(Visit("another", made_up_state({}))), record(a=1.0, b=1.0)
    assert names_seen(steps.effects(0, step, right, take)) == ["a", "a"]
    assert names_seen(steps.effects(1, step, right, take)) == ["b"]
    assert given == [["a/decay:0", "b/decay:0"], ["a/decay:0"]]


def test_changes_of_one_variable_take_a_step_each():
    steps = joint(own_change(0, "a"), own_change(1, "a"), own_change(2, "b"))
    assert steps.effects(1, Taken(None), record(a=1.0, b=1.0), lambda values: record(a=2.0, b=2.0)) is None


def test_a_group_with_which_no_step_runs_and_a_variable_that_is_not_compared_take_steps_of_their_own():
    def fails(values):
        raise ValueError

    changes = own_change(0, "a"), own_change(1, "b")
    assert joint(*changes).effects(0, Taken(None), record(a=1.0, b=1.0), fails) is None
    found = joint(*changes).effects(1, Taken(None), record(a=1.0), lambda values: record(a=2.0))
    assert found is None


def test_changes_that_are_tried_together_show_what_they_show_alone(monkeypatch):
    with towers_and_step("d_batch_norm") as (towers, step):
        mutants = [mutant for mutant in towers.mutants(with_towers=True) if mutant.choice is Choice.CONSTANT]
        joined = [mutant for mutant, key in zip(mutants, sorted(towers._refused)) if key in towers._joint._group_of]
        assert len(joined) > 1
        taken = []
        take = towers._step
        monkeypatch.setattr(towers, "_step", lambda *given: taken.append(1) or take(*given))
        together = [changed(mutant, step) for mutant in joined]
        number = len(taken)
        towers._joint.set_changes([])
        assert together == [changed(mutant, step) for mutant in joined] and any(together)
        assert number < len(joined) <= len(taken) - number


def changed(mutant, step):
    """[(stage, name, bytes)] of the tensors that differ by a mutant."""
    seen = [one for one in mutant.effects(step) if detector.detects_any_bit(one)]
    return sorted((one.stage, one.name, np.asarray(one.mutated).tobytes()) for one in seen)
