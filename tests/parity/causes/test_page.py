import dataclasses
import re

from parity.causes.basics.cause import Cause, Fault
from parity.causes.catalogue import CAUSES
from parity.causes.page import causes_page, pitfall_list
from parity.causes.speed import CAUSES as SPEED_CAUSES

CAUSE = Cause("ONE", "loss", "a title", "Loss is 2", "A reason.", "A fix.", lambda evidence: None, pitfall="R01")


def test_a_cause_has_a_section_with_all_that_is_known():
    fault = Fault("a_fault", lambda setup: None)
    page = causes_page([dataclasses.replace(CAUSE, faults=(fault, dataclasses.replace(fault, name="another")))])
    assert (
        "## ONE\n\nA title. Stage: loss. Pitfall R01.\n\n* **Signature**: Loss is 2.\n* **Why**: A reason.\n"
        "* **Fix**: A fix.\n* **Injected as**: `a_fault`, `another`\n"
    ) in page


def test_a_cause_that_is_no_bug_and_has_no_pitfall_and_no_fault_says_so():
    page = causes_page([dataclasses.replace(CAUSE, bug=False, pitfall="")])
    assert "A title (no bug). Stage: loss.\n" in page
    assert "Injected as" not in page


def test_a_pitfall_lists_every_cause_that_names_it():
    causes = [CAUSE, dataclasses.replace(CAUSE, id="TWO", title="another"), dataclasses.replace(CAUSE, pitfall="")]
    lines = pitfall_list(causes).splitlines()
    assert "* **R01**: a title ([ONE](#one)); another ([TWO](#two))." in lines
    assert sum(line.startswith("* ") for line in lines) == 3  # R01, and two that need several GPUs


def test_the_list_has_every_pitfall_in_order():
    listed = re.findall(r"^\* \*\*(R\d\d)\*\*", pitfall_list(CAUSES + SPEED_CAUSES), re.M)
    assert listed == [f"R{number:02d}" for number in range(1, 39)]


def test_links_of_the_list_lead_to_sections_of_the_page():
    page = causes_page(CAUSES + SPEED_CAUSES)
    headings = {heading.lower().replace(" ", "-") for heading in re.findall(r"^## (.*)$", page, re.M)}
    links = set(re.findall(r"\]\(#([^)]*)\)", page))
    assert links <= headings and "loss_not_divided" in links and "pitfall-numbers" in links
