"""Parameters of a function: what must be handed over where blocks of statements that do the same differ."""

from __future__ import annotations

import collections
import re
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Set, Tuple

from legacy.source.basics.expressions import Channels, Item, Listing, Literal, Name, Scoped, Value, calls
from legacy.source.lines.holes import FOLDER, Hole
from legacy.source.lines.identifiers import RESERVED, identifier
from legacy.source.lines.naming import common_folder, numbered
from legacy.source.repeats.common_texts import common_and_own
from legacy.source.repeats.readings import Readings

if TYPE_CHECKING:
    from collections.abc import Callable

    from legacy.source.lines.statements import Statement

#: Names of a function's tensors.
TENSORS = ("x", "y", "z", "u", "v", "w")
#: Fewest letters of a word that tells what a tensor is.
_LEAST_LETTERS = 3


class Parameters:
    """The holes of some blocks that do the same, and the parameters that they need.

    Args:
      blocks: statements of each.
      shape: returns a tensor's static shape, or None.
      read: keeps what is read of the statements.

    Attributes:
      parameters: names, in order.
      tensors: {tensor of the first block: parameter}.
    """

    def __init__(
        self,
        blocks: Sequence[Sequence[Statement]],
        shape: Callable[[str], Optional[List[int]]],
        read: Optional[Readings] = None,
    ) -> None:
        read = read or Readings()
        self._shape = shape
        self._inner = {target for statement in blocks[0] for target in statement.targets}
        self._called = {part.function for statement in blocks[0] for part in calls(statement.expression)}
        #: For each hole of the first block, by row: the holes at that place in all blocks.
        self._rows: List[List[List[Hole]]] = []
        for row in range(len(blocks[0])):
            columns = [read.skeleton(block[row])[1] for block in blocks]
            self._rows.append([list(hole) for hole in zip(*columns)])
        self.parameters: List[str] = []
        self.tensors: Dict[str, str] = {}
        self._arguments: List[List[Any]] = []  # for each parameter its value in each block
        self._values = self._value_parameters()
        self._prefixes = self._name_prefixes(len(blocks))
        self._layers = self._shared_middles()
        self._prefix_parameter: Optional[str] = None
        if self._prefixes is not None and (len(set(self._prefixes)) > 1 or "{" in self._prefixes[0]):
            self._prefix_parameter = self._add("name", [_name(prefix) for prefix in self._prefixes])
        self._contents = [[self._content(holes) for holes in row] for row in self._rows]
        self._sort()

    def contents(self, row: int) -> List[Any]:
        """Returns what the holes of a row hold in the function's body."""
        return self._contents[row]

    def arguments(self, block: int) -> List[Any]:
        """Returns the arguments of the call for a block."""
        return [values[block] for values in self._arguments]

    def rename(self, parameter: str, name: str) -> None:
        """Gives the parameter of a tensor another name, if that is free."""
        if name not in self._called.union(self.parameters):
            self.parameters = [name if one == parameter else one for one in self.parameters]
            self.tensors = {tensor: name if one == parameter else one for tensor, one in self.tensors.items()}

    def rows_follow(self, batch: int) -> bool:
        """Returns whether the first tensor has as many rows as the batch in every block."""
        for holes in (hole for row in self._rows for hole in row):
            if holes[0].kind == "value" and self._is_outer(holes[0]):
                shapes = [self._shape(tensor_name(hole.content)) for hole in holes]
                return all(shape is not None and shape[:1] == [batch] for shape in shapes)
        return False

    def _is_outer(self, hole: Hole) -> bool:
        return not (isinstance(hole.content, Value) and hole.content.tensor in self._inner)

    def _value_parameters(self) -> Dict[str, Any]:
        """Makes a parameter for each tensor from outside; returns {its text in the first block: what stands for it}."""
        found: Dict[str, Any] = {}
        seen: Dict[str, Tuple[str, ...]] = {}
        for holes in (hole for row in self._rows for hole in row):
            if holes[0].kind != "value" or not self._is_outer(holes[0]):
                continue
            contents = [hole.content for hole in holes]
            texts = tuple(map(repr, contents))
            known = [name for name, others in seen.items() if others == texts]
            if not known:
                generic = [one for one in seen if one in TENSORS]
                name = TENSORS[len(generic)] if len(generic) < len(TENSORS) else f"x{len(seen)}"
                word = _last_word(contents)
                name = word if word and word not in {*self._called, *seen} else name
                seen[self._add(name, contents)] = texts
                known = [name]
            first = contents[0]
            stands = first if isinstance(first, Value) else Value("parameter " + known[0])
            self.tensors.setdefault(stands.tensor, known[0])
            # One tensor of the first block may be two parameters, where other blocks hand over different tensors.
            if self.tensors[stands.tensor] != known[0]:
                stands = Value("parameter " + known[0])
                self.tensors[stands.tensor] = known[0]
            found["|".join(texts)] = stands
        return found

    def _name_prefixes(self, count: int) -> Optional[List[str]]:
        """Returns what the names of variables begin with in each block, if the rest is the same in all; else None."""
        columns = [hole for row in self._rows for hole in row if hole[0].kind == "name"]
        names = [[_text(hole[block].content) for hole in columns] for block in range(count)]
        if not columns or any(name is None for block in names for name in block):
            return None
        texts = [[str(name) for name in block] for block in names]
        if all(block == texts[0] for block in texts) and "{" not in "".join(texts[0]):
            return None
        folders = [hole[0].label == FOLDER for hole in columns]
        for ends in ([""] * len(folders), ["/" if folder else "" for folder in folders]):
            prefixes = [common_folder(name + end for name, end in zip(block, ends)) for block in texts]
            rests = [[name[len(prefix) :] for name in block] for prefix, block in zip(prefixes, texts)]
            given = not any("{" in rest for rest in rests[0])  # a number that is given here is not known in a function
            if all(rest == rests[0] for rest in rests) and all(prefixes) and given:
                return prefixes
        return None

    def _shared_middles(self) -> Set[Tuple[str, ...]]:
        """Returns the middles in which several names differ alike: "3a" and "out" of "w3a", "b3a", "wout", "bout"."""
        columns = [holes for row in self._rows for holes in row if holes[0].kind == "name"]
        names = [[_text(hole.content) for hole in holes] for holes in columns]
        texts = {tuple(map(str, own)) for own in names if None not in own and len(set(own)) > 1}
        counts = collections.Counter(common_and_own(own)[1] for own in texts if "{" not in "".join(own))
        return {middles for middles, count in counts.items() if count > 1 and all(middles)}

    def _content(self, holes: List[Hole]) -> Any:
        """Returns what stands for a hole in the body: the same content, or a parameter."""
        first = holes[0]
        contents = [hole.content for hole in holes]
        if first.kind == "value":
            return self._values["|".join(map(repr, contents))] if self._is_outer(first) else first.content
        given = any(isinstance(content, (Name, Scoped)) for content in contents)  # by the function around a block
        if all(repr(content) == repr(contents[0]) for content in contents) and not given:
            return first.content
        if first.kind == "name":
            return self._named(contents)
        if given:
            return self._parameter(first.label or "value", contents)
        if first.kind == "size":
            return self._sized(contents, first.label)
        if first.kind == "initializer":
            return self._parameter("initializer", [Name(text) for text in contents]).text
        place = _only_difference([content.value if isinstance(content, Literal) else None for content in contents])
        if place is not None:
            sizes = [content.value[place] for content in contents]
            size = self._sized(sizes, "units" if place == len(first.content.value) - 1 else "size")
            items = [size if n == place else Literal(item) for n, item in enumerate(first.content.value)]
            return Listing(tuple(items))
        return self._parameter(first.label or "value", contents)

    def _named(self, contents: List[Any]) -> Any:
        texts = [_text(content) for content in contents]
        if self._prefix_parameter is not None and self._prefixes is not None and None not in texts:
            rest = str(texts[0])[len(self._prefixes[0]) :]
            if not rest:
                return Name(self._prefix_parameter)
            return Scoped(Name(self._prefix_parameter), rest)
        if None in texts or "{" in "".join(map(str, texts)):
            return self._parameter("name", contents)
        (start, end), middles = common_and_own([str(text) for text in texts])
        if all(re.fullmatch(r"0|[1-9]\d*", middle) for middle in middles):  # "03" has a zero that no number keeps
            varying = self._parameter("index", [Literal(int(middle)) for middle in middles])
        elif middles in self._layers:
            varying = self._parameter("layer", [Literal(middle) for middle in middles])
        else:
            return self._parameter("name", contents)
        return Name('f"' + start + "{" + varying.text + "}" + end + '"')

    def _sized(self, contents: List[Any], label: str) -> Any:
        """Returns a size: the channels of the first tensor where it is these, or else a parameter."""
        if label == "units":
            for holes in (hole for row in self._rows for hole in row):
                if holes[0].kind == "value" and self._is_outer(holes[0]):
                    shapes = [self._shape(tensor_name(hole.content)) for hole in holes]
                    if all(shape and shape[-1] == size for shape, size in zip(shapes, contents)):
                        return Channels(self._values["|".join(repr(hole.content) for hole in holes)])
                    break
        return self._parameter(label, [Literal(size) for size in contents])

    def _parameter(self, name: str, values: List[Any]) -> Name:
        """Returns the parameter with these values in the blocks; makes it if there is none."""
        texts = [repr(value) for value in values]
        for known, others in zip(self.parameters, self._arguments):
            if [repr(other) for other in others] == texts:
                return Name(known)
        return self._made_of_another(values) or Name(self._add(name, values))

    def _made_of_another(self, values: List[Any]) -> Optional[Name]:
        """Returns texts made of another parameter's, "e1_bn" and "e2_bn" of "e1" and "e2" or of 1 and 2, or None."""
        for known, arguments in zip(self.parameters, self._arguments):
            texts = [_plain_text(other) or _number(other) for other in arguments]
            ends = _around(texts, [_plain_text(value) for value in values])
            if ends is not None:
                return Name('f"' + ends[0] + "{" + known + "}" + ends[1] + '"')
        return None

    def _sort(self) -> None:
        """Puts the parameters in the usual order: tensors, names of variables, numbers."""
        names = ("name", "layer")
        kinds = [0 if p in self.tensors.values() else 1 if p.startswith(names) else 2 for p in self.parameters]
        order = sorted(range(len(kinds)), key=kinds.__getitem__)
        self.parameters = [self.parameters[number] for number in order]
        self._arguments = [self._arguments[number] for number in order]

    def _add(self, name: str, values: List[Any]) -> str:
        free = numbered(name, self._called.union(self.parameters))
        self.parameters.append(free)
        self._arguments.append(values)
        return free


