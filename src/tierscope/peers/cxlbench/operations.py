"""The memory operations of CXL-Bench as those of chains, with the fences that it adds."""

from collections.abc import Sequence

from tierscope.kinds.chain.spec import Operation, parse_chains

_WAITED_FOR = ("write-back", "non-temporal")
"""Writes behind which its ``cache`` and ``nocache`` have an SFENCE."""


def custom_operations(text: str) -> tuple[Operation, ...]:
    """Return the operations of ``custom_operations``; raises UserError, naming the position."""
    (found,) = parse_chains(text)
    return with_fences(found)


def with_fences(operations: Sequence[Operation]) -> tuple[Operation, ...]:
    """Return the operations with a store fence after each write that CXL-Bench fences."""
    return tuple(
        one.model_copy(update={"fence": "stores"})
        if one.access == "write" and one.cache in _WAITED_FOR
        else one
        for one in operations
    )
