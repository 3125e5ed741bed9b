"""Shapes of the tensors of Llama models, as their configurations on Hugging Face have them."""

from dataclasses import dataclass

Shapes = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class Llama:
    """A decoder with grouped-query attention and gated feed-forward layers."""

    layers: int
    hidden: int
    ffn: int
    heads: int
    kv_heads: int
    head: int
    """Numbers of a head."""
    tied: bool = False
    """The output's matrix is that of the embedding."""
    vocabulary: int = 128256

    def tensors(self) -> Shapes:
        """Return the name and shape of each tensor, in the order of the published files."""
        found: Shapes = {"model.embed_tokens.weight": (self.vocabulary, self.hidden)}
        for layer in range(self.layers):
            found |= {f"model.layers.{layer}.{name}": shape for name, shape in self._layer()}
        found["model.norm.weight"] = (self.hidden,)
        if not self.tied:
            found["lm_head.weight"] = (self.vocabulary, self.hidden)
        return found

    def fused_layer(self) -> Shapes:
        """Return the tensors of one layer, the matrices with the same input joined, as inference
        engines join them."""
        queries, keys = self.heads * self.head, self.kv_heads * self.head
        return {
            "input_layernorm": (self.hidden,),
            "qkv_proj": (queries + 2 * keys, self.hidden),
            "o_proj": (self.hidden, queries),
            "post_attention_layernorm": (self.hidden,),
            "gate_up_proj": (2 * self.ffn, self.hidden),
            "down_proj": (self.hidden, self.ffn),
        }

    def _layer(self) -> list[tuple[str, tuple[int, ...]]]:
        queries, keys = self.heads * self.head, self.kv_heads * self.head
        return [
            ("input_layernorm.weight", (self.hidden,)),
            ("mlp.down_proj.weight", (self.hidden, self.ffn)),
            ("mlp.gate_proj.weight", (self.ffn, self.hidden)),
            ("mlp.up_proj.weight", (self.ffn, self.hidden)),
            ("post_attention_layernorm.weight", (self.hidden,)),
            ("self_attn.k_proj.weight", (keys, self.hidden)),
            ("self_attn.o_proj.weight", (self.hidden, queries)),
            ("self_attn.q_proj.weight", (queries, self.hidden)),
            ("self_attn.v_proj.weight", (keys, self.hidden)),
        ]


MODELS = {
    "llama-3.2-1b": Llama(16, 2048, 8192, 32, 8, 64, tied=True),
    "llama-3.2-3b": Llama(28, 3072, 8192, 24, 8, 128, tied=True),
    "llama-3.1-8b": Llama(32, 4096, 14336, 32, 8, 128),
    "llama-3.1-70b": Llama(80, 8192, 28672, 64, 8, 128),
}
