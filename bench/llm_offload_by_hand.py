"""Decoding of the job llm_offload beside a plain loop: llm_offload_by_hand.py PAIRS.

By hand, each layer is a module whose weights are in pinned memory. Before the layer works, its
weights are moved to the GPU; afterwards they are dropped there. Both sides decode in turn in one
process with the same weights and KV cache, and their outputs are compared. Times are seconds a
step.
"""

import os
import sys

os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"

import torch
from torch.nn.functional import rms_norm, scaled_dot_product_attention, silu

from pairs import alternate
from tierscope.kinds.effect.jobs import llm_offload as job

_STEPS = 8
_UNMEASURED = 2


class Layer(torch.nn.Module):
    """A layer of Llama, for one token of each sequence."""

    def __init__(self, weights: dict[str, torch.Tensor], decoder: job.Decoder) -> None:
        super().__init__()
        for name, tensor in weights.items():
            self.register_buffer(name, tensor.cpu().pin_memory())
        self.model, self.context = decoder.weights.model, decoder.asked.context
        self.angles = decoder.angles

    def decode(self, x: torch.Tensor, cache: torch.Tensor, at: int) -> torch.Tensor:
        """Return the layer's output; the cache gets a row."""
        w = {name: one.to("cuda", non_blocking=True) for name, one in self.named_buffers()}
        model, batch = self.model, len(x)
        y = rms_norm(x, w["input_layernorm"].shape, w["input_layernorm"], 1e-5)
        heads = (y @ w["qkv_proj"].T).view(batch, -1, model.head)
        q, k, v = heads.split((model.heads, model.kv_heads, model.kv_heads), 1)
        cosines, sines = self.angles[:, at]
        q, k = (torch.addcmul(one * cosines, _swapped(one), sines) for one in (q, k))
        cache[at, 0], cache[at, 1] = k, v
        keys, values = cache[: at + 1].permute(1, 2, 3, 0, 4)
        q = q.reshape(batch, model.kv_heads, -1, model.head)
        y = scaled_dot_product_attention(q, keys, values).reshape(batch, -1)
        x = torch.addmm(x, y, w["o_proj"].T)
        norm = w["post_attention_layernorm"]
        gate, up = (rms_norm(x, norm.shape, norm, 1e-5) @ w["gate_up_proj"].T).chunk(2, -1)
        return torch.addmm(x, silu(gate) * up, w["down_proj"].T)


def _swapped(heads: torch.Tensor) -> torch.Tensor:
    low, high = heads.chunk(2, -1)
    return torch.cat((high, low), -1)  # the sines have the sign


def main(pairs: int) -> None:
    """Compare, and end with status 1 where outputs differ."""
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    sys.argv[1:] = ["run", ".", "--steps", str(_STEPS)]
    decoder = job.Decoder(job._arguments())
    layers = [Layer(decoder.weights.tensors(image), decoder) for image in decoder.images]
    sums: dict[str, list[int]] = {}

    def ours() -> float:
        seconds, sums["ours"] = decoder.run("decode_host")
        return seconds

    def theirs() -> float:
        cache = job.Cache(decoder)
        ends = [torch.cuda.Event(enable_timing=True) for _ in range(_STEPS)]
        x, outputs = decoder.first, []
        for step in range(_STEPS):
            for number, layer in enumerate(layers):
                x = layer.decode(x, cache.rows(number), decoder.asked.context + step)
            ends[step].record()
            outputs.append(x)
        torch.cuda.synchronize()
        sums["theirs"] = [job.checksum(torch, one) for one in outputs[:_UNMEASURED]]
        return job.between(ends[_UNMEASURED - 1], ends[-1]) / (_STEPS - _UNMEASURED)

    print(alternate("decode_host", "s", pairs, ours, theirs))
    if sums["ours"] != sums["theirs"]:
        sys.exit("the outputs differ")
    print("outputs: equal")


if __name__ == "__main__":
    main(int(sys.argv[1]))
