"""`OwnThread`: calls in a thread of their own, outside of whatever graph, device or strategy the caller is in."""

from __future__ import annotations

import concurrent.futures
from typing import TYPE_CHECKING, Any, Optional, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")


class OwnThread:
    """Runs calls one after the other in one thread, which begins with the first."""

    def __init__(self) -> None:
        self._executor: Optional[concurrent.futures.ThreadPoolExecutor] = None

    def run(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Calls a function in the thread; returns its result, or raises its exception."""
        if self._executor is None:
            self._executor = concurrent.futures.ThreadPoolExecutor(1)
        return self._executor.submit(function, *arguments).result()
