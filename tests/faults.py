"""Faults for negative controls, each planted in the modern side in one place: a changed field, or a wrapped program."""

import dataclasses

import numpy as np

from modern import exchange, replica_step
from modern.program import ModernProgram
from workloads import optimizers, schedules, sources
from workloads.program import Program, State
from workloads.workload import Clip


def changed(**fields):
    """A fault that is a named field of the workload with another value."""

    def plant(setup):
        job = dataclasses.replace(setup.job, workload=dataclasses.replace(setup.job.workload, **fields))
        return dataclasses.replace(setup, job=job).modern_program()

    return plant


def sum_for_mean(setup):
    return changed(combine="sum")(setup)


def clip_after_instead_of_before(setup):
    return changed(clip=Clip(setup.job.workload.clip.limit, "combined"))(setup)


def wrong_towers_statistics(setup):
    return changed(statistics="mean_of_towers")(setup)


def learning_rate_times_replicas(setup):
    return changed(learning_rate=schedules.Fixed(setup.job.workload.learning_rate.rate * setup.job.replicas))(setup)


def keras_epsilon(setup):
    return changed(optimizer=optimizers.Adam(epsilon=1e-7))(setup)


def weight_decay_times_replicas(setup):
    return changed(weight_decay=setup.job.workload.weight_decay * setup.job.replicas)(setup)


def rmsprop_from_zeros(setup):
    """Keras's initial slots in the place of 1.x's ones."""

    class FromZeros(optimizers.RMSProp):
        def slots(self):
            return {"rms": 0.0, "momentum": 0.0}

    program = setup.modern_program()
    state = program.state()
    state.slots = {
        name: np.zeros_like(value) if name.endswith("/rms") else value for name, value in state.slots.items()
    }
    program.load(state)
    return program


class _Swapped(sources.Synthetic):
    def shards(self, step):
        return super().shards(step)[::-1]


def shards_swapped(setup):
    return dataclasses.replace(setup, make_source=_Swapped).modern_program()


def same_noise_on_every_replica(setup):
    """Every replica draws the first one's noise: what Keras 3's Dropout does."""

    class Same(replica_step.ReplicaFrame):
        def noise(self, name, shape):
            self.replica = 0
            return super().noise(name, shape)

    return _with_frame(setup, Same)


def last_replicas_statistics(setup):
    """The statistics of the last replica in the place of the first one's."""

    def from_last(context, tensors):
        return [values[-1] for values in exchange.gather(context, tensors)]

    return _patched(setup, exchange, "from_first", from_last)


def _with_frame(setup, frame):
    return _patched(setup, replica_step, "ReplicaFrame", frame)


def _patched(setup, module, name, value):
    """A program that is traced with `module.<name>` replaced."""
    kept = getattr(module, name)

    class Patched(ModernProgram):
        def _start(self):
            setattr(module, name, value)
            super()._start()

        def step(self):
            setattr(module, name, value)
            try:
                return super().step()
            finally:
                setattr(module, name, kept)

    return Patched(setup.job, setup.make_source(setup.job), setup.modern, setup.devices())


class _SkipsAverages(Program):
    """Forgets to move the averages in step 2."""

    def __init__(self, program):
        self._program = program

    def __getattr__(self, name):
        return getattr(self._program, name)

    def variables(self):
        return self._program.variables()

    def load(self, state):
        self._program.load(state)

    def state(self):
        return self._program.state()

    def step(self):
        before = self._program.state().averages
        record = self._program.step()
        if record.step == 2:
            s = record.state
            record.state = State(s.step, s.weights, s.slots, s.statistics, before)
            self._program.load(record.state)
        return record

    def close(self):
        self._program.close()


def one_step_of_the_average_skipped(setup):
    return _SkipsAverages(setup.modern_program())
