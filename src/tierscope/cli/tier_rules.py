"""``tierscope tier presets`` and ``rules``."""

from pathlib import Path

from tierscope.cli import options
from tierscope.cli.tier_start import rule_options


@options.command()
@options.json_option
def presets(json: str | None) -> None:
    """List the presets of rules.

    \b
    Examples:
      tierscope tier presets
    """
    from tierscope.cli.tier_rules_flow import list_presets

    list_presets(options.Forms(json))


@options.command()
@rule_options
@options.out_option("FILE", "Write the rules to a file")
@options.json_option
def rules(
    pairs: tuple[str, ...],
    preset: str | None,
    rules: Path | None,
    cgroup: str | None,
    pid: int | None,
    out: Path | None,
    json: str | None,
) -> None:
    """Print the rules that 'tier start' would follow, as YAML or JSON for damo; change nothing.

    \b
    Examples:
      tierscope tier rules --pair 0:2
      tierscope tier rules --rules my_rules.yaml --json
    """
    from tierscope.cli.tier_rules_flow import print_rules
    from tierscope.plans.tier_start import Asked

    print_rules(Asked(pairs, preset, rules, cgroup, pid), out, options.Forms(json))
