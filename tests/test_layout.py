"""What the layout check finds, and what it lets through."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).parent.parent / "tools/check_layout.py"
KINDS = frozenset({"bandwidth", "gpu-copy"})


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_layout", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("path", "text", "word"),
    [
        ("src/tierscope/runs/a.py", "isinstance(x, GpuCopySpec)", "isinstance"),
        ("src/tierscope/plans/a.py", "isinstance(x, A | spec.AtomicsSpec)", "isinstance"),
        ("src/tierscope/plans/a.py", "x.kind == 'bandwidth'", "compares"),
        ("src/tierscope/cli/a.py", "kind in ('bandwidth', 'x')", "compares"),
        ("src/tierscope/report/a.py", "TABLE = {'gpu-copy': 1}", "names"),
    ],
)
def test_an_offender_is_named(tool: ModuleType, path: str, text: str, word: str) -> None:
    (found,) = tool.check_python(path, text, KINDS)
    assert found.startswith(path)
    assert word in found


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/tierscope/kinds/x/view.py", "isinstance(s, XSpec) or kind == 'bandwidth'"),
        ("src/tierscope/report/a.py", "endpoint.kind == 'node' or metric == 'bandwidth'"),
    ],
)
def test_the_rest_is_let_through(tool: ModuleType, path: str, text: str) -> None:
    assert list(tool.check_python(path, text, KINDS)) == []
