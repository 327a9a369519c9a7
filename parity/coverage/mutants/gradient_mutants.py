"""Mutants between the gradients and the optimizer: mean or sum, clipping, decay of each weight, staleness."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from parity.comparison import stages
from parity.coverage import formulas
from parity.coverage.changed_constants import FACTOR
from parity.coverage.mutant import Choice, Effect, Effects, Exposure, Mutant
from parity.coverage.observed_step import ObservedStep
from parity.layers.differing_tensors import on_replica
from workloads.job import Job
from workloads.workload import CLIP_HOW, CLIP_WHERE, COMBINE, Clip

#: Reason why a changed clip was not seen where none acted, with advice.
CLIP_HINT = "clipping acts in no compared step; a state with larger gradients would show it"
#: Reason why a factor of the gradients was not seen: clipping by a norm takes it out again.
SCALE_HINT = "clipping acts in every compared step, and hides it; a state with smaller gradients would show it"

#: A power of two, so that gradients which are scaled to such a part of a limit keep their bits.
SMALL_LIMIT = 2.0**-20


def combine_mutants(job: Job) -> Iterator[Mutant]:
    """Yields the mutants of the reduction and of clipping."""
    workload = job.workload
    if job.staleness is not None:
        yield from _clip_mutants(job)
        return
    other = next(how for how in COMBINE if how != workload.combine)
    alone = "one replica's gradients are their own mean and sum" if job.replicas == 1 else ""
    change = f"{workload.combine} -> {other}"
    combined = Mutant(Choice.COMBINE, "combine", change, _combined(other, workload.clip), harmless=lambda: alone)
    if workload.clip is not None and workload.clip.where == "combined":
        combined = dataclasses.replace(combined, hidden=lambda: SCALE_HINT, exposure=Exposure.SMALL_GRADIENTS)
    yield combined
    yield from _clip_mutants(job)
    still = "the gradients are zero in every compared step"
    yield Mutant(Choice.STALENESS, "staleness", "none -> one update late", _late, lambda: still)


def _clip_mutants(job: Job) -> Iterator[Mutant]:
    workload, clip = job.workload, job.workload.clip
    if clip is None:
        return
    changes: list[tuple[str, str, Clip | None]] = [
        ("clip.limit", f"{clip.limit:.6g} -> {clip.limit * FACTOR:.6g}", _replaced(clip, limit=clip.limit * FACTOR)),
        ("clip.none", "no clipping at all", None),
    ]
    changes += [("clip.how", f"{clip.how} -> {how}", _replaced(clip, how=how)) for how in CLIP_HOW if how != clip.how]
    if job.replicas > 1 and job.staleness is None:
        changes += [
            ("clip.where", f"{clip.where} -> {where}", _replaced(clip, where=where))
            for where in CLIP_WHERE
            if where != clip.where
        ]
    for name, change, changed in changes:
        effects = _combined(workload.combine, changed)
        yield Mutant(Choice.CLIP, name, change, effects, lambda: CLIP_HINT, exposure=Exposure.LARGE_GRADIENTS)
    yield Mutant(
        Choice.CLIP,
        "clip.always",
        "scaled to the limit even below it",
        _always_clipped(job, clip),
        lambda: "clipping acts in every compared step; a state with smaller gradients would show it",
        lambda: "clipping by value has no scale" if clip.how == "value" else "",
        exposure=Exposure.SMALL_GRADIENTS,
    )


def _replaced(clip: Clip, **changes: object) -> Clip:
    return dataclasses.replace(clip, **changes)  # type: ignore[arg-type]  # fields of `Clip`


def _combined(how: str, clip: Clip | None) -> Effects:
    """Effects of another reduction or clip, from the recorded gradients of the replicas."""

    def effects(step: ObservedStep) -> Iterator[Effect]:
        if not step.record.gradients:
            return
        for group, right in zip(step.gradient_groups, step.combined):
            wrong = formulas.combined_gradients(group, how, clip, step.dtype)
            for name, value in right.items():
                yield Effect(stages.COMBINED, name, value, wrong[name])

    return effects


def _always_clipped(job: Job, clip: Clip) -> Effects:
    """Effects of gradients that are scaled to the limit also where they are shorter."""

    def effects(step: ObservedStep) -> Iterator[Effect]:
        for group, right in zip(step.gradient_groups, step.combined) if step.record.gradients else ():
            tiny = dataclasses.replace(clip, limit=SMALL_LIMIT * clip.limit)
            wrong = formulas.combined_gradients(group, job.workload.combine, tiny, step.dtype)
            for name, value in right.items():
                yield Effect(stages.COMBINED, name, value, wrong[name] / SMALL_LIMIT)

    return effects


def _late(step: ObservedStep) -> Iterator[Effect]:
    """Effects of an update that applies the gradients of the update before, which a first update does not have."""
    for name, value in step.record.combined.items():
        yield Effect(stages.COMBINED, name, value, np.zeros_like(value))


def decay_mutants(decayed: dict[str, float]) -> Iterator[Mutant]:
    """Yields the mutants of the weight decay, {weight: rate}."""
    for name, rate in decayed.items():
        yield Mutant(
            Choice.DECAY,
            f"decay of {name}",
            f"{rate:.6g} -> {rate * FACTOR:.6g}",
            _decayed(name, rate * (FACTOR - 1)),
            lambda: "the weight is zero in every compared step",
        )


def _decayed(name: str, change: float) -> Effects:
    """Effects of a changed rate of decay, which adds `change` times the weight to its gradient."""

    def effects(step: ObservedStep) -> Iterator[Effect]:
        if step.record.gradients and name in step.record.gradients[0]:
            gradient = np.asarray(step.record.gradients[0][name], step.dtype)
            wrong = gradient + np.asarray(change * np.asarray(step.before.weights[name], np.float64), step.dtype)
            yield Effect(stages.GRADIENTS, on_replica(name, 0), gradient, wrong)

    return effects
