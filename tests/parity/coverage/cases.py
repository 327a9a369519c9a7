"""Observed steps of a one-weight job whose numbers are exact, for tests of mutants."""

import dataclasses

import numpy as np

from parity.coverage.measuring import detector
from parity.coverage.observed_step import ObservedStep
from tests.cases import Dyadic, setup
from tests.parity.step_records import made_up_state, step_record


def dyadic_job(replicas=2, **fields):
    """The job of `Dyadic` with these fields of the workload."""
    return setup(dataclasses.replace(Dyadic(), **fields), replicas, global_batch=8).job


def observed(job, before=None, after=None, visit=None, **record):
    """An `ObservedStep` of made-up records; the states are `made_up_state`'s arguments."""
    number = record.get("step", 0)
    state = made_up_state(**(after or {}), step=number + 1)
    made = step_record(state=state, **record)
    return ObservedStep(job, made_up_state(**(before or {}), step=number), made, "float32", visit)


def seen(mutants, step, detects=detector.detects_any_bit):
    """Names of the mutants that the step shows."""
    return {mutant.name for mutant in mutants if any(detects(effect) for effect in mutant.effects(step))}


def names(mutants):
    """Names of mutants, each once."""
    return {mutant.name for mutant in mutants}


def ones(*values):
    """A float32 vector."""
    return np.asarray(values, np.float32)
