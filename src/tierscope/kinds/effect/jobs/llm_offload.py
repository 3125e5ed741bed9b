"""A language model whose data is not all in a GPU's memory: decoding, and training.

``llm_offload.py write FOLDER`` writes the weights of some layers of a Llama, random numbers.
``llm_offload.py run FOLDER`` decodes and trains with them, and prints tokens/s and steps/s.

Decoding, of a batch of sequences, one token each a step; the layers have the shapes of ``--model``:

- ``decode_gpu``: weights and KV cache are in the GPU's memory;
- ``decode_host``: weights are in pinned host memory; while the GPU works on a layer, the next one
  is copied into the other of two buffers, in every step again;
- ``decode_storage``: the same, of the files of FOLDER, read with O_DIRECT through pinned memory;
- ``kv_host``: the KV cache is in pinned host memory, and copied to the GPU layer by layer. What a
  step adds to it is copied back.

Training in bf16, by Adam with a master copy and two moments in fp32, 12 bytes for each parameter.
Forward and backward passes have all weights and gradients in the GPU's memory:

- ``train_gpu``: Adam's state is there, too;
- ``train_host``: it is in pinned host memory. After the backward pass it goes through the GPU piece
  by piece: one is copied there while the GPU updates another one and a third is copied back;
- ``train_storage``: the same, of a file in FOLDER, read and written with O_DIRECT.

Wherever data is, the same kernels get the same numbers: results must be equal bit for bit after the
first two steps, or the program ends with status 1.
"""

import argparse
import contextlib
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from importlib import import_module
from pathlib import Path
from statistics import fmean
from typing import Any

from tierscope.kinds.effect.jobs.gpu_staging import (
    PinnedMemory,
    Staging,
    bytes_of,
    checksum,
    forget,
    read_whole,
    torch_module,
    write_whole,
)
from tierscope.kinds.effect.jobs.llama_shapes import MODELS, Llama
from tierscope.kinds.effect.jobs.safetensors_file import Entry, header_of, layout, size_of

MODES = (
    "decode_gpu",
    "decode_host",
    "decode_storage",
    "kv_host",
    "train_gpu",
    "train_host",
    "train_storage",
)
_CHECKED = 2
"""Steps after which results are compared."""
_BUFFERS = 2
_STATES = 3
"""Numbers in fp32 that Adam has of each parameter: master copy and two moments."""
_SLOTS = 3
"""Pieces of Adam's state on the GPU: one arrives, one is used, one leaves."""
_KERNELS = 19
"""That PyTorch 2.11 launches for a layer of decoding, by its profiler: 4 products of matrices, of
which 2 are added up afterwards, attention, 2 norms, 10 of the rest."""
_AT_ONCE = 2
"""Pieces of it that are read, and that are written, so that storage always has some."""
_ROPE_BASE = 500_000.0
_EPSILON = 1e-5
_BF16_BYTES = 2


