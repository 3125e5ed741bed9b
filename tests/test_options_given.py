"""Options that are given twice, or where they have no effect, and the defaults that help states."""

from typing import Any

import pytest
from click.testing import CliRunner

from tierscope.cli.app import app
from tierscope.kinds.registry import KINDS
from tierscope.model.errors import UserError
from tierscope.model.topology import Gpu, Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.suites.registry import SUITES


def do(*arguments: str) -> Any:
    return CliRunner().invoke(app, arguments)


@pytest.mark.parametrize(
    "line",
    [
        "bandwidth --op read --op write",
        "bandwidth --op read --op=read",
        "latency --from node:0 --from node:0",
        "gpu --gpus 0 --gpus 0",
        "gpu copy --size 1 --size 2",
        "run --profile quick --profile full",
        "report a -o x --out y",
        "list --in a --in b",
        "matrix --at 1 --at 2",
    ],
)
def test_an_option_of_one_value_is_given_once(line: str) -> None:
    done = do(*line.split())
    assert done.exit_code == 2
    assert "is given twice" in done.output


def test_flags_and_options_of_several_values_may_be_repeated() -> None:
    done = do("tag", "nothing", "--remove", "a", "--remove", "b")
    assert "neither a file nor the name" in str(done.exception)


@pytest.mark.parametrize(
    "line",
    [
        "gpu --gpus 0 copy --dry-run",
        "gpu --json memory --dry-run",
        "compare --pairs 2 a.yaml b.yaml -o page.html",
        "compare --pairs 2 a.yaml b.yaml --tolerance 5%",
        "compare --engine a --engine b x y",
    ],
)
def test_an_option_without_effect_is_refused(line: str) -> None:
    done = do(*line.split())
    assert isinstance(done.exception, UserError)
    assert "has no effect here" in str(done.exception)


@pytest.mark.parametrize("line", ["gpu", "gpu copy", "gpu memory", "gpu latency", "gpu matrix"])
def test_a_dry_run_needs_no_gpu(
    line: str, machine: Topology, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tierscope.machine.discover.discover", lambda: machine)
    monkeypatch.setenv("TIERSCOPE_ENGINE", "/nonexistent")
    done = do(*line.split(), "--dry-run")
    assert done.exit_code == 0, done.exception
    assert "nothing was measured" in done.stdout
    assert done.stderr == "tierscope: no GPU was found; this is the plan for one GPU\n"


FORMS = sorted({**KINDS, **{name: r for name, r in SUITES.items() if r.form_module}})


NEEDED = {"effect": {"command": "true"}}
"""Options without which a kind measures nothing."""


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.usefixtures("two_gpu_ranks", "four_ranks")
def test_the_default_that_help_states_is_what_happens_without_the_option(
    name: str, machine: Topology
) -> None:
    gpus = [Gpu(index=n, name="", address="", memory_bytes=80 << 30) for n in (0, 1)]
    with_gpus = machine.model_copy(update={"gpus": gpus})
    form = {**KINDS, **SUITES}[name].request

    def planned(options: dict[str, str]) -> list[dict[str, Any]]:
        asked = {**NEEDED.get(name, {}), **options}
        plan = expand([Request(kind=name, options=asked)], with_gpus, True)
        return [one.model_dump(exclude={"id"}) for one in plan.measurements]

    plain = planned({})
    checked = said_in_words = 0
    for option in form.options:
        if not option.default or any(sign in option.default for sign in " ;"):
            said_in_words += 1
            continue
        try:
            given = planned({option.name: option.default})
        except UserError:
            continue  # it goes with another option only
        assert given == plain, option.name
        checked += 1
    assert checked >= min(3, len(form.options) - said_in_words)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("gpu copy --rows 0:0", "--rows: '0:0': a row and its pitch have at least 1 byte"),
        ("gpu together --size 0", "--size: "),
        ("gpu matrix --size 0", "--size: "),
    ],
)
def test_sizes_of_copies_are_checked(
    line: str, said: str, machine: Topology, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tierscope.machine.discover.discover", lambda: machine)
    done = do(*line.split(), "--dry-run")
    assert isinstance(done.exception, UserError)
    assert said in str(done.exception)
