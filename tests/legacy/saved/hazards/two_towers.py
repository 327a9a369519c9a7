"""A program of two towers without hazards, and the hazards that a check finds in a program."""

from legacy.saved.facts.basics.whole_graph import WholeGraph
from tests.legacy.saved.graphs import graph_of, saved

TOWERS = """
    v = VariableV2()
    w = VariableV2()
    tower_0/y = Mul(v, w) @ /gpu:0
    gradients/tower_0/y_grad/Mul = MatMul(tower_0/y) @ /gpu:0
    tower_1/y = Mul(v, w) @ /gpu:1
    gradients/tower_1/y_grad/Mul = MatMul(tower_1/y) @ /gpu:1
    sum_v = AddN(gradients/tower_0/y_grad/Mul, gradients/tower_1/y_grad/Mul)
    sum_w = AddN(gradients/tower_0/y_grad/Mul, gradients/tower_1/y_grad/Mul)
    train_v = ApplyGradientDescent(v, sum_v)
    train_w = ApplyGradientDescent(w, sum_w)
    """
G0, G1 = "gradients/tower_0/y_grad/Mul", "gradients/tower_1/y_grad/Mul"


def hazards(check, text):
    """[(id, op, description)] that a check finds."""
    whole = WholeGraph(saved(graph_of(text), trainable_variables=["v", "w"]))
    return [hazard[:3] for hazard in check(whole)]
