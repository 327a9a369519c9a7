"""The ResNet port: its variables under legacy's names."""

from parity.causes.catalogue import CAUSES
from parity.ports import resnet18
from workloads import tracing


def test_every_variable_of_legacy_has_one_in_keras_of_its_shape():
    resnet = resnet18.build_resnet18()
    specs = {spec.name: spec for spec in tracing.trace(resnet18.WORKLOAD)}
    trained = {resnet.names[variable.path]: tuple(variable.shape) for variable in resnet.model.trainable_variables}
    assert trained == {name: tuple(spec.shape) for name, spec in specs.items() if spec.trainable}
    statistics = {name: tuple(variable.shape) for name, variable in resnet.statistics.items()}
    assert statistics == {name: tuple(spec.shape) for name, spec in specs.items() if not spec.trainable}


def test_the_expected_causes_are_in_the_catalogue():
    assert set(resnet18.EXPECTED) <= {cause.id for cause in CAUSES}
