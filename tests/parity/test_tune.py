"""`parity.tune`: flags that it refuses."""

import pytest

from tests.own_flags import own_flags, set_flags
from workloads.support.errors import InputError

with own_flags():
    from parity import tune


@pytest.mark.parametrize(
    "values, message",
    [
        ({"rounds": 3}, "--rounds: got 3, must be even"),
        ({"last_rounds": 5}, "--last_rounds: got 5, must be even"),
        ({"strategy": "parameter_server"}, "--strategy: got 'parameter_server', here: mirrored"),
        ({"workers": 2}, "--workers: got 2, here: 1"),
        ({"updates": "async"}, "--updates: got 'async', here: sync"),
    ],
)
def test_what_cannot_be_tuned_is_refused(values, message):
    tune.check_flags()
    with set_flags(tune.FLAGS, **values), pytest.raises(InputError, match=message):
        tune.check_flags()
