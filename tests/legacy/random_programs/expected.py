"""What a page must say of a program, from its traits; the texts are compared by the words that matter."""

from __future__ import annotations

import re
from collections.abc import Iterator

from legacy.saved.facts.basics.rows import Sections
from tests.legacy.random_programs.faults import FAULTS
from tests.legacy.random_programs.inputs import BATCH
from tests.legacy.random_programs.learning import BY_HAND, OPTIMIZERS, RATES
from tests.legacy.random_programs.models import MODELS
from tests.legacy.random_programs.programs import DECAY, GLOBAL_NORM, NORM, VALUE
from tests.legacy.random_programs.traits import Traits

#: Relative difference of a learning rate that float32 and six printed digits explain.
RATE_TOLERANCE = 1e-4
#: {term of the loss: the trained variables that it adds}.
BESIDES = {"auxiliary": 2, "divergence": 4}


def _trained(traits: Traits) -> int:
    """The number of trained variables."""
    return MODELS[traits.model].trained + BESIDES.get(traits.besides, 0)


def mistakes(traits: Traits, sections: Sections) -> Iterator[str]:
    """Yields the lines of a page that are wrong."""
    lines = (_towers, _inputs, _combining, _clipping, _optimizer, _rate, _changes, _counter, _watch)
    for check in (*(lines if traits.fault == "none" else ()), _hazards):
        for text in check(traits, sections):
            yield f"{check.__name__[1:]}: {text}"


def _row(sections: Sections, section: str, what: str) -> str:
    return next(row["is"] for row in sections[section] if row["what"] == what)


def _towers(traits: Traits, sections: Sections) -> Iterator[str]:
    batch = "its inputs take any" if traits.inputs == "open" else str(BATCH)
    found = _row(sections, "towers", "number"), _row(sections, "towers", "batch of one")
    if found != (str(traits.towers), batch):
        yield f"{found}"
    if _row(sections, "towers", "symmetry") != "equal, op by op":
        yield "not equal"


def _inputs(traits: Traits, sections: Sections) -> Iterator[str]:
    kinds = [row["kind"] for row in sections["inputs"] if row["kind"] != "setting"]
    if kinds != ["batch", "batch"]:
        yield f"{[(row['name'], row['kind']) for row in sections['inputs']]}"


def _combined(sections: Sections) -> list[dict[str, str]]:
    """The rows of the combining that are not of indices alone."""
    return [row for row in sections["combining"] if re.search(r"(?<! \(indices\))(,|$)", row["of"])]


def _combining(traits: Traits, sections: Sections) -> Iterator[str]:
    rows = _combined(sections)
    texts = {row["are"] for row in rows}
    meant = {
        "sum": r"(sum|concat)$",
        "losses / towers": r"(sum|concat) of losses that are divided by the towers: a mean",
    }
    pattern = meant.get(traits.combine, r"mean|concat, scaled by .*: a mean|(sum|concat) of losses.*: a mean")
    half = r"(sum|concat) of losses with a factor of 0.5"  # of a square, or of two towers: the graph does not tell
    if _may_be_halved(traits):
        pattern += "|" + half
    if not all(re.match(pattern, text) for text in texts):
        yield f"{sorted(texts)}"
    trained = _trained(traits)
    if sum(int(row["gradients"]) for row in rows) != trained:
        yield f"{[row['gradients'] for row in rows]} gradients of {trained}"


def _may_be_halved(traits: Traits) -> bool:
    """Whether a factor 1/2 of a loss may be that of a square, and not of two towers."""
    has_squares = "squares" in traits.loss or traits.loss in ("huber", "focal") or traits.besides == "divergence"
    return traits.towers == 2 and has_squares


def _clipping(traits: Traits, sections: Sections) -> Iterator[str]:
    texts = {row["clipped"] for row in _combined(sections)}
    kind = traits.clip.replace(" by hand", "").replace(" after", "").replace(" in towers", "")
    if kind == "no" or (traits.combine == "one loss" and "in towers" in traits.clip):
        wanted = r"no$"
    else:
        number = {"value": f"-{VALUE:g} and {VALUE:g}", "norm": f"{NORM:g}", "global norm": f"{GLOBAL_NORM:g}"}[kind]
        place = "after combining" if "after" in traits.clip else "in each tower|in towers|before combining"
        kind = "a norm, written by hand" if "by hand" in traits.clip else kind
        wanted = rf"(?=.*({place})).*by {kind}.*at {number}"
    if not all(re.match(wanted, text) for text in texts):
        yield f"{sorted(texts)}"


def _optimizer(traits: Traits, sections: Sections) -> Iterator[str]:
    optimizer, rows = OPTIMIZERS[traits.optimizer], sections["optimizers"]
    texts = [(row["rule"], row["constants"]) for row in rows]
    if sum(int(row["variables"]) for row in rows) != _trained(traits):
        yield f"{[row['variables'] for row in rows]} variables"
    if traits.model == "embedding" and traits.optimizer not in BY_HAND:
        return  # rows have rules of their own
    rules = {optimizer.rule: optimizer.constants, **optimizer.known}
    if not all(rule in rules for rule, _ in texts):
        yield f"{texts}"
    for rule, constants in texts:
        if not set(rules.get(rule, optimizer.constants)) <= set(constants.split(", ")):
            yield f"{rule}: {constants}"