def tensor_name(content: Any) -> str:
    """Returns the name by which the shape of a value or of an input is asked for."""
    return content.tensor if isinstance(content, Value) else "batch:" + content.key.strip('"')


def _last_word(contents: Sequence[Any]) -> str:
    """Returns the word that the names of several inputs end with, or "".

    >>> _last_word([Item(Name("batch"), '"query_mask"'), Item(Name("batch"), '"document_mask"')])
    'mask'
    >>> _last_word([Item(Name("batch"), '"query"'), Item(Name("batch"), '"document"')]), _last_word([Value("x:0")])
    ('', '')
    """
    if not all(isinstance(content, Item) and isinstance(content.base, Name) for content in contents):
        return ""
    words = {identifier(content.key.strip('"')).rpartition("_")[2] for content in contents}
    word = words.pop() if len(words) == 1 else ""
    return word if len(word) >= _LEAST_LETTERS and word.isalpha() and word not in RESERVED else ""


def _text(content: Any) -> Optional[str]:
    """Returns the text of a name, in which a parameter may stand in braces; None of another content."""
    if isinstance(content, Name) and content.text.startswith('f"'):
        return content.text[2:-1]
    if isinstance(content, Name):
        return "{" + content.text + "}"
    if isinstance(content, Scoped):
        return f"{_text(content.scope)}{content.rest}"
    return content.value if isinstance(content, Literal) and isinstance(content.value, str) else None


