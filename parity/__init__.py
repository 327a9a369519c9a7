"""The proof: compares programs step by step and tensor by tensor, and measures their speed side by side.

Numbers (`compare`, `stages`, `tolerance`, `verification`), speed (`timing`, `speed`), reports (`report`) and
the main modules `verify`, `benchmark` and `__main__`. It imports everything below it; nothing imports it.
"""

import os

# `python -m parity.faults` and its like keep working: the commands in `qualification/` are found here too.
__path__.append(os.path.join(__path__[0], "qualification"))
