"""From flags, YAML files and profiles to the plan that the engine reads."""

from tierscope.plans.expand import expand
from tierscope.plans.fit import check_memory, fit_time, longest_seconds, peak_bytes
from tierscope.plans.profiles import profile_named, profile_requests
from tierscope.plans.request import OPTIONS, Request
from tierscope.plans.yaml_plan import read_plan

__all__ = [
    "OPTIONS",
    "Request",
    "check_memory",
    "expand",
    "fit_time",
    "longest_seconds",
    "peak_bytes",
    "profile_named",
    "profile_requests",
    "read_plan",
]
