"""Runs beside each other, of any machines: what their figures come to together."""

import json
from collections.abc import Sequence

from tierscope.cli.forms import Forms, emit
from tierscope.cli.show_flow import runs_at
from tierscope.model.errors import ExitCode, UserError
from tierscope.runs.store import find_run


def show_beside(names: Sequence[str], forms: Forms) -> None:
    """Print what the figures of several runs come to; UserError where they come to nothing."""
    from tierscope.kinds.views import VIEWS
    from tierscope.report.view import summaries_of

    paths = [find_run(name) for name in names]
    forms.check(inputs=paths)
    runs = runs_at(paths)
    found = summaries_of(runs, VIEWS)
    if not found:
        kinds = ", ".join(kind for kind, view in VIEWS.items() if view.summaries)
        raise UserError(
            f"--beside: none of these runs has results of {kinds}; for figures that both runs "
            "have, use 'tierscope compare'",
            ExitCode.NOTHING_MEASURED,
        )

    def tables() -> None:
        from tierscope.report.console import make_console
        from tierscope.report.summaries import show_summaries

        for summaries in found.values():
            show_summaries(make_console(), summaries)

    def in_json() -> str:
        from tierscope.report.view import more_of

        return json.dumps({"runs": [{"name": name, **more_of(run, VIEWS)} for name, run in runs]})

    emit(forms, in_json, tables)
