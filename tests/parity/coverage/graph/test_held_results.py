"""Mutants outside of the towers take the results of the step without a change, and show what whole steps show."""

import contextlib
import dataclasses

import numpy as np
import pytest

from legacy.rerun.program import OldGraphProgram
from parity.coverage.observed_step import ObservedStep
from parity.verdict.measurement_plan import _towers
from tests import old_programs
from tests.legacy.variants.programs import setup_of

MOST_COMPARED = 6


@contextlib.contextmanager
def towers_and_step(name, replicas=None):
    """The towers of an old program, and one of its steps."""
    setup = setup_of(old_programs.lifted(name), replicas)
    setup = dataclasses.replace(setup, replicated=replicas is not None)
    with contextlib.closing(_towers(setup)) as towers:
        state = towers._program.state()
        yield towers, ObservedStep(setup.job, state, towers._program.step(), "float32")


def shown(mutant, step):
    """[(stage, name, bytes)] of a step with a mutant."""
    return [(one.stage, one.name, np.asarray(one.mutated).tobytes()) for one in mutant.effects(step)]


# Momentum with a clipped norm and batch norm; an optimizer with slots and dropout; rows; two train ops in turn.
@pytest.mark.parametrize(
    "name, replicas",
    [
        ("b_adam_clip", None),
        ("d_batch_norm", None),
        ("e_slim_dropout", None),
        ("g_embedding_adagrad", None),
        ("l_gan", None),
        ("c_queue_ema", 4),
    ],
)
def test_held_results_show_what_whole_steps_show(name, replicas, monkeypatch):
    with towers_and_step(name, replicas) as (towers, step):
        mutants = list(towers.mutants(with_towers=False))
        runs = []
        compute = towers._program.tower_results
        monkeypatch.setattr(towers._program, "tower_results", lambda: runs.append(1) or compute())
        quick = [shown(mutant, step) for mutant in mutants[:MOST_COMPARED]]
        assert towers._results is not None and towers._results[1] is not None and len(runs) == 1
        monkeypatch.setattr(towers.index, "is_outside_towers", lambda changed: False)
        assert quick == [shown(mutant, step) for mutant in mutants[:MOST_COMPARED]]
        assert len(runs) == 1 and any(quick)


def test_towers_run_for_what_their_results_depend_on():
    with towers_and_step("b_adam_clip") as (towers, _):
        outside = {
            constant.name: towers.index.is_outside_towers(constant.nodes) for constant in towers.index.constants()
        }
    assert any(outside.values()) and not all(outside.values())


def test_results_that_make_another_step_are_not_held(monkeypatch):
    with towers_and_step("b_adam_clip") as (towers, step):
        (mutant, *_) = towers.mutants(with_towers=False)
        expected = shown(mutant, step)

        def wrong(self):
            return {name: 2 * value for name, value in right(self).items()}

        right = OldGraphProgram.tower_results
        monkeypatch.setattr(OldGraphProgram, "tower_results", wrong)
        towers.set_bounds({})
        assert shown(mutant, step) == expected and towers._results[1] is None
