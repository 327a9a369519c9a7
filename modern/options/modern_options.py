"""The choices a `tf.distribute` port has, as one frozen record."""

from __future__ import annotations

import dataclasses

from modern.options.all_reduces import ALL_REDUCES
from workloads.support.errors import require

ALL_REDUCE = tuple(ALL_REDUCES)
UPDATE_RULES = ("tf1", "keras")
AUTODIFF = ("graph", "tape", "new")
VARIABLES = ("auto", "mirrored", "first")


@dataclasses.dataclass(frozen=True)
class ModernOptions:
    """Options of the port: how the replica step is built and run.

    Attributes:
      all_reduce: "auto" (the strategy's own choice), "nccl", "hierarchical_copy", "one_device", "ring" (between
        workers), or "tower_order" (adds the replicas in order, as towers did).
      update_rules: "tf1" (the kernels that `tf.compat.v1.train` optimizers run) or "keras" (Keras 3).
      autodiff: "graph" (`tf.gradients` inside the replica function; a lifted graph's own gradients) or "tape"
        (`tf.GradientTape`); for a lifted workload, "new" differentiates its loss afresh.
      steps_per_call: steps inside one call of the `tf.function`.
      xla: compile each replica's forward and backward pass.
      average: "stack", "add_n" or "add_n_reciprocal": the form of the sum in tower order; exact parity needs legacy's.
      placement: "towers" (a replica a device), or "layers" (the model's layers divided among the devices, in one
        function; replicas are then micro-batches).
      variables: "mirrored" (a copy on every replica, each updated by itself), "first" (one copy on the first replica's
        device, updated once and read by all, as towers kept theirs), or "auto" ("first" where the replicas are CPU
        devices of one process, which share its memory and cores; else "mirrored").
      exact: Grappler off, so that the kernels are the function's own.
      taps: patterns of the tensors inside the model that are recorded; see `workloads.taps`.
    """

    all_reduce: str = "tower_order"
    update_rules: str = "tf1"
    autodiff: str = "graph"
    steps_per_call: int = 1
    xla: bool = False
    average: str = "stack"
    placement: str = "towers"
    variables: str = "mirrored"
    exact: bool = False
    taps: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require(self.all_reduce in ALL_REDUCES, "--all_reduce", self.all_reduce, "allowed: " + ", ".join(ALL_REDUCES))
        require(
            self.update_rules in UPDATE_RULES,
            "--update_rules",
            self.update_rules,
            "allowed: " + ", ".join(UPDATE_RULES),
        )
        require(self.variables in VARIABLES, "--variables", self.variables, "allowed: " + ", ".join(VARIABLES))
        require(self.autodiff in AUTODIFF, "--autodiff", self.autodiff, "allowed: " + ", ".join(AUTODIFF))
        require(self.steps_per_call >= 1, "--steps_per_call", self.steps_per_call, "must be at least 1")

    def configure_grappler(self) -> None:
        """Switches Grappler off for exact kernels, else on, for what this process traces from here on."""
        import tensorflow as tf  # here: command lines, which TensorFlow must not start before, read this record

        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": self.exact})

    def describe_grappler(self) -> str:
        """Returns the report's text on Grappler."""
        return "off" if self.exact else "on"

    def describe_autodiff(self) -> str:
        """Returns the report's text on differentiation of a workload's own loss."""
        return "tf.gradients" if self.autodiff == "graph" else "tf.GradientTape"
