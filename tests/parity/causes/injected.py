"""Trials of injected faults for the tests, run in processes of their own: each leaves TensorFlow's threads behind."""

from __future__ import annotations

import functools
from typing import Any

from parity.causes import catalogue
from parity.fault_injection import trial
from parity.fault_injection.injected_faults import InjectedFaults, fault_pair, single_fault
from parity.fault_injection.pairs import PAIRS
from parity.processes import pool as workers
from tests.cases import Everything
from workloads import optimizers, schedules
from workloads.selection import registry
from workloads.workload import MovingAverage

FAULTS = {fault.name: (cause, fault) for cause in catalogue.CAUSES for fault in cause.faults}

#: Faults that cannot occur in `Everything`, or not be told apart there, and the system they are injected into instead.
ELSEWHERE = {
    "occurrences_squared_apart": "regression",
    "momentum_of_touched_rows_only": "regression",
    "clipnorm_for_global_clipnorm": "regression",  # no gradient of one weight is as long as the limit
    "products_in_tensor_float_32": "regression",  # too small a net for errors to look random
    "norm_epsilon_of_another_library": "resnet18",  # one normalization has none after it
    "decay_of_one_weight_lost": "cifar_cnn",  # only one weight decays
    "clipped_as_by_pytorch": "cifar_cnn",  # an epsilon shows in short gradients alone
    "convolution_padded_alike": "resnet18",
    "stride_in_the_other_convolution": "resnet18",
    "gradient_stopped_in_the_shortcuts": "resnet18",
    "dilated_convolution": "cifar_cnn",
    "pooling_padded_alike": "cifar_cnn",
}

#: Every sixth pair; `parity.faults --pairs` runs them all.
SOME_PAIRS = PAIRS[::6]

SMALL = Everything(
    global_batch=32,
    learning_rate=schedules.Fixed(0.125),
    dropout_rate=0.25,
    moving_average=MovingAverage(0.99),
    optimizer=optimizers.Momentum(),
)


def trial_names() -> list[str]:
    """Returns the names of the trials: one fault's, or two faults' with a plus between."""
    return sorted(FAULTS) + ["{} + {}".format(*pair) for pair in SOME_PAIRS]


def faults_of(name: str) -> InjectedFaults | None:
    """Returns what the trial injects; None if the fault cannot occur in the workload that is chosen for it."""
    first, _, second = name.partition(" + ")
    base = ELSEWHERE.get(first, "everything")
    workload = registry.get(base) if base in registry.NAMES else SMALL
    replicas = 2 if FAULTS[first][1].occurs_at(2) else 4
    if second:
        return fault_pair(FAULTS[first], FAULTS[second], base, workload, replicas)
    return single_fault(*FAULTS[first], base, workload, replicas)


def run_trial(name: str) -> tuple[str, dict[str, Any]]:
    """Returns the name and the row of one trial."""
    injected = faults_of(name)
    assert injected is not None, f"{name} cannot occur in its workload; choose one in ELSEWHERE"
    return name, _trials().run(injected)


@functools.cache
def _trials() -> trial.Trials:
    """Returns this process's trials: many faults are injected into one workload, which legacy then trains once."""
    return trial.Trials()


def trial_rows() -> dict[str, dict[str, Any]]:
    """Returns {name of the trial: its row} of all trials."""
    with workers.process_pool(2, tasks_per_process=25) as pool:
        return dict(pool.imap_unordered(run_trial, trial_names()))
