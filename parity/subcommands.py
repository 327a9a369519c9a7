"""Subcommands of `tower-parity`: their names, the modules that run them, and one line about each."""

from __future__ import annotations

from typing import NamedTuple


class Subcommand(NamedTuple):
    """One subcommand.

    Attributes:
      name: as it is typed after `tower-parity`.
      module: the module whose `console` runs it. It is imported only when it is asked for, as two commands may define
        a flag of the same name.
      summary: one line for `tower-parity --help`.
    """

    name: str
    module: str
    summary: str


SUBCOMMANDS = (
    Subcommand("doctor", "parity.doctor", "show what is installed, what runs here, and the next command to type"),
    Subcommand("verify", "parity.verify", "compare one workload's towers with its port, step by step"),
    Subcommand("benchmark", "parity.benchmark", "measure how fast the port is, relative to the towers"),
    Subcommand("profile", "parity.profile", "show where the time of a step goes on each side"),
    Subcommand("predict", "parity.predict", "predict the step time of both sides on devices that are not here"),
    Subcommand("tune", "parity.tune", "find settings that make the port faster and leave its mathematics alone"),
    Subcommand("diagnose", "parity.diagnose", "name the cause of the difference between two recordings"),
    Subcommand(
        "placement", "parity.placement", "compare model-parallel runs, and measure what crosses between devices"
    ),
    Subcommand("inspect", "legacy.inspect", "describe a saved graph of TensorFlow 1.x and its hazards"),
    Subcommand("lift", "legacy.lift", "turn a saved graph into a workload"),
    Subcommand("convert", "legacy.convert", "convert a checkpoint of TensorFlow 1.x for 2.x, or back"),
    Subcommand("legacy-train", "legacy.train", "train on towers in a session"),
    Subcommand("modern-train", "modern.train", "train under a tf.distribute strategy"),
    Subcommand("legacy-record", "legacy.record", "record the steps of a tower run"),
    Subcommand("modern-record", "modern.record", "record the steps of a tf.distribute run"),
    Subcommand("topology", "modern.topology", "list the devices here and the links between GPUs"),
    Subcommand("faults", "parity.qualification.faults", "inject every catalogued fault and check that it is named"),
    Subcommand("ports", "parity.ports.__main__", "record plain Keras 3 ports and diagnose them"),
    Subcommand("clean-runs", "parity.qualification.clean_runs", "check that runs without a fault raise no alarm"),
    Subcommand("sensitivity", "parity.qualification.sensitivity", "find the smallest error that is detected"),
    Subcommand(
        "survival", "parity.qualification.survival", "kill a training run at random steps and compare the result"
    ),
    Subcommand(
        "lost-worker", "parity.qualification.lost_worker", "kill a parameter-server worker and compare the loss"
    ),
    Subcommand("gpu", "parity.qualification.gpu", "run every check that a machine with GPUs needs, and write a page"),
    Subcommand("study", "parity.qualification.study", "answer a question of the write-ups by measurements (--name)"),
    Subcommand("causes", "parity.causes.__main__", "print the catalogue of causes as Markdown"),
)


def subcommand_list() -> str:
    """Returns the lines about all subcommands for `tower-parity --help`."""
    width = max(len(subcommand.name) for subcommand in SUBCOMMANDS)
    lines = [f"  {subcommand.name:{width}}  {subcommand.summary}" for subcommand in SUBCOMMANDS]
    return "\n".join(["subcommands (tower-parity SUBCOMMAND --help explains each):", *lines])
