"""`parity.profile`: flags that it refuses."""

import pytest

from tests.own_flags import own_flags, set_flags
from workloads.support.errors import InputError

with own_flags():
    from parity import profile


@pytest.mark.parametrize(
    "values, message",
    [
        ({"rounds": 3}, "--rounds: got 3, must be even"),
        ({"strategy": "parameter_server"}, "--strategy: got 'parameter_server', here: mirrored"),
        ({"placement": "layers"}, "--placement: got 'layers', here: towers"),
        ({"updates": "async"}, "--updates: got 'async', here: sync"),
    ],
)
def test_what_cannot_be_profiled_is_refused(values, message):
    with set_flags(profile.FLAGS, **values), pytest.raises(InputError, match=message):
        profile.check_flags()


def test_the_defaults_are_accepted():
    assert profile.check_flags() is None
