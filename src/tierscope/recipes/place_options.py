"""Options of ``tierscope place weights``: those of the study that it makes."""

from tierscope.recipes.expand import REQUEST

_TAKEN = ("from", "to", "mix", "order", "access-size", "threads", "size", "pages", "pin",
          "further", "precision", "budget", "sample")  # fmt: skip
MIX = "67:33"
"""Reads and writes that weights are found for, unless told: two reads a write."""
FURTHER = "8"
_DEFAULTS = {"mix": MIX, "further": FURTHER}
OPTIONS = tuple(
    option.but(default=_DEFAULTS.get(option.name, ""))
    for option in REQUEST.options
    if option.name in _TAKEN
)
SINGLE = ("mix", "order", "access-size", "size")
"""Those that take one value: the kernel has one table."""
