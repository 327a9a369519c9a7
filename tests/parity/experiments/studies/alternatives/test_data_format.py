"""Data formats on the devices of this machine."""

import pytest
import tensorflow as tf

from parity.experiments.studies.alternatives import data_format
from parity.experiments.studies.alternatives.data_format import NCHW, NHWC, ResidualBlock, compare_formats
from parity.experiments.studies.alternatives.turns import QUICK


def test_a_run_takes_each_step_and_reads_the_last_result():
    block, taken = ResidualBlock(NHWC, "CPU:0", batch=1), []
    step = block._step
    block._step = lambda: taken.append(step()) or taken[-1]
    block.run(2)
    assert len(taken) == 2 and float(taken[0]) == float(taken[1]) != 0.0


class Block:
    """Runs in one format only, or in both."""

    refused = ()

    def __init__(self, name, device):
        self.name = name

    def run(self, steps):
        if self.name in self.refused:
            raise tf.errors.UnimplementedError(None, None, "no kernel\nat node x")


@pytest.mark.parametrize("refused", [(NCHW,), (NHWC, NCHW)])
def test_a_format_that_the_device_refuses_is_reported_with_the_reason(refused, monkeypatch):
    monkeypatch.setattr(data_format, "ResidualBlock", type("Some", (Block,), {"refused": refused}))
    found = compare_formats("CPU:0", QUICK)
    assert found.refused == dict.fromkeys(refused, "no kernel") and found.nchw_over_nhwc is None


def test_two_formats_have_a_ratio(monkeypatch):
    monkeypatch.setattr(data_format, "ResidualBlock", Block)
    monkeypatch.setattr(data_format, "block_steps", lambda runner, call, seconds: 1)
    found = compare_formats("CPU:0", QUICK)
    assert not found.refused and found.nchw_over_nhwc.median > 0
