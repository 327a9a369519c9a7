"""Names of what enters a program: data and their sizes, scalars that were fed, and streams of random numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Dict, NamedTuple, Sequence

from legacy.source.basics.cut import example_sizes
from legacy.source.basics.expressions import Item, Name
from legacy.source.basics.rendering import literal_text
from legacy.source.basics.unwritten import Unwritten
from legacy.source.basics.values_of_all import size_of_all
from legacy.source.lines.identifiers import identifier
from legacy.source.lines.naming import free_name
from workloads.lifted.made_up_data import SHAPE, BatchSize, made_up_shape, part_of_whole
from workloads.lifted.plan.settings import fed_learning_rates

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from legacy.source.basics.expressions import Expression
    from workloads.lifted.plan import Input, Plan


class InputNames(NamedTuple):
    """Names of what enters a program.

    Attributes:
      inputs: {name in the text: input} of data.
      settings: {constant of the text: name} of the scalars that were fed.
      streams: {random stream of the plan: name in the text}.
      copied: names in the text of those inputs that are no batches, and of which each example has a copy.
    """

    inputs: Dict[str, Input]
    settings: Dict[str, str]
    streams: Dict[str, str]
    copied: Sequence[str] = ()


def stream_name(name: str, others: Sequence[str]) -> str:
    """Returns a short name of a random stream: the part of its path that tells it from the others.

    >>> stream_name("clone_0/drop/random_uniform/RandomUniform", ["clone_0/drop/random_uniform/RandomUniform"])
    'drop'
    """
    parts = name.split("/")
    short = [part for part in parts[:-1] if part not in ("random_uniform", "random_normal", "truncated_normal")]
    if len(short) > 1:
        short = short[1:]
    text = "/".join(short)
    alone = [other for other in others if f"/{text}/" in f"/{other}/"]
    return text if text and alone == [name] else name


def input_names(plan: Plan) -> InputNames:
    """Names the inputs of a program as a workload; what its parts make whole, whose size may be used, has no name.

    Raises:
      Unwritten: an input is no batch of examples, or holds texts.
    """
    entries = plan.inputs + plan.common
    data = [entry for entry in entries if entry.kind != "setting" and part_of_whole(entry, entries) is None]
    dealt = {entry.origin for entry in data if entry.kind == "batch"}
    for entry in data:
        if entry.dtype == "string":
            raise Unwritten(f"inputs: {entry.name!r} holds texts, and a source computes with numbers")
        if entry.kind == "same" and entry.origin in dealt:
            raise Unwritten(f"inputs: towers use all of {entry.origin!r}, or its size, and not only their parts of it")
        if entry.is_copied and _is_batch_of_all(plan, entry):
            raise Unwritten(f"inputs: {entry.name!r} is as long as a batch, and used whole, not shared out to towers")
        if not (entry.has_examples or entry.is_copied) or entry in plan.common:
            raise Unwritten(f"inputs: {entry.name!r} is no batch of examples, which towers share out ({entry.kind})")
        if entry.sparse.endswith("/" + SHAPE):
            raise Unwritten(
                f"inputs: {entry.name!r} is the shape of a sparse tensor, which has no row for each example"
            )
        if not entry.shape and not entry.example:
            raise Unwritten(f"inputs: the rank of {entry.name!r} is not known")
    words = _with_columns_of_labels(data, [_input_name(entry) for entry in data])
    kinds = [(example_sizes(entry), entry.dtype.startswith("float")) for entry in data]
    names = [entry.name for entry in data]
    inputs: Dict[str, Input] = {}
    for entry, kind, short in zip(data, kinds, words):
        found_again = kinds.count(kind) == 1 or entry.name.rpartition("/")[2] == short
        is_own = words.count(short) == 1 and (short == entry.name or short not in names)  # and no other input's in full
        inputs[short if found_again and is_own else entry.name] = entry
    settings: Dict[str, str] = {}
    rates = fed_learning_rates(plan)
    for entry in plan.inputs + plan.common:
        if entry.kind == "setting" and entry.name not in settings.values():
            settings[free_name(_setting_name(entry.name, rates), settings)] = entry.name
    others = [entry.name for entry in plan.noise]
    copied = [name for name, entry in inputs.items() if entry.is_copied]
    streams = {name: stream_name(name, others) for name in others}
    streams.update((entry.name, entry.name) for entry in plan.common_noise)
    return InputNames(inputs, settings, streams, copied)


def _is_batch_of_all(plan: Plan, entry: Input) -> bool:
    """Returns whether an input that every tower gets whole is as long as all towers' batch, and so may hold examples.

    One that is as long as a tower's own batch, such as noise that is drawn once for all towers, is the same for each.
    """
    return entry.kind == "same" and made_up_shape(entry, BatchSize(1, 1))[0] == (plan.batch or 0) * plan.towers


def names_of_lift(plan: Plan) -> InputNames:
    """Names the inputs of a program as its lift names them: scalars that were fed are in the batch too."""
    inputs = {entry.name: entry for entry in plan.inputs + plan.common}
    return InputNames(inputs, {}, {entry.name: entry.name for entry in plan.noise + plan.common_noise})


def _input_name(entry: Input) -> str:
    """Returns a readable name of an input: its placeholder's, or what data of its shape mostly are."""
    word = identifier(entry.name)
    if not re.search(r"(?i)dequeue|placeholder|getnext|get_next|split|slice|batch|stag|value", word):
        return word
    sizes = example_sizes(entry)
    rank = len(sizes) + (0 if entry.is_copied else 1)
    if entry.dtype.startswith("int"):
        return "ids" if rank != 1 else "lengths" if entry.low > 0 else "labels"  # lengths are above zero
    if entry.dtype == "bool":
        return "flags"
    is_vector = rank == 4 and list(sizes[-3:-1]) == [1, 1]  # as noise for transposed convolutions has
    return "features" if rank == 2 or is_vector else "images" if rank == 4 else "data"


