"""Parts of specs of input and output, from the options of a request."""

from typing import Any

from tierscope.kinds.io.options import WAYS
from tierscope.model.endpoint import EndpointKind, Target
from tierscope.model.errors import UserError
from tierscope.plans import grammar
from tierscope.plans.axes import checked, sizes
from tierscope.plans.gpu import flag
from tierscope.plans.request import Request

DEFAULT_BYTES = 1 << 30
"""Of all files of a target that are made together."""
_MAX = 1 << 60


def files(request: Request, target: Target, count: int) -> dict[str, Any]:
    """Return the files or the device of one target, for so many threads with files of their own."""
    asked = sizes(request, "size")
    if len(asked) > 1:
        raise request.wrong("size", "files have one size; use --range for parts of them")
    size = asked[0] if asked else None
    if target.kind is EndpointKind.DEV:
        return {
            "device": target.path,
            "size": size,
            "destroy": _destroyed(request, target),
            "second_word": request.options.get("second-word", ""),
        }
    for option in ("destroy-data", "second-word"):
        if option in request.options:
            raise request.wrong(option, f"goes with a device (dev:/dev/...), not with {target}")
    default = max(1 << 20, DEFAULT_BYTES // count)
    common = checked(
        request, "file", grammar.parse_choice, request.options.get("file", "each"), ("each", "one")
    )
    if common == "one":
        return {
            "path": target.path,
            "size": size or DEFAULT_BYTES,
            "large": bool(asked),
            "keep": False,
            "common": {},
        }
    return {
        "path": target.path,
        "size": size or default,
        "count": count,
        "large": bool(asked),
        "keep": flag(request, "keep"),
        "overwrite": flag(request, "overwrite"),
    }


def _destroyed(request: Request, target: Target) -> str:
    """Return the name that says that this device's data may go; empty where none was given."""
    if "destroy-data" not in request.options:
        return ""
    names = grammar.split_words(request.options["destroy-data"])
    devices = [
        word for word in grammar.split_endpoints(request.options["to"]) if word.startswith("dev:")
    ]
    if len(names) != len(devices):
        many = f"{len(names)} name{'s' if len(names) > 1 else ''} for {len(devices)}"
        raise request.wrong(
            "destroy-data", f"{many} device{'s' if len(devices) > 1 else ''} in --to; give one each"
        )
    return names[devices.index(str(target))]


def fixed(request: Request, values: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of a pattern that have one value in a request."""
    found: dict[str, Any] = {
        name.replace("-", "_"): flag(request, name)
        for name in ("sqpoll", "iopoll", "end-fsync", "refill", "verify")
    }
    for name in ("offset", "range", "align", "misalign", "amount"):
        if name in request.options:
            found[name] = checked(request, name, grammar.parse_size, request.options[name])
    for name in ("batch", "fsync", "fdatasync", "compressible", "seed"):
        if name in request.options:
            found[name] = checked(
                request, name, grammar.parse_count, request.options[name], _MAX, 0
            )
    if "require" in request.options:
        found["require"] = checked(
            request, "require", grammar.parse_choice, request.options["require"], WAYS
        )
    exponent = checked(
        request, "zipf", grammar.parse_number, request.options.get("zipf", "1.1"), 0, 10
    )
    if values["order"] == "zipf":
        found["zipf"] = exponent
    if "blocks" in request.options:
        found |= checked(request, "blocks", _blocks, request.options["blocks"])
    return found


def _blocks(text: str) -> dict[str, Any]:
    shares = []
    for word in grammar.split_words(text):
        size, colon, weight = word.partition(":")
        if not colon or not weight.isdigit() or not int(weight):
            raise UserError(f"'{word}' is not SIZE:WEIGHT such as 4k:60")
        shares.append({"bytes": grammar.parse_size(size), "weight": int(weight)})
    whole = sum(share["weight"] for share in shares)
    mean = sum(share["bytes"] * share["weight"] for share in shares) // whole
    return {"blocks": shares, "block_size": mean}
