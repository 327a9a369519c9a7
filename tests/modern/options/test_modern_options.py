import dataclasses

import pytest

from modern.options import modern_options
from modern.options.modern_options import ModernOptions
from workloads.support.errors import InputError


@pytest.mark.parametrize(
    "field, value, message",
    [
        ("all_reduce", "gossip", "--all_reduce: got 'gossip', allowed: auto, ring"),
        ("update_rules", "tf2", "--update_rules: got 'tf2', allowed: tf1, keras"),
        ("autodiff", "forward", "--autodiff: got 'forward', allowed: graph, tape, new"),
        ("steps_per_call", 0, "--steps_per_call: got 0, must be at least 1"),
    ],
)
def test_another_value_is_refused_in_one_line(field, value, message):
    with pytest.raises(InputError) as refused:
        ModernOptions(**{field: value})
    assert message in str(refused.value)


@pytest.mark.parametrize("all_reduce", modern_options.ALL_REDUCE)
def test_every_listed_all_reduce_is_accepted(all_reduce):
    assert ModernOptions(all_reduce=all_reduce, steps_per_call=1).all_reduce == all_reduce


def test_the_options_cannot_be_changed_in_place():
    with pytest.raises(dataclasses.FrozenInstanceError):
        ModernOptions().exact = True
