import ast
import inspect

from workloads.numerics import clip_rule
from workloads.numerics.clip_rule import Clip
from workloads.workload import Clip as of_workload


def test_it_is_the_clip_of_workloads_and_its_text_never_changes():
    assert Clip is of_workload
    assert repr(Clip(0.5, "combined", "value")) == "Clip(limit=0.5, where='combined', how='value')"


def test_it_needs_no_tensorflow():
    tree = ast.parse(inspect.getsource(clip_rule))
    imports = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    assert imports == {"dataclasses"}
