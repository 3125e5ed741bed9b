"""What draws pictures: its font, its files, its errors."""

import hashlib
import json
from pathlib import Path

import pytest

from tierscope.model.errors import UserError
from tierscope.report.pictures import vega

POINT = {
    "data": {"values": [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]},
    "mark": {"type": "bar", "clip": True},
    "encoding": {"x": {"field": "a", "type": "quantitative"}, "y": {"field": "b"}},
}
ASSETS = Path(vega.__file__).parent / "assets"


def test_text_is_as_wide_as_helvetica() -> None:
    # Helvetica's widths of H, e, l, l, o in thousandths: 722, 556, 222, 222, 556; bold l: 278.
    assert vega._text_width("Hello", "13px 'Liberation Sans'") == pytest.approx(13 * 2.278, 1e-3)
    assert vega._text_width("ll", "bold 10px 'Liberation Sans'") == pytest.approx(5.56, 1e-2)
    assert vega._text_width("µ→", "10px x") == pytest.approx(15.8, 0.02)


def test_a_picture_is_the_same_each_time() -> None:
    first, second = vega.svg_of(json.dumps(POINT)), vega.svg_of(json.dumps(POINT))
    assert "clipPath" in first
    assert first == second


@pytest.mark.parametrize("wrong", [{**POINT, "mark": "nothing"}, {**POINT, "mark": 5}, {}])
def test_what_vega_refuses_is_said_in_one_line(wrong: dict[str, object]) -> None:
    with pytest.raises(UserError, match=r"^a picture could not be drawn: .+") as refused:
        vega.svg_of(json.dumps(wrong))
    assert "\n" not in str(refused.value)
    assert refused.value.exit_code == 4
    assert vega.svg_of(json.dumps(POINT))


def test_an_svg_that_cannot_be_read_is_said_in_one_line() -> None:
    with pytest.raises(UserError, match=r"^a picture could not be drawn: .+"):
        vega.png_of("<svg", 2.0)


def test_a_picture_without_memory_for_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vega, "_RESVG_NEEDS", 1 << 60)
    with pytest.raises(UserError, match="Cannot allocate memory"):
        vega.png_of(vega.svg_of(json.dumps(POINT)), 2.0)


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("vega.min.js", "ea6a5936381d06f912466354e2b6a20eb66c4d41f1ca9dff1e0236dfee6ee392"),
        ("vega-lite.min.js", "6d5035fdd429b4bc6f91f3754426c3f516f3dbd8e08b105cfc2496bed4ebd254"),
        ("LiberationSans-Regular.ttf",
         "8d91388f1d3604b3b8ae0e3ee2d140e50cd6122f9214514f4aca772540a4076d"),
        ("LiberationSans-Bold.ttf",
         "ba0e0dc3f7aca5b0afbc31e800531ee43be3aa79ae35b2ef1f6470a9547765c4"),
    ],
)  # fmt: skip
def test_the_files_of_others_are_unchanged(name: str, digest: str) -> None:
    assert hashlib.sha256((ASSETS / name).read_bytes()).hexdigest() == digest


def test_the_licences_name_the_versions_that_are_there() -> None:
    said = (ASSETS / "LICENCES.txt").read_text()
    engine = vega._vega()
    for name, library in (("Vega", "vega"), ("Vega-Lite", "vegaLite")):
        assert f"{library.lower() if name == 'Vega' else 'vega-lite'}.min.js is {name} " in said
        assert f"{name} {engine.eval(f'{library}.version')}:" in said
