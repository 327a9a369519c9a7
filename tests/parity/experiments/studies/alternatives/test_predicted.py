"""Predictions of alternatives."""

from parity.experiments.studies.alternatives.alternative import Alternative
from parity.experiments.studies.alternatives.predicted import predict_alternative
from tests.cases import setup


def test_an_alternative_is_predicted_for_several_machines_from_one_graph():
    made = Alternative("towers", "legacy", setup("regression", 2))
    found = predict_alternative(made, ["gtx1060x2", "v100x2"])
    assert [step.machine for step in found.values()] == list(found) == ["gtx1060x2", "v100x2"]
    assert 0 < found["v100x2"].seconds != found["gtx1060x2"].seconds > 0
    assert found["v100x2"].bytes_crossing == found["gtx1060x2"].bytes_crossing > 0
    alone = predict_alternative(Alternative("towers", "legacy", setup("regression", 1)), ["v100x2"])["v100x2"]
    assert alone.bytes_crossing < found["v100x2"].bytes_crossing
