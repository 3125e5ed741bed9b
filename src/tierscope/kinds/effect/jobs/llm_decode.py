"""Text generation by a large language model on CPUs, with llama.cpp.

``llm_decode.py prepare FOLDER MODEL BYTES PROMPT TOKENS CONTEXT`` writes a model with the shape of
MODEL, one of llama_shapes, and as many layers as fit into BYTES, in GGUF's 8-bit blocks (Q8_0). Its
weights are random, by a fixed seed: the text is nonsense, but the work and the memory are those of
trained weights. It also generates the text that each run has to.

``llm_decode.py generate FOLDER PROMPT TOKENS CONTEXT`` reads the weights into memory of its own,
has the model read a prompt of PROMPT random tokens (prefill), and generates TOKENS further ones,
each time the likeliest (decode), on all CPUs that it may use. CONTEXT is for how many tokens the KV
cache has room. It ends with status 1 where the text is another one than the prepared.
"""

import contextlib
import json
import math
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tierscope.kinds.effect.jobs.llama_shapes import MODELS, Llama

_MODEL, _EXPECTED = "model.gguf", "tokens.json"
_BLOCK = 32
"""Weights of a block of Q8_0: a scale in 16 bits, then so many whole numbers of 8 bits."""
_BLOCK_BYTES = 2 + _BLOCK
_BATCH = 128


def main() -> None:
    """Prepare, or generate."""
    task, folder, *rest = sys.argv[1], Path(sys.argv[2]), *sys.argv[3:]
    model = folder / _MODEL
    if task == "prepare":
        name, size, prompt, tokens, context = rest[0], *map(int, rest[1:])
        write_model(model, shape_of(name, size))
        found, _, _ = generate(model, prompt, tokens, context)
        (folder / _EXPECTED).write_text(json.dumps(found))
    else:
        prompt, tokens, context = map(int, rest)
        found, prefill_s, times = generate(model, prompt, tokens, context)
        check(found, json.loads((folder / _EXPECTED).read_text()))
        report(prompt, prefill_s, times)


def shape_of(name: str, size: int) -> Llama:
    """Return a model's shape with as many layers as make at most ``size`` bytes."""
    if name not in MODELS:
        sys.exit(f"'{name}' is no model; choose among {', '.join(MODELS)}")
    one, two = (bytes_of(replace(MODELS[name], layers=layers)) for layers in (1, 2))
    layers = 1 + (size - one) // (two - one)
    if layers < 1:
        sys.exit(f"{name} with one layer has {one} bytes, more than {size}")
    return replace(MODELS[name], layers=layers)


def bytes_of(shape: Llama) -> int:
    """Return the bytes of all tensors."""
    return sum(map(_bytes, shape.tensors().values()))


def _bytes(shape: tuple[int, ...]) -> int:
    count = math.prod(shape)
    return 4 * count if len(shape) == 1 else count // _BLOCK * _BLOCK_BYTES


def weights(random: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Return random weights, as the bytes of their blocks; norms are ones.

    Their variance is one over the inputs' count, so that layers keep the size of numbers (LeCun et
    al., Efficient BackProp, 1998) and each of them has its part in the text.
    """
    if len(shape) == 1:
        return np.ones(shape, dtype=np.float32)
    blocks = random.integers(0, 256, (_bytes(shape) // _BLOCK_BYTES, _BLOCK_BYTES), dtype=np.uint8)
    # Uniformly distributed bytes have a standard deviation of 256 / sqrt(12).
    scale = np.array([(12 / shape[-1]) ** 0.5 / 256], dtype="<f2")
    blocks[:, :2] = scale.view(np.uint8)
    return blocks.reshape(*shape[:-1], -1)


def write_model(path: Path, shape: Llama) -> None:
    """Write a model of random weights, a tensor at a time."""
    import gguf

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("random weights")
    writer.add_context_length(131072)
    writer.add_embedding_length(shape.hidden)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.ffn)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_rope_dimension_count(shape.head)
    writer.add_rope_freq_base(500000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(shape.vocabulary)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_tokenizer_model("none")  # tokens are given as numbers
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, shape.layers)
    q8, f32 = gguf.GGMLQuantizationType.Q8_0, gguf.GGMLQuantizationType.F32
    tensors = shape.tensors()
    for name, dimensions in tensors.items():
        writer.add_tensor_info(
            names.get_name(name, try_suffixes=[".weight"]) or name,
            dimensions,
            np.dtype(np.float32),
            _bytes(dimensions),
            raw_dtype=f32 if len(dimensions) == 1 else q8,
        )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    random = np.random.default_rng(1)
    for dimensions in tensors.values():
        writer.write_tensor_data(weights(random, dimensions))
    writer.close()


def generate(
    path: Path, prompt: int, tokens: int, context: int
) -> tuple[list[int], float, list[float]]:
    """Return the text in tokens, the time of the prefill and those of each token, in seconds."""
    if prompt + tokens > context:
        sys.exit(f"{prompt} and {tokens} tokens are more than the context's {context}")
    import llama_cpp

    threads = len(os.sched_getaffinity(0))
    # Without mmap, the weights are memory of the process, which placements and rules reach.
    # The attention that is not fused gives the same numbers with any number of threads.
    model: Any = llama_cpp.Llama(
        str(path),
        use_mmap=False,
        n_ctx=context,
        n_batch=_BATCH,
        n_ubatch=_BATCH,
        n_threads=threads,
        n_threads_batch=threads,
        flash_attn=False,
        verbose=False,
    )
    with contextlib.closing(model):
        asked = np.random.default_rng(2).integers(0, model.n_vocab(), prompt).tolist()
        model.eval(asked[:1])  # threads start
        model.reset()
        began = time.perf_counter()
        model.eval(asked)
        prefill_s = time.perf_counter() - began
        found: list[int] = []
        times: list[float] = []
        for _ in range(tokens):
            began = time.perf_counter()
            token = model.sample(temp=0)
            model.eval([token])
            times.append(time.perf_counter() - began)
            found.append(token)
    return found, prefill_s, times


def check(found: list[int], expected: list[int]) -> None:
    """End the program where another text was generated than the expected one."""
    if found != expected:
        pairs = zip(found, expected, strict=False)
        at = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(found), len(expected)))
        sys.exit(
            f"another text than the prepared one, from token {at + 1} on: what the memory holds, "
            "or what was computed, is wrong"
        )


def report(prompt: int, prefill_s: float, times: list[float]) -> None:
    """Print the figures."""
    print("The weights are random: the text that was generated is nonsense.")
    print(f"prefill: {prompt / prefill_s} 1/s")
    print(f"decode: {len(times) / sum(times)} 1/s")
    for percentile in (50, 99):
        print(f"p{percentile}: {np.percentile(times, percentile) * 1e6} us")


if __name__ == "__main__":
    main()
