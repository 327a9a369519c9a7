import pytest

from legacy.options import legacy_options
from legacy.options.legacy_options import LegacyOptions
from workloads.support.errors import InputError


@pytest.mark.parametrize(
    "field, flag",
    [
        ("input", "--legacy_input"),
        ("variables", "--legacy_variables"),
        ("updates", "--updates"),
        ("average", "--legacy_average"),
    ],
)
def test_another_value_is_refused_by_the_name_of_its_flag(field, flag):
    with pytest.raises(InputError) as refused:
        LegacyOptions(**{field: "other"})
    assert str(refused.value).startswith(f"{flag}: got 'other', allowed: ")


@pytest.mark.parametrize("way", legacy_options.INPUTS)
def test_every_listed_input_is_accepted(way):
    assert LegacyOptions(input=way).input == way
