"""Checks of a workload's fields and inputs, before anything is built from them; each refusal is one line."""

from __future__ import annotations

import dataclasses
import math
import numbers
import operator
from collections.abc import Mapping

from workloads import optimizers
from workloads.numerics.statistics import STATISTICS
from workloads.support.errors import InputError, require
from workloads.support.user import user_code
from workloads.workload import (
    CLIP_HOW,
    CLIP_WHERE,
    COMBINE,
    LAST_BATCHES,
    Clip,
    InputSpec,
    MovingAverage,
    Workload,
)

KINDS = ("float", "int")


def check_fields(workload: Workload) -> None:
    """Raises `InputError` unless the fields that every workload has are usable."""
    _check_class(workload)
    name = workload.name
    require(isinstance(name, str) and name, "name", name, "a workload's name must be a text")

    def check(condition: object, field: str, value: object, allowed: str) -> None:
        require(condition, f"{name}.{field}", value, allowed)

    batch, rate, optimizer = workload.global_batch, workload.learning_rate, workload.optimizer
    check(_is_count(batch), "global_batch", batch, "must be an integer, at least 1")
    check(
        callable(rate) and not isinstance(rate, type),
        "learning_rate",
        rate,
        "expected a schedule, such as schedules.Fixed(0.1)",
    )
    check(isinstance(optimizer, optimizers.Optimizer), "optimizer", optimizer, "expected one of workloads.optimizers")
    check(workload.combine in COMBINE, "combine", workload.combine, "allowed: " + ", ".join(COMBINE))
    check(workload.statistics in STATISTICS, "statistics", workload.statistics, "allowed: " + ", ".join(STATISTICS))
    check(workload.last_batch in LAST_BATCHES, "last_batch", workload.last_batch, "allowed: " + ", ".join(LAST_BATCHES))
    check(_is_number(workload.weight_decay), "weight_decay", workload.weight_decay, "must be a number")
    _check_numbers(f"{name}.learning_rate", rate)
    _check_numbers(f"{name}.optimizer", optimizer)
    _check_clip(f"{name}.clip", workload.clip)
    _check_moving_average(f"{name}.moving_average", workload.moving_average)


def _check_class(workload: Workload) -> None:
    """Raises `InputError` if a class that is no dataclass gives fields other values, which would have no effect."""
    kind = type(workload)
    names = {field.name for field in dataclasses.fields(workload)}
    changed = sorted(names & set(vars(kind)))
    if changed and "__dataclass_fields__" not in vars(kind):
        where = user_code.named(f"class {kind.__name__}", kind)
        raise InputError(
            f"{where}: got {', '.join(changed)} without @dataclasses.dataclass(frozen=True) above the class"
        )


def _check_clip(what: str, clip: object) -> None:
    if clip is None:
        return
    require(isinstance(clip, Clip), what, clip, "expected a workloads.workload.Clip or None")
    assert isinstance(clip, Clip)  # for the type checker
    require(clip.where in CLIP_WHERE, what + ".where", clip.where, "allowed: " + ", ".join(CLIP_WHERE))
    require(clip.how in CLIP_HOW, what + ".how", clip.how, "allowed: " + ", ".join(CLIP_HOW))
    require(isinstance(clip.limit, numbers.Real) and clip.limit > 0, what + ".limit", clip.limit, "must be positive")


def _check_moving_average(what: str, average: object) -> None:
    if average is None:
        return
    require(isinstance(average, MovingAverage), what, average, "expected a workloads.workload.MovingAverage or None")
    _check_numbers(what, average)


def _check_numbers(what: str, record: object) -> None:
    """Raises `InputError` unless the fields of a record that are declared to be numbers are finite numbers."""
    if dataclasses.is_dataclass(record):
        for field in dataclasses.fields(record):
            value = getattr(record, field.name)
            if field.type in ("int", "float", int, float):
                require(_is_number(value), f"{what}.{field.name}", value, "must be a finite number")


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and math.isfinite(value)


def _is_count(value: object) -> bool:
    return isinstance(value, numbers.Integral) and int(value) >= 1


def check_inputs(workload: Workload) -> None:
    """Raises `InputError` unless `workload.inputs()` is {name: `InputSpec`}, each with a usable shape and kind."""
    what = f"{workload.name}.inputs()"
    with user_code.calling(what, workload.inputs, "{input name: InputSpec}"):
        inputs = workload.inputs()
    what = user_code.named(what, workload.inputs)
    require(isinstance(inputs, Mapping), what, inputs, "must be {input name: InputSpec}")
    require(len(inputs) > 0 or workload.has_own_step, what, {}, "a workload has at least one input")
    for name, spec in inputs.items():
        require(isinstance(name, str) and name, what, name, "an input's name must be a text")
        _check_spec(f"{what}: {name!r}", spec)
        if spec.kind == "int" and type(workload).examples is Workload.examples:
            require(
                spec.classes >= 1, f"{what}: {name!r}: classes", spec.classes, "must be at least 1 to draw examples"
            )


def _check_spec(what: str, spec: object) -> None:
    require(isinstance(spec, InputSpec), what, spec, "must be an InputSpec")
    assert isinstance(spec, InputSpec)  # for the type checker
    try:
        sizes = [operator.index(size) for size in spec.shape]
        classes = operator.index(spec.classes)
    except TypeError:
        raise InputError(f"{what}: got {spec!r}, shape must be a tuple of integers, and classes one") from None
    require(min(sizes, default=1) >= 1, what, spec.shape, "every size of one example must be at least 1")
    require(spec.kind in KINDS, f"{what}: kind", spec.kind, "allowed: " + ", ".join(KINDS))
    require(classes >= 0, f"{what}: classes", classes, "must be at least 0")
