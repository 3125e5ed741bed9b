"""Sizes of language models' caches: those of known models, and of a model's own config.json."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from tierscope.model.errors import UserError, did_you_mean
from tierscope.plans.yaml_file import Place, compose, read_text, scalar

LAYERS, HEADS, HEAD_SIZE = "num_hidden_layers", "num_key_value_heads", "head_dim"
QUERY_HEADS, HIDDEN = "num_attention_heads", "hidden_size"
RANK, ROTARY = "kv_lora_rank", "qk_rope_head_dim"
_NUMBERS = (LAYERS, HEADS, HEAD_SIZE, QUERY_HEADS, HIDDEN, RANK, ROTARY)
_NESTED = "text_config"
"""Where files of models that see pictures have the language model's numbers."""
_MOST = 1 << 20
DTYPE_BYTES = {"fp16": 2, "bf16": 2, "fp8": 1, "fp32": 4}
"""Bytes of a number of the cache, by its type."""


@dataclass(frozen=True)
class KvModel:
    """What a model keeps of each token."""

    name: str
    layers: int
    numbers: int
    """Numbers that a layer keeps of a token as one: its keys, or its values; or the latent vector
    that stands for both."""
    sides: int = 2
    """Keys and values; 1: one latent vector."""

    def piece_bytes(self, block_tokens: int, number_bytes: int) -> int:
        """Bytes of one layer's keys or values of a block of tokens."""
        return self.numbers * block_tokens * number_bytes

    @property
    def pieces_of_block(self) -> int:
        """Pieces of a block of tokens over all layers."""
        return self.layers * self.sides

    def token_bytes(self, number_bytes: int) -> int:
        """Bytes of a token over all layers."""
        return self.piece_bytes(1, number_bytes) * self.pieces_of_block


def known_models() -> dict[str, KvModel]:
    """Return the models known by name."""
    text = files("tierscope.suites").joinpath("kv_models.json").read_text(encoding="utf-8")
    return {name: _model(name, numbers) for name, numbers in json.loads(text).items()}


def model_of(word: str) -> KvModel:
    """Return the model of a name or of a file; raises UserError."""
    known = known_models()
    if word in known:
        return known[word]
    if not Path(word).exists():
        raise UserError(
            f"'{word}' is neither a file nor a model known here{did_you_mean(word, tuple(known))}; "
            f"known: {', '.join(known)}; or name the model's config.json"
        )
    return parse_model(read_text(Path(word), "model's configuration"), word)


def parse_model(text: str, path: str) -> KvModel:
    """Return the model of the text of a config.json as Hugging Face has it (YAML, too)."""
    from yaml import MappingNode

    place, root = Place(path), compose(text, path)
    if not isinstance(root, MappingNode):
        line = 1 if root is None else root.start_mark.line + 1
        raise UserError(f"{path}:{line}: has to be a mapping with the keys of a config.json: "
                        f"{LAYERS}, {HEADS}, {HEAD_SIZE}, or {RANK} and {ROTARY}")  # fmt: skip
    nodes = _nodes(place, root)
    nested = nodes.get(_NESTED)
    if LAYERS not in nodes and isinstance(nested, MappingNode):
        nodes = _nodes(place, nested)
    numbers = {
        key: _number(place, nodes[key], key)
        for key in _NUMBERS
        if key in nodes and not _is_null(nodes[key])
    }
    missing = _missing(numbers)
    if missing:
        raise UserError(f"{path}:1: no key '{missing}', which a cache's size depends on; add it")
    return _model(Path(path).parent.name or path, numbers)


def _nodes(place: Place, node: Any) -> dict[str, Any]:
    """Return a mapping's nodes by key, whatever keys there are; the last of a key counts, as in
    JSON."""
    return {scalar(place, key, "key"): value for key, value in node.value}


def _is_null(node: Any) -> bool:
    return getattr(node, "value", None) in ("null", "~", "") and not getattr(node, "style", None)


def _number(place: Place, node: Any, key: str) -> int:
    text = scalar(place, node, key)
    if not (text.isascii() and text.isdecimal()) or not int(text[:8]) >= 1 or int(text) > _MOST:
        raise place.error(node, f"key '{key}': '{text}' is not a whole number from 1 to {_MOST}")
    return int(text)


def _missing(numbers: Mapping[str, int]) -> str:
    """Return a key that is needed and not there; empty where none is."""
    needed = [LAYERS]
    if RANK in numbers:
        needed += [ROTARY]
    else:
        needed += [] if HEADS in numbers else [QUERY_HEADS]
        needed += [] if HEAD_SIZE in numbers else [HIDDEN, QUERY_HEADS]
    return next((key for key in needed if key not in numbers), "")


def _model(name: str, numbers: Mapping[str, int]) -> KvModel:
    layers = numbers[LAYERS]
    if RANK in numbers:
        return KvModel(name, layers, numbers[RANK] + numbers[ROTARY], sides=1)
    heads = numbers.get(HEADS) or numbers[QUERY_HEADS]
    size = numbers.get(HEAD_SIZE) or max(1, numbers[HIDDEN] // numbers[QUERY_HEADS])
    return KvModel(name, layers, heads * size)
