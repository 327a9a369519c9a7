"""The page of hazards in the documentation has those that the code can name, and no others."""

import ast
import pathlib
import re

ROOT = pathlib.Path(__file__).parents[4]
NAME = re.compile(r"[A-Z]+(_[A-Z]+)+")


def named_in(text):
    """The hazards that the first argument of `Hazard(...)` can be, anywhere in a module's text."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    first = [call.args[0] for call in calls if getattr(call.func, "id", "") == "Hazard" and call.args]
    constants = [part for argument in first for part in ast.walk(argument) if isinstance(part, ast.Constant)]
    return {str(constant.value) for constant in constants}


def test_both_names_of_a_choice_are_found():
    assert named_in("Hazard('A_B' if x else 'C_D', op, 'text')\nOther('E_F')") == {"A_B", "C_D"}


def test_the_documentation_lists_the_hazards_of_the_code():
    modules = (ROOT / "legacy" / "saved" / "hazards").rglob("*.py")
    code = set().union(*(named_in(module.read_text(encoding="utf-8")) for module in modules))
    page = (ROOT / "docs" / "hazards.md").read_text(encoding="utf-8")
    documented = [
        name for text in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE) for name in re.findall("`(.*?)`", text)
    ]
    assert len(documented) == len(set(documented)) and all(map(NAME.fullmatch, documented))
    assert set(documented) == code
