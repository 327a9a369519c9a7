"""Causes of a speed that is not what it seems: they do not change a number of the training."""

from __future__ import annotations

import dataclasses
import threading
import time

from modern.mirrored.program import ModernProgram
from parity.causes.cause import HIGH, MEDIUM, Cause, Fault, Finding, RecognizedCause
from parity.comparison.fits import near
from parity.diagnosis import run_speed
from workloads import sources
from workloads.selection import registry

STAGE = "speed"


def retrace(seen):
    if seen.traces < seen.steps or seen.eager:
        return None
    return Finding(
        f"The step was traced {seen.traces} times in {seen.steps} steps: it is compiled anew each time.",
        HIGH,
        "Python ran the replica function that often after the first call",
    )


def eager(seen):
    if not seen.eager:
        return None
    return Finding(
        "strategy.run is called eagerly: every op of every replica goes through Python.",
        HIGH,
        "the replica function runs without a graph",
    )


def miscounted(seen):
    ratio = seen.claimed / seen.counted if seen.counted else 1.0
    if near(ratio, 1):
        return None
    known = [text for value, text in ((seen.replicas, "N"), (1 / seen.replicas, "1/N")) if near(ratio, value)]
    return Finding(
        "{:g} examples a step are claimed and {:g} are consumed: examples/s are {:g} x what they are{}.".format(
            seen.claimed, seen.counted, ratio, f" ({known[0]}, the number of replicas)" if known else ""
        ),
        HIGH if known else MEDIUM,
        "counted from the replicas' batches",
    )


def unsynchronized(seen):
    left = seen.finished - seen.returned
    if left < 3 * seen.read or left < seen.returned:
        return None
    return Finding(
        f"{seen.steps} steps return after {seen.returned:.3g} s and are done after {seen.finished:.3g} s: the clock was read before the work was "
        "done.",
        HIGH,
        "weights were read back to wait for the work",
    )


def input_bound(seen):
    others = any(criterion(seen) for criterion in (eager, retrace, unsynchronized))
    if others or not seen.streamed or seen.resident <= 2 * seen.streamed:
        return None
    return Finding(
        f"With a batch that stays on the devices it runs {seen.resident / seen.streamed:.1f} x as fast as with new batches: the input is what takes "
        "the time.",
        HIGH if seen.resident > 3 * seen.streamed else MEDIUM,
        f"{seen.resident:.4g} against {seen.streamed:.4g} examples/s",
    )


class _Retracing(ModernProgram):
    def run(self, steps):
        import tensorflow as tf

        self._start()
        if self._many is None:
            self._many = tf.function(lambda number: self._run_once(), autograph=False)
        for number in range(self._step, self._step + steps):
            losses = self._many(number)
        self._step += steps
        return [loss.numpy() for loss in losses]


class _Eager(ModernProgram):
    def run(self, steps):
        self._start()
        for _ in range(steps):
            losses = self._run_once()
        self._step += steps
        return [loss.numpy() for loss in losses]


class _NotWaiting(ModernProgram):
    """Hands its steps to a thread and returns, as a GPU's queue does."""

    _thread = None

    def run(self, steps):
        self.wait()
        self._thread = threading.Thread(target=super().run, args=(steps,))
        self._thread.start()
        return [0.0] * self._job.replicas

    def wait(self):
        """Waits for what was started."""
        if self._thread is not None:
            self._thread.join()

    def state(self):
        self.wait()
        return super().state()


class _OneReplicaCounted(ModernProgram):
    @property
    def examples_per_step(self):
        """What this program says that a step consumes."""
        return self._job.per_replica_batch


class _Slow(sources.Synthetic):
    """A batch takes 20 ms to come, as from a slow disk."""

    def batch(self, step):
        time.sleep(0.02)
        return super().batch(step)


def _program(cls, **options):
    def inject(setup):
        modern = dataclasses.replace(setup.modern, **options)
        return cls(setup.job, setup.make_source(setup.job), modern, setup.devices())

    return inject


def _slow_input(setup):
    return dataclasses.replace(setup, make_source=_Slow).modern_program()


def recognize_causes(seen):
    """Returns all `RecognizedCause`s of speed that a `RunSpeed` shows."""
    findings = [(cause, cause.criterion(seen)) for cause in CAUSES]
    return [RecognizedCause(cause, finding) for cause, finding in findings if finding is not None]


def trial(cause, fault):
    """Returns the row of `parity.faults` for a fault of speed, injected into system 2 at two replicas."""
    from legacy.options import LegacyOptions
    from modern.options import ModernOptions
    from parity.comparison.setup import Setup
    from workloads.job import Job

    job = Job(registry.get("regression"), 2)
    setup = Setup(job, sources.Synthetic, LegacyOptions(), ModernOptions(), "cpu")
    start = time.perf_counter()
    with fault.inject(setup) as program:
        resident = dataclasses.replace(setup, make_source=sources.Resident).modern_program
        found = recognize_causes(run_speed.measure_run_speed(program, job, resident))
    ids = [recognized.id for recognized in found]
    return {
        "planted": fault.name,
        "expected": [cause.id],
        "workload": "regression",
        "model": "regression",
        "replicas": 2,
        "detected": bool(found),
        "stage": STAGE,
        "named": ids[0] if ids else None,
        "confidence": found[0].finding.confidence if found else None,
        "right": ids[:1] == [cause.id],
        "all_named": ids,
        "both_named": None,
        "wrong_and_sure": [r.id for r in found if r.finding.confidence == HIGH and r.id != cause.id],
        "sentence": found[0].finding.sentence if found else None,
        "seconds": round(time.perf_counter() - start, 2),
    }


CAUSES = (
    Cause(
        "EAGER_RUN",
        STAGE,
        "strategy.run outside a tf.function",
        "a step takes 20 times and more of one in a graph; its time hardly depends on the batch",
        "Eager execution runs every op of every replica from Python, one replica after the other.",
        "Wrap the loop over steps, or at least the step, in a tf.function.",
        eager,
        (Fault("run_eagerly", _program(_Eager, autodiff="tape")),),
        "R35",
    ),
    Cause(
        "RETRACE",
        STAGE,
        "the step is traced again and again",
        "the count of traces grows with the steps",
        "A Python number as an argument, a new function object each time, or shapes that change.",
        "Hand over tensors; make the function once; input_signature.",
        retrace,
        (Fault("step_number_as_python_int", _program(_Retracing)),),
        "R35",
    ),
    Cause(
        "EXAMPLES_MISCOUNTED",
        STAGE,
        "examples are counted wrongly",
        "examples/s are N times, or 1/N of, what the batches say",
        "One replica's batch counted for all, or the global batch counted once a replica.",
        "Count examples from the batches' shapes, over all replicas.",
        miscounted,
        (Fault("one_replicas_examples_counted", _program(_OneReplicaCounted)),),
        "R33",
    ),
    Cause(
        "ASYNC_TIMING",
        STAGE,
        "the clock is read before the work is done",
        "time until a call returns is far less than until its results are there",
        "Ops on a GPU are queued and return at once; Session.run waited.",
        "Read a result back, or tf.test.experimental.sync_devices(), before the clock.",
        unsynchronized,
        (Fault("clock_read_too_early", _program(_NotWaiting)),),
        "R34",
    ),
    Cause(
        "INPUT_BOUND",
        STAGE,
        "the input takes the time",
        "examples/s with one resident batch are far more than with new batches",
        "Reading, decoding or copying is slower than the step.",
        "prefetch, parallel map, several steps' batches at once; compare steps on resident batches.",
        input_bound,
        (Fault("slow_input", _slow_input),),
        "R36",
    ),
)
