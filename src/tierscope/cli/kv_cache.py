"""``tierscope storage --kv-cache``: its options, and what they measure."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tierscope.cli import options
from tierscope.cli.measure import carry_out, fitted, with_verdict
from tierscope.plans.grammar import expand_sizes, parse_count, parse_number

if TYPE_CHECKING:
    from tierscope.cli.output import Output
    from tierscope.model.run import Run
    from tierscope.model.topology import Topology
    from tierscope.suites.kv_cache import KvAsked

Command = TypeVar("Command", bound=Callable[..., Any])
_FASTEST = 1e9
_OPTIONS = (
    click.option(
        "--kv-cache",
        metavar="MODEL|FILE",
        help="Fetch and store the cache of a language model: llama3-8b, deepseek-v3 and so on, or "
        "a model's config.json",
    ),
    click.option(
        "--prefix",
        metavar="TOKENS",
        help="With --kv-cache: lengths of the prefix  [default: 1k,8k,32k, as memory has room]",
    ),
    click.option(
        "--block-tokens", metavar="N", help="With --kv-cache: tokens of a block  [default: 16]"
    ),
    click.option(
        "--object-tokens", metavar="N", help="With --kv-cache: tokens of an object  [default: 256]"
    ),
    click.option(
        "--kv-dtype",
        type=click.Choice(["fp16", "bf16", "fp8", "fp32"]),
        help="With --kv-cache: type of the cache's numbers  [default: bf16]",
    ),
    click.option(
        "--prefill-rate",
        metavar="RATE",
        help="With --kv-cache: tokens/s that the model computes, to compare fetching with",
    ),
)
GIVEN = ("kv_cache", "prefix", "block_tokens", "object_tokens", "kv_dtype", "prefill_rate")
"""The parameters that these options make."""


def kv_cache_options(command: Command) -> Command:
    """Add the options of a language model's cache to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def asked_of(given: dict[str, Any], paths: tuple[str, ...], initiator: str | None) -> "KvAsked":
    """Return what these options ask for; raises UserError that names the option."""
    from tierscope.suites.kv_cache import BLOCK_TOKENS, OBJECT_TOKENS, KvAsked
    from tierscope.suites.kv_models import DTYPE_BYTES, model_of

    with options.blaming("--kv-cache"):
        model = model_of(given["kv_cache"])
    with options.blaming("--prefix"):
        prefixes = expand_sizes(given["prefix"]) if given["prefix"] else []
    with options.blaming("--block-tokens"):
        block = parse_count(given["block_tokens"] or str(BLOCK_TOKENS))
    with options.blaming("--object-tokens"):
        tokens = parse_count(given["object_tokens"] or str(OBJECT_TOKENS))
        if tokens % block:
            raise click.UsageError(
                f"--object-tokens: {tokens} is not a multiple of {block}, the tokens of a block"
            )
    rate = given["prefill_rate"]
    with options.blaming("--prefill-rate"):
        prefill_rate = parse_number(rate, 0, _FASTEST) if rate else None
    return KvAsked(
        model=model,
        directories=tuple(paths),
        initiator=initiator or "",
        prefixes=tuple(prefixes),
        block_tokens=block,
        object_tokens=tokens,
        number_bytes=DTYPE_BYTES[given["kv_dtype"] or "bf16"],
        prefill_rate=prefill_rate,
    )


def measure_kv_cache(
    topology: "Topology", asked: "KvAsked", time_limit: str | None, output: "Output"
) -> int:
    """Measure a model's cache on every path, and print what it says."""
    from tierscope.plans.fit import check_memory
    from tierscope.suites.kv_cache import kv_json, kv_tour, show_kv

    tour = kv_tour(topology, asked)
    tour = replace(tour, plan=fitted(tour.plan, time_limit))
    check_memory(tour.plan, topology)
    show = with_verdict(lambda console, run: show_kv(console, run, tour))

    def more(run: "Run") -> dict[str, Any]:
        return kv_json(run, tour)

    return carry_out("storage-kv-cache", tour.plan, topology, output, show=show, more=more)
