"""``tierscope alloc check``."""

import click

from tierscope.cli import options


@options.command("check")
@options.json_option
@click.argument("file", metavar="FILE")
def check(file: str, json: str | None) -> int:
    """Check a file of rules for alloc exec: every line, and that this machine has the nodes.

    Lines of such a file, of which the first one that fits counts:

    \b
      arena slow 2 capacity=8G full=spill   nodes: 2 or 0,2 or bind:2 or 0@2,2@1
      arena both 0@2,2@1
      size >= 1M -> slow                    also: size 64K..1M, which leaves 1M out
      thread worker* -> slow                names of threads
      site server:load_index -> slow        the caller of malloc, as alloc sites shows it
      map >= 64M -> slow                    anonymous private mappings
      ratio plain:slow 2:1                  all other blocks, by a threshold that moves

    Exit status: 2 where something is wrong.

    \b
    Examples:
      tierscope alloc check tiers.rules
    """
    from json import dumps

    from tierscope.cli.forms import emit
    from tierscope.model.errors import counted
    from tierscope.placement.allocator import check_rules, rules_file

    forms = options.Forms(json)
    forms.check()
    arenas, rules = check_rules(rules_file(file))
    text = f"{file}: {counted(arenas, 'arena')}, {counted(rules, 'rule')}; nothing is wrong"
    found = {"file": file, "arenas": arenas, "rules": rules}
    emit(forms, lambda: dumps(found), lambda: click.echo(text))
    return 0
