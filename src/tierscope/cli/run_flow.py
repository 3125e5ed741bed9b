"""``tierscope run``: plans, profiles, and runs that were cut short."""

from pathlib import Path

from tierscope.cli.flow import carry_out, carry_out_refined, planned
from tierscope.cli.options import Output
from tierscope.model.errors import UserError
from tierscope.plans.fit import fit_time
from tierscope.plans.grammar import parse_number
from tierscope.plans.profiles import profile_named, profile_requests
from tierscope.plans.yaml_plan import read_plan
from tierscope.topology.discover import discover


def measure_plan_file(path: Path, budget: str | None, output: Output) -> int:
    """Measure what a YAML plan asks for."""
    requests = read_plan(path)
    topology = discover()
    plan = planned(requests, topology)
    if budget is not None:
        plan = fit_time(plan, _seconds(budget))
    return carry_out_refined(path.stem, plan, requests, topology, output)


def measure_profile(name: str, budget: str | None, output: Output) -> int:
    """Measure what a profile makes of this machine."""
    profile = profile_named(name)
    topology = discover()
    requests = profile_requests(profile, topology)
    plan = planned(requests, topology)
    if budget is not None:
        plan = fit_time(plan, _seconds(budget))
    elif profile.seconds is not None:
        # A machine of very many nodes takes the profile longer rather than not at all.
        plan = fit_time(plan, profile.seconds, strictly=False)
    if profile.refined and budget is None:
        return carry_out_refined(name, plan, requests, topology, output)
    return carry_out(name, plan, topology, output)


def _seconds(budget: str) -> float:
    try:
        return parse_number(budget, 0, 1e6)
    except UserError as error:
        raise UserError(f"--budget: {error}") from None
