"""`parity.predict`: flags that it refuses."""

import pytest

from tests.own_flags import own_flags, set_flags
from workloads.support.errors import InputError

with own_flags():
    from parity import predict


@pytest.mark.parametrize(
    "values, message",
    [
        ({"sides": ["old"]}, "--sides: got 'old', allowed: legacy, modern"),
        ({"sides": []}, "--sides: got .., at least one of legacy, modern"),
        ({"rounds": 3}, "--rounds: got 3, must be even"),
        ({"workloads": ["mine"]}, "--workloads: got 'mine', allowed: sigmoid_stack"),
        ({"replica_counts": ["2", "two"]}, "--replica_counts: got .*, 1 to 8 each"),
        ({"placement": "layers"}, "--placement: got 'layers', here: towers"),
    ],
)
def test_what_cannot_be_predicted_is_refused(values, message):
    with set_flags(predict.FLAGS, **values), pytest.raises(InputError, match=message):
        predict.check_flags()
