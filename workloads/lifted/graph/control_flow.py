"""Op types of 1.x's control flow, which is part of the graph itself, as frames (`while`) and dead branches (`cond`)."""

ENTERS = ("Enter", "RefEnter")
SWITCHES = ("Switch", "RefSwitch", "SwitchN")
EXITS = ("Exit", "RefExit")
MERGES = ("Merge", "RefMerge")
CONTROL_FLOW = ENTERS + SWITCHES + EXITS + MERGES + ("NextIteration", "RefNextIteration", "LoopCond", "ControlTrigger")
