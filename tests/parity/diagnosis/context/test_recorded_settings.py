import pytest

from parity.diagnosis.context.recorded_settings import parse_setting
from workloads import optimizers
from workloads.workload import Clip, MovingAverage


@pytest.mark.parametrize(
    "value",
    [
        Clip(0.5, "combined", "norm"),
        MovingAverage(0.99, False),
        optimizers.GradientDescent(),
        optimizers.Momentum(0.5, nesterov=True),
        optimizers.Adam(0.5, 0.75, 1e-3),
        optimizers.RMSProp(0.5),
        optimizers.Adagrad(0.25),
    ],
)
def test_a_records_text_is_read_back(value):
    assert parse_setting(repr(value), type(value)) == value


@pytest.mark.parametrize("text, expected, value", [("4", int, 4), ("'mean'", str, "mean"), ("-0.5", float, -0.5)])
def test_literals_are_read(text, expected, value):
    assert parse_setting(text, expected) == value


def test_positional_fields_are_read_too():
    assert parse_setting("Clip(0.5, 'tower')", Clip) == Clip(0.5, "tower")


@pytest.mark.parametrize(
    "text",
    [
        "None",
        "4",  # another class
        "Adam(",
        "Unknown()",
        "Clip(limit=open('x'))",
        "Clip(strange=1)",
        "os.getcwd()",
        "__import__('os').getcwd()",
        "Clip(limit=1.0) or 1",
    ],
)
def test_any_other_text_is_not_known_and_not_evaluated(text):
    assert parse_setting(text, Clip) is None
