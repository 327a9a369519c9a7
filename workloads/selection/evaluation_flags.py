"""`--eval_data`: the examples that a workload's metrics are measured on. A command calls `define_eval_data`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from absl import flags

if TYPE_CHECKING:
    from workloads.data.batches import Batches
    from workloads.job import Job

flags.disclaim_key_flags()  # `--help` lists the flag with those of the command that asks for it


def define_eval_data(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Defines `--eval_data`."""
    flags.DEFINE_string(
        "eval_data",
        None,
        "Data to evaluate on by the workload's metrics, given as --data: an .npz file, module:function, or TFRecord "
        "files.",
        flag_values=flag_values,
    )


def examples_from_flags(job: Job, flag_values: flags.FlagValues = flags.FLAGS) -> Batches | None:
    """Returns the examples that `--eval_data` names; None without the flag.

    Raises:
      InputError: the workload has no metrics, or the data cannot be used.
    """
    from workloads.data.evaluation import own_examples

    text = flag_values["eval_data"].value
    return own_examples(job, text, flag_values["parser"].value) if text else None
