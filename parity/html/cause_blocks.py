"""Recognized causes as blocks of a page, made from the content of `--json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parity.causes.basics.confirmation import Remainder, describe_remaining
from workloads.html.page import cause, listing, paragraph

#: Most sentences about unexplained differences that are listed.
MOST_LISTED = 12


def cause_blocks(content: Mapping[str, Any]) -> list[str]:
    """Returns blocks for the causes of `--json`, the most likely first, and for unexplained differences."""
    found = [entry.get("sentence", "") for entry in content.get("unexplained", [])]
    if content.get("remaining") is not None:  # injecting the causes shows more than their criteria
        remaining = tuple(Remainder(**entry) for entry in content["remaining"])
        found = [f"beside a clean port from the same states: {describe_remaining(remaining)}"] if remaining else []
    unexplained = [paragraph("No known cause explains:"), listing(found[:MOST_LISTED])] if found else []
    return [_cause_block(entry) for entry in content["causes"]] + unexplained


def layer_blocks(content: Mapping[str, Any]) -> list[str]:
    """Returns the first layer that differs, of `--json`, as a sentence; nothing where taps do not show one."""
    found = content.get("first_layer")
    return [paragraph(found["sentence"])] if found else []


def _cause_block(entry: Mapping[str, Any]) -> str:
    confirmed = {True: "yes, injected into a clean port it explains every stage", False: "no", None: "not tried"}
    details = [
        ("fix", entry["fix"]),
        ("confidence", f"{entry['confidence']} ({entry['because']})"),
        ("confirmed", confirmed[entry["confirmed"]]),
    ]
    if not entry.get("bug", True):
        details.insert(0, ("no bug", "both sides compute the same in different terms"))
    return cause(entry["cause"], entry["sentence"], details)
