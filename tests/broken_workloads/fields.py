"""Values of a workload's fields that are refused."""

from __future__ import annotations

from typing import Any

from tests.broken_workloads.case import Healthy
from workloads import optimizers, schedules

#: (field, value, part of the message).
FIELDS: list[tuple[str, Any, str]] = [
    ("name", None, "name: got None, a workload's name must be a text"),
    ("global_batch", "64", "net.global_batch: got '64', must be an integer"),
    ("global_batch", 0, "net.global_batch: got 0, must be an integer, at least 1"),
    ("optimizer", "adam", "net.optimizer: got 'adam', expected one of workloads.optimizers"),
    ("optimizer", optimizers.Adam, "net.optimizer: got <class .*, expected one of workloads.optimizers"),
    ("optimizer", optimizers.Adam(beta1="0.9"), "net.optimizer.beta1: got '0.9', must be a finite number"),
    ("learning_rate", 0.1, "net.learning_rate: got 0.1, expected a schedule"),
    ("learning_rate", schedules.Fixed, "net.learning_rate: got <class .*, expected a schedule"),
    ("learning_rate", schedules.Fixed(float("nan")), "net.learning_rate.rate: got nan, must be a finite number"),
    ("clip", 5.0, "net.clip: got 5.0, expected a workloads.workload.Clip or None"),
    ("moving_average", 0.999, "net.moving_average: got 0.999, expected a workloads.workload.MovingAverage or None"),
    ("weight_decay", "small", "net.weight_decay: got 'small', must be a number"),
]


class NoDataclass(Healthy):
    """Fields with other values, which a class that is no dataclass does not have."""

    name = "wide"
    global_batch = 32
