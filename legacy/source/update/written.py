"""A step as it is written: its train ops, their losses, and the lines of their updates."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Dict, List, NamedTuple, Optional, Sequence

from legacy.source.step.known_statistics import TURNS
from legacy.source.step.model import has_own_variables
from legacy.source.step.statistics import EACH_TOWER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from legacy.source.step.imported_step import WrittenLoss
    from legacy.source.update.gradient_path import GradientPath
    from legacy.source.update.shared import SharedFactor
    from workloads.lifted.plan import Phase

#: The list of the towers' losses in the text of an update.
_LOSSES = re.compile(r"(?<![\w'\"/])losses\b(?!['\"/])")


class WrittenUpdate(NamedTuple):
    """One train op.

    Attributes:
      function: its name in the text.
      phase: the train op.
      loss: its loss; None of one that only changes variables, as clipping of weights does.
      path: the way of its gradients.
      groups: names of the lists of its weights in the text, one for each loss.
      lines: the body of the update.
      factor: on the loss before it is differentiated.
      further_groups: the same, one for each set of further gradients.
      streams: {weight: random stream of the noise on its gradient} that the update looks up.
      has_fixed_divisor: whether its loss is divided by the number of towers, or of their examples, as a constant.
      before: lines of what is changed before the losses are computed.
    """

    function: str
    phase: Phase
    loss: Optional[WrittenLoss]
    path: GradientPath
    groups: List[str]
    lines: List[str]
    factor: SharedFactor
    further_groups: Sequence[str] = ()
    streams: Mapping[str, str] = {}
    has_fixed_divisor: bool = False
    before: Sequence[str] = ()

    @property
    def group(self) -> str:
        """Text of the list of all its weights."""
        return " + ".join(self.groups)

    @property
    def uses_losses(self) -> bool:
        """Whether the update uses the towers' losses."""
        return any(_LOSSES.search(line) for line in self.lines)

    @property
    def uses_turns(self) -> bool:
        """Whether the update uses what statistics are after one of the towers has changed them."""
        return any(f"{TURNS}[" in line for line in self.lines)

    @property
    def gathers(self) -> bool:
        """Whether it uses results of each tower, and not only reduced ones."""
        factor = self.factor
        of_all = self.uses_losses or factor.needed_of_all or factor.of_all or factor.with_others
        return bool(of_all or not self.path.combine)


class WrittenStep(NamedTuple):
    """A step.

    Attributes:
      updates: its train ops, in turn.
      groups: {name of a list in the text: the weights in it}.
      reasons: why no optimizer with named fields describes it.
      counter: the variable that counts the steps, or "".
      changed_in_turn: statistics and counters that each tower changes.
      own_number: why the graph tells nothing of another number of towers; see `Plan`.
    """

    updates: List[WrittenUpdate]
    groups: Dict[str, List[str]]
    reasons: List[str]
    counter: str = ""
    changed_in_turn: Sequence[str] = ()
    own_number: str = ""

    @property
    def streams(self) -> Dict[str, str]:
        """{weight: random stream of the noise on its gradient} of all train ops."""
        return {weight: stream for update in self.updates for weight, stream in update.streams.items()}

    @property
    def losses(self) -> List[WrittenLoss]:
        """The losses of those train ops that have one."""
        return [update.loss for update in self.updates if update.loss]

    def with_losses(self, losses: Sequence[WrittenLoss]) -> WrittenStep:
        """Returns the step with other losses, in place of `losses`."""
        others = iter(losses)
        return self._replace(updates=[u._replace(loss=next(others)) if u.loss else u for u in self.updates])

    @property
    def gathers(self) -> bool:
        """Whether an update uses the results of each tower by themselves."""
        return any(update.gathers for update in self.updates)

    @property
    def calls_gather(self) -> bool:
        """Whether the text calls `gather`: for results of each tower, or for rows of all towers."""
        joins = any(one.kind == "concat" for update in self.updates for one in update.factor.reduced)
        return self.gathers or joins or any(update.path.joined_rows for update in self.updates)

    @property
    def fixed_changes(self) -> List[str]:
        """Variables that the update changes as often as the old graph has towers, and no replica by itself."""
        proposals = [tower for loss in self.losses for tower in loss.model.statistics.proposals]
        of_replicas = {proposal.variable for tower in proposals for proposal in tower}
        return [name for name in self.changed_in_turn if name not in of_replicas]

    @property
    def any_number(self) -> bool:
        """Whether the program runs on any number of replicas: no tower's results, states or changes stand alone."""
        models = [loss.model for loss in self.losses]
        if self.own_number:
            return False
        own = any(m.statistics.policy == EACH_TOWER or m.others or has_own_variables(m) for m in models)
        turns = self.fixed_changes or any(update.uses_turns for update in self.updates)
        return not (self.gathers or own or turns or any(update.has_fixed_divisor for update in self.updates))


def loss_name(number: int) -> str:
    """Returns the name of one of a tower's losses in the text."""
    return f"loss{number + 1}" if number else "loss"
