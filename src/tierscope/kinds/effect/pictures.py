"""Pictures of programs: the change of each figure under each placement, with its interval."""

from collections.abc import Iterator
from typing import Any

from tierscope.analysis.effect import Effect, by_program, effects
from tierscope.kinds.effect.words import called, change_text, interval_text
from tierscope.model.run import Measurement
from tierscope.report.pictures import generic
from tierscope.report.pictures.picture import Gathered, Picture, Spec, slug

_ROW = 34
_WIDTH = 380


def changes(gathered: Gathered) -> Iterator[Picture]:
    """Changes against the first placement; bars of the figures where there is one placement."""
    alone: list[Measurement] = []
    for group in by_program(gathered.measured):
        known = [one for one in effects(group) if one.ratio and one.low and one.high]
        if known:
            yield _changes(group, known)
        else:
            alone += group
    if alone:
        yield from generic.bars(Gathered(**{**vars(gathered), "measured": alone}))


def _changes(group: list[Measurement], known: list[Effect]) -> Picture:
    base = known[0].base
    rows = [_row(one) for one in known]
    return Picture(
        key=slug(f"effect changes {known[0].command}"),
        title=f"Change against {base}",
        subtitle=f"{known[0].command}; all intervals hold at once with 95%, pale: undecided",
        alt=" ".join(
            f"{called(one.figure)} under {one.placement}: {change_text(one.ratio)}, {one.verdict}."
            for one in known
        ),
        spec=_spec(rows),
        measurements=group,
    )


def _row(one: Effect) -> dict[str, Any]:
    low, middle, high = (100 * ((value or 1) - 1) for value in (one.low, one.ratio, one.high))
    name = f"{called(one.figure)}, {one.placement}"
    text = f"{change_text(one.ratio)} {one.verdict}"
    tip = f"{name}: {interval_text(one.low or 1, one.high or 1)}, {one.verdict}"
    return {
        "name": name, "value": middle, "low": low, "high": high, "text": text, "tip": tip,
        "verdict": one.verdict,
    }  # fmt: skip


def _spec(rows: list[dict[str, Any]]) -> Spec:
    x: Spec = {
        "field": "value",
        "type": "quantitative",
        "title": "change in %",
        "axis": {"tickCount": 6},
    }
    pale: Spec = {"condition": {"test": "datum.verdict == 'undecided'", "value": 0.4}, "value": 1}
    return {
        "data": {"values": rows},
        "width": _WIDTH,
        "height": {"step": _ROW},
        "encoding": {
            "y": {"field": "name", "type": "nominal", "sort": None, "title": None},
        },
        "layer": [
            {
                "data": {"values": [{"zero": 0}]},
                "mark": {"type": "rule", "color": "role:ink", "aria": False},
                "encoding": {"x": {"field": "zero", "type": "quantitative"}, "y": None},
            },
            {
                "mark": {"type": "rule", "strokeWidth": 2, "color": "role:series-1", "aria": False},
                "encoding": {
                    "x": {**x, "field": "low"},
                    "x2": {"field": "high"},
                    "opacity": pale,
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 60, "color": "role:series-1"},
                "encoding": {"x": x, "opacity": pale, "description": {"field": "tip"}},
            },
            {
                "mark": {"type": "text", "dy": -9, "color": "role:ink", "fontSize": 11},
                "encoding": {"x": x, "text": {"field": "text"}},
            },
        ],
    }


PICTURES = (changes,)