def _rate(traits: Traits, sections: Sections) -> Iterator[str]:
    rows = sections["learning rates"]
    if len(rows) != (1 if traits.rates == "one" else 2):
        yield f"{[(row['tensor'], row['is'], row['values']) for row in rows]}"
    wrong = [list(_wrong_rate(traits.rate, row["is"], row["values"])) for row in rows]
    if all(wrong):  # the other of two is twice as large
        yield from wrong[0]


def _wrong_rate(rate: str, text: str, values: str) -> Iterator[str]:
    """What is wrong with the description of a learning rate, and with its values by step."""
    at, known = RATES[rate].at, {"constant": "0.05, always", "fed": "fed at every step"}
    if rate == "variable":
        if not text.startswith("the value of learning_rate; the step does not change"):
            yield text
    elif rate in known:
        if text != known[rate]:
            yield text
    elif at is not None:
        found = re.findall(r"(\d+): (\S+?)(?:,|$)", values)
        if len(found) < 2:
            yield f"{text}: {values}"
        for step, value in found:
            if abs(float(value) - at(int(step))) > RATE_TOLERANCE * abs(at(int(step))) + 1e-9:
                yield f"{value} at {step}, not {at(int(step)):g}"


def _changes(traits: Traits, sections: Sections) -> Iterator[str]:
    if traits.model.startswith("batch norm"):
        towers = 1 if traits.model == "batch norm of first" else traits.towers
        rows = sections["statistics"]
        count = f"{towers} ops: " if towers > 1 else ""
        by = count + " / ".join(f"tower {tower}" for tower in range(towers))
        if len(rows) != 2 or any((row.get("decay"), row["changed by"]) != ("0.99", by) for row in rows):
            yield f"{rows}"
    elif sections["statistics"]:
        yield f"statistics {sections['statistics']}"
    if sections["carried state"]:
        yield f"carried {sections['carried state']}"
    rows = sections["moving averages"]
    if traits.average == "none":
        if rows:
            yield f"averages {rows}"
    elif len(rows) != _trained(traits):
        yield f"averages {rows}"
    else:
        decays = {row["decay"] for row in rows}
        if not all(decay.endswith(f"{DECAY:g}") for decay in decays):
            yield f"decays {decays}"


def _counter(traits: Traits, sections: Sections) -> Iterator[str]:
    rows = [(row["variable"], row["rises by"]) for row in sections["step counters"]]
    if rows != [("global_step", "1")]:
        yield f"{rows}"


def _watch(traits: Traits, sections: Sections) -> Iterator[str]:
    divided = traits.combine in ("losses / towers", "one loss")
    halved = _may_be_halved(traits)
    first = traits.model == "batch norm of first"
    prepared = traits.prepared in ("bytes scaled", "centered", "flipped", "one-hot labels")
    schedule = RATES[traits.rate].at is not None and traits.rate != "constant"
    for text in (row["what"] for row in sections["watch"]):
        expected = (
            ("the schedule counts updates" in text and schedule)
            or ("race: " in text and ("batch norm of each" in traits.model or traits.average == "beside"))
            or ("each tower changes norm/" in text and "batch norm of each" in traits.model)
            or ("each tower's loss counts 1/" in text and divided)
            or ("each tower's loss has the factor 1/2" in text and halved)
            or ("statistics follow the first tower's" in text and first)
            or ("update ops never run with the train op" in text and first)
            or ("sum" in text and traits.combine == "sum")
            or ("is what ops outside of the towers compute" in text and prepared)
            or ("a mean of means" in text and traits.besides == "mask")
            or ("weights decay in their update" in text and traits.optimizer == "decay by hand")
        )
        if not expected:
            yield text


def _hazards(traits: Traits, sections: Sections) -> Iterator[str]:
    """The hazards that are not named, and those that the program does not have."""
    named = {row["hazard"]: row["what"] for row in sections["hazards"]}
    allowed = {name for name, is_one in _consequences(traits).items() if is_one}
    if traits.fault != "none":
        fault = FAULTS[traits.fault]
        if not named.keys() & set(fault.hazards):
            yield f"{traits.fault} is not named"
        allowed |= {*fault.hazards, *fault.besides}
    for name, text in named.items():
        if name not in allowed:
            yield f"{name} {text}"


def _consequences(traits: Traits) -> dict[str, bool]:
    """{hazard: whether the traits make it}, of those that no fault makes."""
    return {
        "STATISTICS_RACE": traits.model == "batch norm of each",
        "STATISTICS_OF_ONE_TOWER": traits.model == "batch norm of first",
        "BATCH_SIZE_CONSTANT": traits.loss == "sum / batch" and traits.inputs == "open",
        "WEIGHT_DECAYED_TWICE": traits.penalty in ("all", "matrices") and traits.optimizer == "decay by hand",
        "NORMALIZATION_DECAYED": traits.model.startswith(("batch norm", "layer norm")) and traits.penalty == "all",
    }
