"""Op types of 1.x's control flow, which is part of the graph itself, as frames (`while`) and dead branches (`cond`)."""

ENTERS = ("Enter", "RefEnter")
#: Ops that hand a value to the branch of a `cond` that a predicate chooses, or to a loop's next iteration or its end.
TWO_WAY_SWITCHES = ("Switch", "RefSwitch")
SWITCHES = (*TWO_WAY_SWITCHES, "SwitchN")
EXITS = ("Exit", "RefExit")
MERGES = ("Merge", "RefMerge")
CONTROL_FLOW = ENTERS + SWITCHES + EXITS + MERGES + ("NextIteration", "RefNextIteration", "LoopCond", "ControlTrigger")
