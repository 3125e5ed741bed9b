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
        ("src/tierscope/report/a.py", "\n" * 351, "351 lines"),
        ("src/tierscope/report/a.py", "def f():\n" + "    x = 1\n" * 60, "f has 61 lines"),
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
        ("tests/test_a.py", "\n" * 351),
        ("src/tierscope/report/a.py", "def f():\n" + "    x = 1\n" * 59),
    ],
)
def test_the_rest_is_let_through(tool: ModuleType, path: str, text: str) -> None:
    assert list(tool.check_python(path, text, KINDS)) == []


def test_functions_of_cpp_are_found(tool: ModuleType) -> None:
    text = """
#define OPEN {
namespace a {
struct B {
  int one() const { return 1; }  // }
};
const char* text = "{";
B::B(int x)
    : left{x}, right{x} {
  call([&] { return x; });
}
std::vector<int> table = {1, 2};
template <typename T>
void two(T x) {
  if (x) {
    three();
  }
}
}
"""
    found = [(name, last - first + 1) for name, first, last in tool.cpp_functions(text)]
    assert found == [("one", 1), ("B::B", 4), ("two", 6)]