def _with_columns_of_labels(data: Sequence[Input], words: Sequence[str]) -> Sequence[str]:
    """Returns names where a vector and a column of whole numbers are all data: words, and their neighbors as labels.

    Losses of sampled classes take a column of labels, and a vector of other numbers is then looked up.
    """
    columns = [list(example_sizes(entry)) == [1] and entry.dtype.startswith("int") for entry in data]
    if len(data) != 2 or sorted(words) != ["ids", "labels"] or columns.count(True) != 1:
        return words
    return ["labels" if is_column else "ids" for is_column in columns]


def _setting_name(name: str, rates: Collection[str]) -> str:
    """Returns a constant's name for a scalar that was fed: its placeholder's, or what it is, if that is known.

    >>> _setting_name("tower/keep_prob", []), _setting_name("Placeholder_2", ["Placeholder_2"])
    ('KEEP_PROB', 'LEARNING_RATE')
    """
    word = identifier(name).upper()
    return "LEARNING_RATE" if name in rates and re.fullmatch(r"PLACEHOLDER(_?\d+)?", word) else word


def whole_sizes(plan: Plan, given: Mapping[str, Expression]) -> Dict[str, Expression]:
    """Returns {tensor: expression of its size} of all towers' examples, of which `given` has a tower's part."""
    entries = plan.inputs + plan.common
    found: Dict[str, Expression] = {}
    for entry in entries:
        part = part_of_whole(entry, entries)
        own = [given[tensor] for tensor in part.tensors if tensor in given] if part else []
        if own and entry.tensors[0] not in given:
            found[entry.tensors[0]] = size_of_all(own[0])
    return found


def sizes_outside(plan: Plan) -> Dict[str, Expression]:
    """Returns {tensor: expression of its size} of what towers share out, and of their parts, outside of the towers."""
    data = _parts_outside(plan)
    return {**data, **whole_sizes(plan, data)}


def wholes_outside(plan: Plan) -> Dict[str, Expression]:
    """Returns {tensor: expression of its size} of what towers share out, and not of their parts."""
    return whole_sizes(plan, _parts_outside(plan))


def _parts_outside(plan: Plan) -> Dict[str, Expression]:
    """Returns {tensor: expression} of the towers' parts of data."""
    return {
        tensor: Item(Name("batch"), literal_text(name))
        for name, entry in input_names(plan).inputs.items()
        for tensor in entry.tensors
        if entry.has_examples
    }
