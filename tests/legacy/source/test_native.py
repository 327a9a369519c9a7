"""Sources of the built-in workloads' own tower graphs: at most twice as long as the workload that a person wrote."""

import pathlib
import re

import pytest

from legacy.options import LegacyOptions
from legacy.saved.lifting import LiftOptions, lift_graph
from legacy.source.source import source_of_analysis
from legacy.towers.program import LegacyProgram
from tests.marks import slow_after
from workloads import models, sources
from workloads.job import Job
from workloads.selection import registry

DEVICES = ["CPU:0", "CPU:1"]


def source_of(name, tmp_path):
    """The source of a workload's tower graph, and the number of lines of the workload itself."""
    job = Job(registry.get(name), len(DEVICES))
    with LegacyProgram(job, sources.Synthetic(job), LegacyOptions(input="feed", exact=True), DEVICES) as towers:
        towers.export(str(tmp_path))
    made = []
    lift_graph(
        str(tmp_path / "graph.meta"),
        None,
        str(tmp_path / "model.ckpt"),
        LiftOptions(name=name),
        use=lambda found, values: made.append(source_of_analysis(found, values)),
    )
    (source,) = made
    by_hand = (pathlib.Path(models.__path__[0]) / (name + ".py")).read_text(encoding="utf-8")
    assert source.text.count("tf.raw_ops") == source.text.count("kernel = tf.raw_ops.FusedBatchNormV3") <= 1
    assert source.notes[-1].startswith("loss, gradients and statistics of each tower have the old graph's bits")
    return source.text, len(by_hand.splitlines())


@pytest.mark.parametrize("name", slow_after(1, ["regression", "sigmoid_stack", "cifar_cnn", "resnet18"]))
def test_a_source_is_at_most_twice_as_long_as_the_workload(name, tmp_path):
    text, by_hand = source_of(name, tmp_path)
    assert len(text.splitlines()) <= 2 * by_hand


@pytest.mark.slow
def test_dropout_whose_seeds_differ_by_tower_is_written(tmp_path):
    text, by_hand = source_of("stacked_lstm", tmp_path)
    assert "[scope.replica % 2], tf.cast(scope.step, tf.int32)])" in text
    assert len(re.findall(r"\(\d{6,}, \d{6,}\)", text)) == 3  # the seeds of both towers in each layer
    assert len(text.splitlines()) <= 2 * by_hand
