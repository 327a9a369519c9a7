"""Runs two programs and keeps what `Evidence` is measured from."""

from __future__ import annotations

from parity.diagnosis import job_context
from parity.diagnosis.evidence import ComparedStep, Evidence
from workloads.program import Program
from workloads.support.errors import require

#: Steps of a diagnosis: along two free trajectories first, then each from the left side's state.
FREE, LOCKED = 10, 3

#: More steps than these tell nothing new; so many first ones, and as many last ones as there is room for, are kept.
MOST_STEPS, MOST_BYTES, FIRST = 60, 4 << 30, 5


class Replay(Program):
    """Records that were kept in memory, as a `Program` that can be run again."""

    side = "replay"

    def __init__(self, variables, state, records, about=None):
        self._variables, self._initial, self._records, self._about = variables, state, records, about or {}
        self._next = 0

    def again(self):
        """A copy that starts at the first record."""
        return Replay(self._variables, self._initial, self._records, self._about)

    def variables(self):
        return self._variables

    def describe(self):
        return dict(self._about)

    def state(self):
        return self._records[self._next - 1].state if self._next else self._initial

    def step(self):
        self._next += 1
        return self._records[self._next - 1]


def replay_of_steps(program, steps):
    """A `Replay` of `steps` steps of `program`."""
    state = program.state()
    return Replay(program.variables(), state, [program.step() for _ in range(steps)], program.describe())


def collect_evidence(left, right, known, free=FREE, locked=LOCKED):
    """Steps both programs and returns `Evidence`.

    Args:
      left, right: `Program`s at their first state.
      known: `Context`.
      free: steps that each takes from its own state.
      locked: steps after those, which the right side takes from the left's state; 0 if it cannot be loaded.
    """
    evidence = Evidence(known, left.state(), right.state(), [])
    before = [evidence.left, evidence.right]
    for number in range(free + locked):
        if number >= free:
            right.load(before[0])
            before[1] = before[0]
        records = left.step(), right.step()
        evidence.steps.append(ComparedStep(*records, *before, number >= free))
        before = [record.state for record in records]
        if len(evidence.steps) > _most(evidence):  # the first steps and the last tell the most
            del evidence.steps[FIRST]
    if locked:
        evidence.retake_last_step = lambda: _again(right, evidence.steps[-1].right_before)
    return evidence


def _most(evidence):
    """Steps that are kept at once: both sides' gradients, slots and weights of each are."""
    state = evidence.left
    size = sum(value.nbytes for part in (state.weights, state.slots) for value in part.values())
    return int(max(FREE, min(MOST_STEPS, MOST_BYTES // (2 * size * (evidence.replicas + 2) or 1))))


def _again(program, state):
    program.load(state)
    return program.step()


def evidence_of_recordings(left, right, steps=0):
    """`Evidence` of two `Recording`s.

    Raises:
      InputError: they have no step, or no weight, in common.
    """
    common = min(left.steps, right.steps, steps or left.steps)
    require(common >= 1, "--right", right.path, "both recordings must hold at least one step")
    shared = {s.name: s.shape for s in left.variables()}
    matching = [s for s in right.variables() if shared.get(s.name) == s.shape]
    listed = ", ".join(sorted(shared)[:4])
    require(matching, "--right", right.path, "no variable has a name and shape of --left's, such as " + listed)
    about = {"left": left.describe(), "right": right.describe()}
    return collect_evidence(
        left, right, job_context.context_of_recording(left.manifest.get("job", {}), about), common, 0
    )
