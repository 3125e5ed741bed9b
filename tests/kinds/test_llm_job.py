"""Text generation by a model of random weights: its shape, its file, and what a run checks."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy", reason="there is no numpy: tierscope apps install llm")

from tierscope.kinds.effect.jobs import llm_decode  # noqa: E402  it needs numpy
from tierscope.kinds.effect.jobs.llama_shapes import MODELS, Llama  # noqa: E402

NAME = "llama-3.2-1b"
TINY = Llama(layers=2, hidden=128, ffn=256, heads=4, kv_heads=2, head=32, tied=True, vocabulary=512)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    pytest.importorskip("gguf", reason="there is no gguf: tierscope apps install llm")
    llm_decode.write_model(tmp_path / "model.gguf", TINY)
    return tmp_path / "model.gguf"


@pytest.fixture
def llama() -> None:
    reason = "there is no llama-cpp-python: tierscope apps install llm"
    pytest.importorskip("llama_cpp", reason=reason)


def test_a_size_has_the_layers_that_fit() -> None:
    exact = llm_decode.bytes_of(replace(MODELS[NAME], layers=3))
    found = [llm_decode.shape_of(NAME, exact + more) for more in (-1, 0, 1)]
    assert [one.layers for one in found] == [2, 3, 3]
    assert {one.hidden for one in found} == {2048}


@pytest.mark.parametrize(
    ("name", "size", "error"),
    [
        (NAME, 1000, r"llama-3\.2-1b with one layer has \d+ bytes, more than 1000"),
        ("gpt-9", 1 << 30, "'gpt-9' is no model; choose among llama-3.2-1b, "),
    ],
)
def test_a_model_that_cannot_be_is_refused(name: str, size: int, error: str) -> None:
    with pytest.raises(SystemExit, match=error):
        llm_decode.shape_of(name, size)


def test_the_variance_of_weights_is_one_over_the_inputs() -> None:
    found = llm_decode.weights(np.random.default_rng(1), (64, 512))
    blocks = found.reshape(-1, 34)
    scales = blocks[:, :2].copy().view("<f2").astype(float)
    values = scales * blocks[:, 2:].view(np.int8)
    assert values.size == 64 * 512
    assert values.std() == pytest.approx(512**-0.5, rel=0.02)
    assert abs(values.mean()) < 0.002


def test_the_file_has_the_tensors_of_the_shape(model: Path) -> None:
    reader = pytest.importorskip("gguf").GGUFReader(model)
    found = {one.name: one for one in reader.tensors}
    # GGUF has the dimension that changes fastest first.
    shapes = {name: tuple(reversed(one.shape.tolist())) for name, one in found.items()}
    assert list(shapes.values()) == list(TINY.tensors().values())
    assert shapes["token_embd.weight"] == (512, 128)
    assert shapes["blk.1.attn_k.weight"] == (64, 128)
    assert shapes["blk.1.ffn_down.weight"] == (128, 256)
    assert shapes["output_norm.weight"] == (128,)
    kinds = {len(one.shape): one.tensor_type.name for one in reader.tensors}
    assert kinds == {1: "F32", 2: "Q8_0"}
    assert sum(int(one.n_bytes) for one in reader.tensors) == llm_decode.bytes_of(TINY)
    assert reader.fields["llama.block_count"].contents() == 2
    assert reader.fields["llama.attention.head_count_kv"].contents() == 2
    assert reader.fields["llama.vocab_size"].contents() == 512
    layers = [found[f"blk.{layer}.attn_q.weight"].data for layer in (0, 1)]
    assert not np.array_equal(*layers)


def test_the_same_model_is_written_each_time(model: Path, tmp_path: Path) -> None:
    llm_decode.write_model(tmp_path / "again.gguf", TINY)
    assert (tmp_path / "again.gguf").read_bytes() == model.read_bytes()


def test_another_text_ends_the_program() -> None:
    llm_decode.check([1, 2, 3], [1, 2, 3])
    with pytest.raises(SystemExit, match="another text than the prepared one, from token 2 on"):
        llm_decode.check([1, 9, 3], [1, 2, 3])
    with pytest.raises(SystemExit, match="from token 3 on"):
        llm_decode.check([1, 2], [1, 2, 3])


def test_figures_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    llm_decode.report(100, 2.0, [0.5, 0.25, 0.25])
    assert capsys.readouterr().out.splitlines() == [
        "The weights are random: the text that was generated is nonsense.",
        "prefill: 50.0 1/s",
        "decode: 3.0 1/s",
        "p50: 250000.0 us",
        "p99: 495000.0 us",
    ]


def test_more_tokens_than_the_context_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="100 and 29 tokens are more than the context's 128"):
        llm_decode.generate(tmp_path / "none", 100, 29, 128)


@pytest.mark.usefixtures("llama")
def test_the_text_is_the_same_with_any_number_of_threads(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts, cpus = [], sorted(os.sched_getaffinity(0))
    for count in (1, min(4, len(cpus))):
        chosen = set(cpus[:count])
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, chosen=chosen: chosen)
        text, prefill_s, times = llm_decode.generate(model, 40, 20, 128)
        assert prefill_s > 0
        assert len(times) == 20
        texts.append(text)
    assert texts[0] == texts[1]
    assert len(set(texts[0])) > 5, "a text of few different tokens shows little"


@pytest.mark.usefixtures("llama")
def test_a_changed_weight_changes_the_text(model: Path) -> None:
    before, _, _ = llm_decode.generate(model, 40, 20, 128)
    contents = bytearray(model.read_bytes())
    # The last tensor that has blocks: its numbers are near the file's end.
    contents[-4096:-1024] = bytes(3072)
    model.write_bytes(contents)
    after, _, _ = llm_decode.generate(model, 40, 20, 128)
    assert after != before


@pytest.mark.usefixtures("llama")
def test_a_run_prints_its_figures_or_what_is_wrong(model: Path) -> None:
    text, _, _ = llm_decode.generate(model, 16, 8, 64)
    expected = model.with_name("tokens.json")
    words = [sys.executable, llm_decode.__file__, "generate", str(model.parent), "16", "8", "64"]

    def run() -> Any:
        return subprocess.run(words, capture_output=True, text=True, check=False)

    expected.write_text(str(text))
    ran = run()
    assert (ran.returncode, ran.stderr) == (0, "")
    names = re.findall(r"^(\w+): [0-9.e+-]+ (?:1/s|us)$", ran.stdout, re.MULTILINE)
    assert names == ["prefill", "decode", "p50", "p99"]
    expected.write_text(str([*text[:-1], text[-1] + 1]))
    ran = run()
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("another text than the prepared one, from token 8 on")