def _plain_text(content: Any) -> str:
    """Returns a text that stands in the function as it is; "" of another content."""
    return content.value if isinstance(content, Literal) and isinstance(content.value, str) else ""


def _number(content: Any) -> str:
    """Returns a whole number as the text that it is in a name; "" of another content."""
    return str(content.value) if isinstance(content, Literal) and type(content.value) is int else ""


def _around(texts: Sequence[str], longer: Sequence[str]) -> Optional[Tuple[str, str]]:
    """Returns what some longer texts have before and after the others, if that is the same; None otherwise.

    >>> _around(["e1", "b"], ["e1_bn", "b_bn"]), _around(["e1", "b"], ["e1_bn", "b"]), _around(["", "b"], ["_a", "b_a"])
    (('', '_bn'), None, None)
    >>> _around(["out", "in"], ["output", "input"])
    """
    if not all(texts) or not all(longer) or any(set('{}"') & set(text) for text in longer) or len(set(texts)) == 1:
        return None
    start, _, end = longer[0].partition(texts[0])
    tears_word = start[-1:].isalpha() and texts[0][:1].isalpha() or texts[0][-1:].isalpha() and end[:1].isalpha()
    is_made = not tears_word and all(start + one + end == other for one, other in zip(texts, longer))
    return (start, end) if is_made else None


def _name(text: str) -> Any:
    """Returns the name with a text, in which a parameter may stand in braces.

    >>> _name("net/h"), _name("net/h{index}"), _name("{name}")
    (Literal(value='net/h'), Name(text='f"net/h{index}"'), Name(text='name'))
    """
    if re.fullmatch(r"\{\w+\}", text):
        return Name(text[1:-1])
    return Name(f'f"{text}"') if "{" in text else Literal(text)


def _only_difference(lists: Sequence[Any]) -> Optional[int]:
    """Returns the place of the one size in which some lists of sizes differ, as in [-1, units]; None for others.

    >>> _only_difference([[-1, 64], [-1, 32]]), _only_difference([[8, 64], [4, 32]]), _only_difference([1, 2])
    (1, None, None)
    """
    if not all(isinstance(one, list) and all(type(item) is int for item in one) for one in lists):
        return None
    if len({len(one) for one in lists}) != 1:
        return None
    places = [n for n in range(len(lists[0])) if len({one[n] for one in lists}) > 1]
    return places[0] if len(places) == 1 else None
