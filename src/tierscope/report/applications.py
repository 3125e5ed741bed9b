"""Applications as they are listed, before they are measured."""

from rich.console import Console
from rich.text import Text

from tierscope.model.application import Application, Steps
from tierscope.plans.grammar import format_size
from tierscope.report.style import new_table, note


def show_applications(console: Console, found: list[tuple[Application, list[str]]]) -> None:
    """Print a line for each application, and what it lacks here."""
    names = ("application", "runs", "lacks")
    table = new_table(*names, words=names)
    for app, missing in found:
        table.add_row(app.name, app.summary, ", ".join(missing))
    console.print(table)
    if any(missing for _, missing in found):
        note(console, "tierscope apps install NAME installs what an application lacks")


def show_whole(console: Console, app: Application, missing: list[str]) -> None:
    """Print an application with all that its file has."""
    console.print(Text(f"{app.name}: {app.summary}", style="bold"))
    facts = {
        "stands for": app.stands_for,
        "packages": ", ".join([*app.packages, *app.python_packages]),
        "lacks here": ", ".join(missing),
        "data": format_size(app.size),
        "parameters": ", ".join(f"{name} {value}" for name, value in app.parameters.items()),
        "figures": ", ".join(one.partition("=")[0] for one in app.figures) or "run time",
        "steps": ", ".join(name for name in Steps.model_fields if getattr(app, name)),
        "rules": app.rules.strip(),
    }
    table = new_table("", "", words=("",))
    for name, value in facts.items():
        if value:
            table.add_row(name, value)
    console.print(table)
    for one in app.published:
        note(console, f"{one.text} ({one.source}, {one.date}{', ' if one.url else ''}{one.url})")
