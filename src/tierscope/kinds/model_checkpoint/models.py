"""Bytes of a model's checkpoint, by rank and file, from its architecture and parallelism."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("models.yaml")
SUBSET = 8
"""Ranks of MLPerf's subset mode, which writes what the first ranks of a whole job write."""
_WEIGHT_BYTES, _OPTIMIZER_BYTES = 2, 4
_STATES = 3
"""Of the optimizer for each parameter: its fp32 copy and two moments."""
_SHARDED = 3
"""ZeRO stage from which on weights are sharded over data-parallel ranks, too."""


@dataclass(frozen=True)
class Model:
    """A transformer with gated feed-forward layers, and how a job splits it."""

    layers: int
    hidden: int
    ffn: int
    heads: int
    kv_heads: int
    vocabulary: int
    tensor: int
    pipeline: int
    zero: int
    ranks: int
    """Of the whole job."""

    @property
    def copies(self) -> int:
        """Data-parallel ranks."""
        return self.ranks // (self.tensor * self.pipeline)

    @property
    def parameters(self) -> int:
        """Parameters of the whole model."""
        return self._transformer() * self.layers + 2 * self.hidden * self.vocabulary + self.hidden

    def rank_files(self, rank: int) -> list[int]:
        """Return the bytes of each file that a rank writes, in their order: weights, optimizer.

        Pipelined weights have a file for each layer. With ZeRO below stage 3 only the first of the
        data-parallel ranks writes weights.
        """
        split = self.tensor * self.pipeline
        files: list[int] = []
        if self.zero >= _SHARDED or rank < split:
            layers = [self._layer(index) for index in self._layers_of(rank)]
            files = layers if self.pipeline > 1 else [sum(layers)]
        each = self.parameters // (self.copies * split)
        return [*files, _STATES * (each + 5 * self.hidden) * _OPTIMIZER_BYTES]

    def _layers_of(self, rank: int) -> range:
        """Return the layers of a rank's stage. 0 is the embedding, ``layers`` + 1 the head, + 2 the
        last norm."""
        stage = rank // self.tensor % self.pipeline
        each, more = divmod(self.layers, self.pipeline)
        first = 1 + stage * each + min(stage, more)
        last = first + each + (stage < more)
        return range(
            0 if stage == 0 else first,
            self.layers + 3 if stage == self.pipeline - 1 else last,
        )

    def _layer(self, index: int) -> int:
        """Return the bytes of a layer's weights on one rank."""
        shards = self.copies if self.zero >= _SHARDED else 1
        if index in (0, self.layers + 1):
            tensors = [self.hidden * self.vocabulary // self.tensor]
        elif index == self.layers + 2:
            tensors = [self.hidden]
        else:
            norm, *matrices = self._matrices()
            tensors = [norm, norm, *(one // self.tensor for one in matrices)]
        return sum(one // shards for one in tensors) * _WEIGHT_BYTES

    def _matrices(self) -> list[int]:
        """Return the parameters of a layer's norm and matrices: QKV, output, feed-forward."""
        kv = self.hidden // self.heads * self.kv_heads
        return [
            self.hidden,
            self.hidden * (self.hidden + 2 * kv),
            self.hidden * self.hidden,
            2 * self.hidden * self.ffn,
            self.hidden * self.ffn,
        ]

    def _transformer(self) -> int:
        norm, *matrices = self._matrices()
        return 2 * norm + sum(matrices)


@cache
def models() -> dict[str, Model]:
    """Return the models by name."""
    import yaml

    found = yaml.safe_load(_FILE.read_text())
    return {name: Model(**values) for name, values in found.items()}