def main() -> None:
    """Write or run, as the first argument says."""
    asked = _arguments()
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"  # Else cuBLAS may choose by what is free.
    torch = torch_module()
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    try:
        if asked.do == "write":
            write(asked)
        else:
            run(asked)
    except (OSError, ValueError, RuntimeError) as error:  # PyTorch's errors are RuntimeErrors
        sys.exit(f"llm_offload: {str(error).splitlines()[0]}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("do", choices=("write", "run"))
    parser.add_argument("path", type=Path, metavar="FOLDER")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--model", choices=MODELS, default="llama-3.1-70b")
    parser.add_argument("--layers", type=int, default=3, help="of the model, for decoding")
    parser.add_argument("--batch", type=int, default=16, help="sequences")
    parser.add_argument("--context", type=int, default=2048, help="tokens in the KV cache before")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--storage-steps", type=int, default=3)
    parser.add_argument("--train-model", choices=MODELS, default="llama-3.2-1b")
    parser.add_argument("--train-layers", type=int, default=4)
    parser.add_argument("--train-tokens", type=int, default=4096, help="of a step")
    parser.add_argument("--parameters", type=int, default=1 << 24, help="of a piece of the state")
    parser.add_argument("--threads", type=int, default=12, help="that read or write")
    parser.add_argument("--piece", type=int, default=8 << 20, help="bytes of one read or write")
    asked = parser.parse_args()
    asked.modes = asked.modes.split(",")
    if wrong := [one for one in asked.modes if one not in MODES]:
        parser.error(f"'{wrong[0]}' is none of {', '.join(MODES)}")
    if min(asked.steps, asked.storage_steps) <= _CHECKED:
        parser.error(f"results are compared after {_CHECKED} steps; ask for more")
    if asked.layers < _BUFFERS:
        parser.error(f"--layers {asked.layers}: ask for {_BUFFERS} or more, one for each buffer")
    return asked


def write(asked: argparse.Namespace) -> None:
    """Write the files of the layers' weights."""
    for layer, image in enumerate(Weights(asked).made()):
        with _weights_file(asked.path, layer).open("wb") as file:
            file.write(bytes_of(image.cpu()))
            file.flush()
            os.fsync(file.fileno())


def run(asked: argparse.Namespace) -> None:
    """Decode and train in each mode, compare the results, and print."""
    results: dict[str, dict[str, list[int]]] = {"decode": {}, "train": {}}
    decoder = Decoder(asked) if any(not m.startswith("train") for m in asked.modes) else None
    if decoder:
        for line in decoder.facts():
            print(line)
        for mode in asked.modes:
            if not mode.startswith("train"):
                seconds, results["decode"][mode] = decoder.run(mode)
                print(f"{mode}: {asked.batch / seconds:.6g} 1/s")
                print(f"{mode}_step: {seconds:.6f} s")
        del decoder
        torch_module().cuda.empty_cache()
    trained = [mode for mode in asked.modes if mode.startswith("train")]
    if trained:
        trainer = Trainer(asked)
        for line in trainer.facts():
            print(line)
        for mode in trained:
            seconds, passes, results["train"][mode] = trainer.run(mode)
            print(f"{mode}: {1 / seconds:.6g} 1/s")
            print(f"{mode}_step: {seconds:.6f} s")
            print(f"{mode}_passes: {passes:.6f} s")
    for of_modes in results.values():
        for mode, sums in of_modes.items():
            first, expected = next(iter(of_modes.items()))
            if sums != expected:
                raise ValueError(f"{mode} has other results than {first}")


def _weights_file(folder: Path, layer: int) -> Path:
    return folder / f"layer-{layer:03}.safetensors"


class Weights:
    """Layers' weights: images of files with the tensors of one layer each."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self.model: Llama = MODELS[asked.model]
        self.layers: int = asked.layers
        self.entries: dict[str, Entry] = layout(self.model.fused_layer())
        self.size = size_of(self.entries)
        self.tensors = cache(self._tensors)

    def made(self) -> Iterator[Any]:
        """Yield the image of each layer on the GPU, always the same numbers."""
        torch = torch_module()
        head = torch.frombuffer(bytearray(header_of(self.entries)), dtype=torch.uint8).cuda()
        numbers = torch.Generator("cuda").manual_seed(1)
        for _ in range(self.layers):
            image = torch.empty(self.size, dtype=torch.uint8, device="cuda")
            image[: head.numel()] = head
            for name, tensor in self.tensors(image).items():
                spread = self.model.hidden**-0.5
                if name.endswith("layernorm"):
                    tensor.fill_(1)
                else:
                    tensor.normal_(0, spread, generator=numbers)
            yield image

    def _tensors(self, image: Any) -> dict[str, Any]:
        """Return the tensors in an image, as views."""
        bf16 = torch_module().bfloat16
        return {
            name: image[one.offset : one.offset + one.bytes].view(bf16).view(one.shape)
            for name, one in self.entries.items()
        }


class Source:
    """Images of layers, each on the GPU when it is used. This one has all of them there."""

    def __init__(self, images: Sequence[Any]) -> None:
        self._images = images

    def fetch(self, number: int, layer: int) -> None:
        """Begin to bring a layer; ``number`` counts the layers of all steps."""

    def image(self, number: int, layer: int) -> Any:  # noqa: ARG002
        """Return a layer's image, which work that is queued from now on may use."""
        return self._images[layer]

    def used(self, number: int) -> None:
        """Say that all work on a layer is queued."""

    def close(self) -> None:
        """Release what it holds."""


class Buffered(Source):
    """Buffers on the GPU that get the layers in turn."""

    def __init__(self, size: int) -> None:
        torch = torch_module()
        self._buffers = [
            torch.empty(size, dtype=torch.uint8, device="cuda") for _ in range(_BUFFERS)
        ]
        self._free = [torch.cuda.Event() for _ in range(_BUFFERS)]

    def used(self, number: int) -> None:
        """Let the next layer come into this one's buffer after the work queued so far."""
        self._free[number % _BUFFERS].record()


class FromHost(Buffered):
    """Layers in pinned host memory. ``length`` says how many bytes of one are used."""

    def __init__(self, memory: Sequence[PinnedMemory], size: int) -> None:
        super().__init__(size)
        torch = torch_module()
        self.memory = memory
        self.length = size
        self.stream = torch.cuda.Stream()
        self._ready = [torch.cuda.Event() for _ in range(_BUFFERS)]

    def fetch(self, number: int, layer: int) -> None:
        """Queue the copy behind the work on the layer that its buffer had."""
        torch = torch_module()
        slot = number % _BUFFERS
        self.stream.wait_event(self._free[slot])
        with torch.cuda.stream(self.stream):
            self._buffers[slot][: self.length].copy_(self.memory[layer].tensor[: self.length], True)
            self._ready[slot].record()

    def image(self, number: int, layer: int) -> Any:  # noqa: ARG002
        """Return the buffer; the current stream waits for the copy."""
        slot = number % _BUFFERS
        torch_module().cuda.current_stream().wait_event(self._ready[slot])
        return self._buffers[slot]


class FromStorage(Buffered):
    """Layers in files, read by threads. Each buffer has its own, so that one layer's reads begin
    before those of the last one have ended, and storage always has some."""

    def __init__(self, files: Sequence[Path], size: int, staging: Sequence[Staging]) -> None:
        super().__init__(size)
        for one in files:
            forget(one)
        self._files = [os.open(one, os.O_RDONLY | os.O_DIRECT) for one in files]
        self._staging = staging
        self._threads = ThreadPoolExecutor(_BUFFERS)
        self._coming: dict[int, Future[None]] = {}

    def fetch(self, number: int, layer: int) -> None:
        """Have a thread read the layer when its buffer is free."""
        slot = number % _BUFFERS

        def read() -> None:
            self._free[slot].synchronize()
            self._staging[slot].load(self._files[layer], self._buffers[slot])

        self._coming[number] = self._threads.submit(read)

    def image(self, number: int, layer: int) -> Any:  # noqa: ARG002
        """Wait until the layer is there."""
        self._coming.pop(number).result()
        return self._buffers[number % _BUFFERS]

    def close(self) -> None:
        """Close the files."""
        self._threads.shutdown()
        for one in self._files:
            os.close(one)


class Decoder:
    """Layers that decode one token of each sequence in a step."""

    def __init__(self, asked: argparse.Namespace) -> None:
        torch = torch_module()
        self.asked, self.weights = asked, Weights(asked)
        model = self.weights.model
        self.rows = asked.context + max(asked.steps, asked.storage_steps)
        self.row = (2, asked.batch, model.kv_heads, model.head)
        numbers = torch.Generator("cuda").manual_seed(2)

        def random(*shape: int) -> Any:
            made = torch.empty(shape, dtype=torch.bfloat16, device="cuda")
            return made.normal_(generator=numbers)

        self.first = random(asked.batch, model.hidden)
        self.before = [random(asked.context, *self.row) for _ in range(asked.layers)]
        self.images = [*self.weights.made()]
        self.angles = angles(self.rows, model.head)

    @property
    def row_bytes(self) -> int:
        """Bytes that a step adds to the KV cache of one layer."""
        return math.prod(self.row) * _BF16_BYTES

    def facts(self) -> Iterator[str]:
        """Yield lines that say what a step does."""
        asked = self.asked
        yield f"layers: {asked.layers}"
        yield f"batch: {asked.batch}"
        yield f"layer_size: {self.weights.size} B"
        yield f"kv_size: {self.row_bytes * asked.context} B"
        yield f"kernels: {_KERNELS}"
        yield f"piece: {asked.piece} B"
        yield f"threads: {asked.threads}"

    def run(self, mode: str) -> tuple[float, list[int]]:
        """Decode, and return the seconds of a step and checksums of the first steps' outputs."""
        torch = torch_module()
        steps = self.asked.storage_steps if mode == "decode_storage" else self.asked.steps
        with contextlib.ExitStack() as stack:
            weights = self._weights(mode, stack)
            rows = HostCache(self, stack) if mode == "kv_host" else Cache(self)
            if mode == "decode_gpu":
                seconds, outputs = self._replayed(steps, weights, rows)
            else:
                ends = [torch.cuda.Event(enable_timing=True) for _ in range(steps)]
                outputs = []
                for output, end in zip(self._steps(steps, weights, rows), ends, strict=True):
                    end.record()
                    outputs.append(output)
                torch.cuda.synchronize()
                seconds = between(ends[_CHECKED - 1], ends[-1]) / (steps - _CHECKED)
        return seconds, [checksum(torch, one) for one in outputs[:_CHECKED]]

    def _replayed(self, steps: int, weights: Source, rows: "Cache") -> tuple[float, list[Any]]:
        """Decode by a CUDA graph of all steps, as engines do: no kernel waits for Python."""
        torch = torch_module()
        for _ in self._steps(_CHECKED, weights, rows):  # What libraries set up at their first call.
            pass
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            outputs = [*self._steps(steps, weights, rows)]
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        graph.replay()
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        return between(begin, end) / steps, outputs

    def _steps(self, steps: int, weights: Source, rows: "Cache") -> Iterator[Any]:
        """Yield the output of each step when its work is queued."""
        count = self.asked.layers
        hidden = self.first
        weights.fetch(0, 0)
        rows.fetch(0)
        for number in range(steps * count):
            if number + 1 < steps * count:
                weights.fetch(number + 1, (number + 1) % count)
                rows.fetch(number + 1)
            step, layer = divmod(number, count)
            tensors = self.weights.tensors(weights.image(number, layer))
            hidden = self._layer(hidden, tensors, rows.rows(number), step)
            rows.keep(number)
            weights.used(number)
            if layer + 1 == count:
                yield hidden

    def _weights(self, mode: str, stack: contextlib.ExitStack) -> Source:
        asked, size = self.asked, self.weights.size
        if mode == "decode_host":
            memory = [PinnedMemory(size) for _ in self.images]
            for one, image in zip(memory, self.images, strict=True):
                stack.callback(one.close)
                one.tensor[:size].copy_(image)
            return FromHost(memory, size)
        if mode == "decode_storage":
            each = max(1, asked.threads // _BUFFERS)
            staging = [Staging(each, asked.piece) for _ in range(_BUFFERS)]
            for threads in staging:
                stack.callback(threads.close)
            files = [_weights_file(asked.path, layer) for layer in range(asked.layers)]
            source = FromStorage(files, size, staging)
            stack.callback(source.close)
            return source
        return Source(self.images)

    def _layer(self, hidden: Any, weights: dict[str, Any], cache: Any, step: int) -> Any:
        model, batch = self.weights.model, self.asked.batch
        at = self.asked.context + step
        normed = norm(hidden, weights["input_layernorm"])
        heads = (normed @ weights["qkv_proj"].T).view(batch, -1, model.head)
        both = model.heads + model.kv_heads
        turned = turn(heads[:, :both], self.angles[:, at])
        cache[at, 0] = turned[:, model.heads :]
        cache[at, 1] = heads[:, both:]
        # Queries that share a key are rows of one matrix, so that the cache is read once.
        queries = turned[:, : model.heads].reshape(batch, model.kv_heads, -1, model.head)
        keys, values = cache[: at + 1].permute(1, 2, 3, 0, 4)
        attend = torch_module().nn.functional.scaled_dot_product_attention
        mixed = attend(queries, keys, values).reshape(batch, -1)
        hidden = torch_module().addmm(hidden, mixed, weights["o_proj"].T)
        return feed_forward(hidden, weights)


def between(begin: Any, end: Any) -> float:
    """Return the seconds between two events of CUDA."""
    return float(begin.elapsed_time(end)) / 1e3


def norm(hidden: Any, weight: Any) -> Any:
    """Return the root-mean-square norm."""
    return torch_module().nn.functional.rms_norm(hidden, weight.shape, weight, _EPSILON)


def feed_forward(hidden: Any, weights: dict[str, Any]) -> Any:
    """Return a layer's output from what its attention gave."""
    normed = norm(hidden, weights["post_attention_layernorm"])
    gate, up = (normed @ weights["gate_up_proj"].T).chunk(2, -1)
    torch = torch_module()
    return torch.addmm(hidden, torch.nn.functional.silu(gate) * up, weights["down_proj"].T)


def angles(positions: int, head: int) -> Any:
    """Return cosines and sines of the rotary embedding, by position and number of a head. The sines
    of the first half are negative, as it gets the second half's numbers less."""
    torch = torch_module()
    frequencies = _ROPE_BASE ** -(torch.arange(0, head, 2, device="cuda") / head)
    turns = torch.arange(positions, device="cuda")[:, None] * frequencies
    cosines, sines = turns.cos(), turns.sin()
    pairs = torch.cat((cosines, cosines), -1), torch.cat((-sines, sines), -1)
    return torch.stack(pairs).bfloat16()


def turn(heads: Any, by: Any) -> Any:
    """Return heads turned by the angles of their positions."""
    cosines, sines = by
    swapped = heads.roll(heads.shape[-1] // 2, -1)
    return torch_module().addcmul(heads * cosines, swapped, sines)


class Cache:
    """The KV cache of all layers, in the GPU's memory: a row of all sequences for each token."""

    def __init__(self, decoder: Decoder) -> None:
        self.layers, self.context = len(decoder.before), decoder.asked.context
        self.shape, self.row_bytes = (decoder.rows, *decoder.row), decoder.row_bytes
        self.size = decoder.rows * decoder.row_bytes
        self.images = self._filled(decoder.before)

    def fetch(self, number: int) -> None:
        """Begin to bring the rows of earlier steps; ``number`` counts the layers of all steps."""

    def rows(self, number: int) -> Any:
        """Return a layer's rows on the GPU."""
        return self._as_rows(self.images[number % self.layers])

    def keep(self, number: int) -> None:
        """Keep the row that a step has made."""

    def _as_rows(self, image: Any) -> Any:
        return image[: self.size].view(torch_module().bfloat16).view(self.shape)

    def _memory(self) -> Any:
        return torch_module().empty(self.size, dtype=torch_module().uint8, device="cuda")

    def _filled(self, before: Sequence[Any]) -> list[Any]:
        images = [self._memory() for _ in before]
        for image, rows in zip(images, before, strict=True):
            self._as_rows(image)[: self.context] = rows
        return images


class HostCache(Cache):
    """The KV cache in pinned host memory, brought and kept layer by layer."""

    def __init__(self, decoder: Decoder, stack: contextlib.ExitStack) -> None:
        self._pinned: list[PinnedMemory] = []
        super().__init__(decoder)
        for one in self._pinned:
            stack.callback(one.close)
        self._source = FromHost(self._pinned, self.size)
        self._back = torch_module().cuda.Stream()

    def fetch(self, number: int) -> None:
        """Queue the copy of the rows so far, behind the last row's way to the host."""
        step, layer = divmod(number, self.layers)
        self._source.stream.wait_stream(self._back)
        self._source.length = (self.context + step) * self.row_bytes
        self._source.fetch(number, layer)

    def rows(self, number: int) -> Any:
        """Return the layer's buffer."""
        return self._as_rows(self._source.image(number, number % self.layers))

    def keep(self, number: int) -> None:
        """Queue the row's copy to the host. The layer's buffer is free after that."""
        torch = torch_module()
        step, layer = divmod(number, self.layers)
        begin = (self.context + step) * self.row_bytes
        row = slice(begin, begin + self.row_bytes)
        image = self._source.image(number, layer)
        self._back.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._back):
            self._pinned[layer].tensor[row].copy_(image[row], True)
            self._source.used(number)

    def _memory(self) -> Any:
        self._pinned.append(PinnedMemory(self.size))
        return self._pinned[-1].tensor


class Trainer:
    """Layers that are trained by Adam to give random outputs for random inputs."""

    def __init__(self, asked: argparse.Namespace) -> None:
        torch = torch_module()
        self.asked, self.model = asked, MODELS[asked.train_model]
        self.entries = layout(self.model.fused_layer())
        self.piece: int = asked.parameters
        self.one = sum(math.prod(one.shape) for one in self.entries.values())
        self.pieces: int = max(_SLOTS + 1, -(-self.one * asked.train_layers // self.piece))
        numbers = torch.Generator("cuda").manual_seed(3)
        shape = (2, asked.train_tokens, self.model.hidden)
        data = torch.empty(shape, dtype=torch.bfloat16, device="cuda")
        self.inputs, self.targets = data.normal_(generator=numbers)
        flat = torch.empty(self.count, dtype=torch.bfloat16, device="cuda")
        self.begin = flat.normal_(0, self.model.hidden**-0.5, generator=numbers)
        self.weights, self.gradients = torch.empty_like(flat), torch.zeros_like(flat)
        self.layers = [self._tensors(layer) for layer in range(asked.train_layers)]
        self.angles = angles(asked.train_tokens, self.model.head)[:, :, None]

    @property
    def count(self) -> int:
        """Parameters, rounded up to whole pieces."""
        return self.pieces * self.piece

    def facts(self) -> Iterator[str]:
        """Yield lines that say what a step does."""
        yield f"parameters: {self.count}"
        yield f"state_piece: {4 * _STATES * self.piece} B"
        yield f"slots: {_SLOTS}"

    def run(self, mode: str) -> tuple[float, float, list[int]]:
        """Train, and return the seconds of a step and of its passes, and checksums of the weights
        and gradients after the first steps."""
        torch = torch_module()
        steps = self.asked.storage_steps if mode == "train_storage" else self.asked.steps
        self.weights.copy_(self.begin)
        times = [[torch.cuda.Event(enable_timing=True) for _ in range(steps)] for _ in range(2)]
        with contextlib.ExitStack() as stack:
            states = self._states(mode, stack)
            counts = [torch.zeros((), device="cuda") for _ in range(self.pieces)]
            for step in range(steps):
                self._pass()
                times[0][step].record()
                for index in range(self.pieces):
                    number = step * self.pieces + index
                    self._update(index, states.arrive(number), counts[index])
                    states.leave(number)
                times[1][step].record()
                if step + 1 == _CHECKED:
                    after = torch.stack((self.weights, self.gradients))
            torch.cuda.synchronize()
            states.finish()
        passed, updated = times
        timed = range(_CHECKED, steps)
        compute = fmean(between(updated[i - 1], passed[i]) for i in timed)
        seconds = between(updated[_CHECKED - 1], updated[-1]) / len(timed)
        return seconds, compute, [checksum(torch, one) for one in after]

    def _states(self, mode: str, stack: contextlib.ExitStack) -> "States":
        if mode == "train_gpu":
            return States(self)
        states = HostStates(self) if mode == "train_host" else FileStates(self, self.asked)
        stack.callback(states.close)
        return states

    def _tensors(self, layer: int) -> dict[str, Any]:
        at = layer * self.one
        found: dict[str, Any] = {}
        for name, entry in self.entries.items():
            size = math.prod(entry.shape)
            own = self.weights[at : at + size].view(entry.shape).detach().requires_grad_()
            own.grad = self.gradients[at : at + size].view(entry.shape)
            found[name] = own
            at += size
        return found

    def _pass(self) -> None:
        torch = torch_module()
        self.gradients.zero_()
        hidden = self.inputs
        for weights in self.layers:
            hidden = self._layer(hidden, weights)
        torch.nn.functional.mse_loss(hidden, self.targets).backward()

    def _layer(self, hidden: Any, weights: dict[str, Any]) -> Any:
        model, tokens = self.model, self.asked.train_tokens
        normed = norm(hidden, weights["input_layernorm"])
        heads = (normed @ weights["qkv_proj"].T).view(tokens, -1, model.head)
        both = model.heads + model.kv_heads
        turned = turn(heads[:, :both], self.angles)
        queries, keys, values = (
            one.transpose(0, 1)[None]
            for one in (turned[:, : model.heads], turned[:, model.heads :], heads[:, both:])
        )
        attend = torch_module().nn.functional.scaled_dot_product_attention
        mixed = attend(queries, keys, values, is_causal=True, enable_gqa=True)
        mixed = mixed[0].transpose(0, 1).reshape(tokens, -1)
        hidden = torch_module().addmm(hidden, mixed, weights["o_proj"].T)
        return feed_forward(hidden, weights)

    def _update(self, index: int, state: Any, count: Any) -> None:
        part = slice(index * self.piece, (index + 1) * self.piece)
        master, mean, square = state.view(torch_module().float32).view(_STATES, -1)
        import_module("torch.optim.adamw").adamw(
            [master], [self.gradients[part].float()], [mean], [square], [], [count],
            fused=True, amsgrad=False, beta1=0.9, beta2=0.95, lr=1e-4, weight_decay=0.1, eps=1e-8,
            maximize=False,
        )  # fmt: skip
        self.weights[part] = master


class States:
    """Adam's state, piece by piece. This one is in the GPU's memory.

    ``number`` counts the pieces of all steps.
    """

    def __init__(self, trainer: Trainer) -> None:
        self.pieces = trainer.pieces
        self.size = 4 * _STATES * trainer.piece
        self._place(trainer)

    def _place(self, trainer: Trainer) -> None:
        self._all = [self.first(trainer, index) for index in range(self.pieces)]

    def first(self, trainer: Trainer, index: int) -> Any:
        """Return a piece before the first step, as bytes: the weights, and moments of 0."""
        torch = torch_module()
        part = slice(index * trainer.piece, (index + 1) * trainer.piece)
        state = torch.zeros((_STATES, trainer.piece), device="cuda")
        state[0] = trainer.begin[part]
        return state.view(-1).view(torch.uint8)

    def arrive(self, number: int) -> Any:
        """Return a piece, which work that is queued from now on may use."""
        return self._all[number % self.pieces]

    def leave(self, number: int) -> None:
        """Take the piece back after the work that is queued so far."""

    def finish(self) -> None:
        """Wait until all pieces are back."""

    def close(self) -> None:
        """Release what it holds."""


class HostStates(States):
    """Adam's state in pinned host memory, which goes through a few slots on the GPU."""

    def __init__(self, trainer: Trainer) -> None:
        torch = torch_module()
        self._slots = [
            torch.empty(4 * _STATES * trainer.piece, dtype=torch.uint8, device="cuda")
            for _ in range(_SLOTS)
        ]
        self._in, self._out = torch.cuda.Stream(), torch.cuda.Stream()
        self._left = [torch.cuda.Event() for _ in range(_SLOTS)]
        super().__init__(trainer)

    def _place(self, trainer: Trainer) -> None:
        self._memory = [PinnedMemory(self.size) for _ in range(self.pieces)]
        for index, memory in enumerate(self._memory):
            memory.tensor[: self.size].copy_(self.first(trainer, index))

    def arrive(self, number: int) -> Any:
        """Queue the copy behind the one that leaves the slot; the current stream waits for it."""
        torch = torch_module()
        slot = number % _SLOTS
        self._in.wait_event(self._left[slot])
        with torch.cuda.stream(self._in):
            self._slots[slot].copy_(self._host(number)[: self.size], True)
        torch.cuda.current_stream().wait_stream(self._in)
        return self._slots[slot]

    def leave(self, number: int) -> None:
        """Queue the copy back."""
        torch = torch_module()
        slot = number % _SLOTS
        self._out.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._out):
            self._host(number)[: self.size].copy_(self._slots[slot], True)
            self._left[slot].record()

    def close(self) -> None:
        """Release the memory."""
        for one in self._memory:
            one.close()

    def _host(self, number: int) -> Any:
        return self._memory[number % self.pieces].tensor


class FileStates(HostStates):
    """Adam's state in a file, which goes through pinned memory and the slots on the GPU."""

    def __init__(self, trainer: Trainer, asked: argparse.Namespace) -> None:
        self._part: int = asked.piece
        self._path: Path = asked.path / "adam.state"
        self._readers, self._writers = (ThreadPoolExecutor(asked.threads) for _ in range(2))
        self._reading, self._writing = (ThreadPoolExecutor(_AT_ONCE) for _ in range(2))
        self._written: dict[int, Future[None]] = {}
        self._read: dict[int, Future[None]] = {}
        super().__init__(trainer)

    def _place(self, trainer: Trainer) -> None:
        self._memory = [PinnedMemory(self.size) for _ in range(_SLOTS)]
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600)
        for index in range(self.pieces):
            self._host(index)[: self.size].copy_(self.first(trainer, index))
            self._write(index)
        os.fsync(self._file)
        for number in range(_SLOTS):
            self._read_ahead(number)

    def arrive(self, number: int) -> Any:
        """Wait until the piece is in pinned memory, and queue its copy."""
        self._read.pop(number).result()
        return super().arrive(number)

    def leave(self, number: int) -> None:
        """Queue the copy back; a thread writes the piece after it, and another one reads on."""
        super().leave(number)
        self._written[number] = self._writing.submit(self._write, number)
        self._read_ahead(number + _SLOTS)

    def finish(self) -> None:
        """Wait for all writes. What is read ahead is not used."""
        for one in (*self._written.values(), *self._read.values()):
            one.result()

    def close(self) -> None:
        """Remove the file, and release the memory."""
        for one in (self._reading, self._writing, self._readers, self._writers):
            one.shutdown()
        os.close(self._file)
        self._path.unlink()
        super().close()

    def _read_ahead(self, number: int) -> None:
        # The slot has to be free, and what the last step made of the piece has to be in the file.
        earlier = (number - _SLOTS, number - self.pieces)
        before = [self._written[one] for one in earlier if one in self._written]

        def read() -> None:
            for one in before:
                one.result()
            self._share(self._readers, read_whole, number)

        self._read[number] = self._reading.submit(read)

    def _write(self, number: int) -> None:
        self._left[number % _SLOTS].synchronize()
        self._share(self._writers, write_whole, number)

    def _share(self, pool: ThreadPoolExecutor, move: Callable[..., None], number: int) -> None:
        view = self._memory[number % _SLOTS].view
        begin = number % self.pieces * self.size
        parts = range(0, self.size, self._part)

        def one(at: int) -> None:
            count = min(self._part, self.size - at)
            move(self._file, view[at : at + count], begin + at, count)

        for _ in pool.map(one, parts):
            pass

    def _host(self, number: int) -> Any:
        return self._memory[number % _SLOTS].tensor


if __name__ == "__main__":
    main()
