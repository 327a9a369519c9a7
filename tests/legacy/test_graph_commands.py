"""The commands about saved graphs refuse what they cannot use before TensorFlow is asked for anything."""

import pytest

from tests.own_flags import own_flags, set_flags
from workloads.support.errors import InputError

with own_flags(shared=False) as CONVERT:
    from legacy import convert
with own_flags(shared=False) as INSPECT:
    from legacy import inspect
with own_flags(shared=False) as LIFT:
    from legacy import lift


def test_a_conversion_needs_a_checkpoint_to_write():
    with pytest.raises(InputError, match="--out: got None, name the checkpoint to write"):
        convert.main("model.ckpt")


def test_a_lift_needs_a_folder_to_write():
    with pytest.raises(InputError, match="--out: got None, name the folder to write"):
        lift.main("graph.meta")


def test_fed_values_have_names():
    with set_flags(INSPECT, feed=["is_training"]), pytest.raises(InputError, match="expected placeholder=value"):
        inspect.main("graph.meta")


def test_each_command_has_its_own_flags():
    assert "allow_ops" in LIFT and "allow_ops" not in INSPECT and "out" in CONVERT
