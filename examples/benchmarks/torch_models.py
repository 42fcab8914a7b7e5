"""The contestants in training that run on PyTorch, as one writes them with `torch.nn`.

Batches are padded to their longest sentence, in float32, or with the products in bfloat16 by
`torch.autocast`; on a GPU where PyTorch has one. The loss and the two metrics are those of the
other contestants.
"""

import math
from contextlib import nullcontext

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from examples.benchmarks import batches as on_batches
from examples.benchmarks import machine
from examples.benchmarks.batches import DROPOUT, LABEL_SMOOTHING, LEARNING_RATE
from keras_attention.cli.heap import keep_freed_memory
from keras_attention.cores import count_of_cores


class RNN(nn.Module):
    """The RNN with attention; the encoder's batches are packed, so that it skips padding."""

    def __init__(self, vocabulary, units):
        super().__init__()
        self.units = units
        self.context_embedding = nn.Embedding(vocabulary, units)
        self.context_rnn = nn.GRU(units, units, batch_first=True, bidirectional=True)
        self.target_embedding = nn.Embedding(vocabulary, units)
        self.target_rnn = nn.GRU(units, units, batch_first=True)
        self.attention = nn.MultiheadAttention(units, 1, batch_first=True)
        self.norm = nn.LayerNorm(units)
        self.logits = nn.Linear(units, vocabulary)

    def forward(self, context, target):
        """Ids (B, S) and (B, T) → logits (B, T, V)."""
        padding = context == 0
        packed = pack_padded_sequence(
            self.context_embedding(context),
            (~padding).sum(1).cpu(),  # where PyTorch wants lengths
            batch_first=True,
            enforce_sorted=False,
        )
        memory, _ = pad_packed_sequence(self.context_rnn(packed)[0], batch_first=True)
        memory = memory[..., : self.units] + memory[..., self.units :]
        x, _ = self.target_rnn(self.target_embedding(target))
        read, _ = self.attention(x, memory, memory, key_padding_mask=padding, need_weights=False)
        return self.logits(self.norm(x + read))


class Transformer(nn.Module):
    """`nn.Transformer` between embeddings with sinusoids and logits tied to the target's."""

    def __init__(
        self, vocabulary, units, num_layers, num_heads, feed_forward_dim, most=1024, **options
    ):
        super().__init__()
        self.context_embedding = nn.Embedding(vocabulary, units)
        self.target_embedding = nn.Embedding(vocabulary, units)
        for embedding in (self.context_embedding, self.target_embedding):
            nn.init.normal_(embedding.weight, std=units**-0.5)
        self.dropout = nn.Dropout(DROPOUT)
        self.transformer = nn.Transformer(
            units,
            num_heads,
            num_layers,
            num_layers,
            feed_forward_dim,
            DROPOUT,
            batch_first=True,
            **options,
        )
        # nn.Transformer ends each half with a norm, which post-norm has no use for
        self.transformer.encoder.norm = self.transformer.decoder.norm = None
        angles = torch.arange(most)[:, None] / 10_000 ** (torch.arange(0, units, 2) / units)
        self.register_buffer("positions", torch.cat([angles.sin(), angles.cos()], dim=1))

    def place(self, embedding, ids):
        """Scale embedded tokens, add their positions, drop some."""
        scaled = embedding(ids) * math.sqrt(embedding.embedding_dim)
        return self.dropout(scaled + self.positions[: ids.shape[1]])

    def forward(self, context, target):
        """Ids (B, S) and (B, T) → logits (B, T, V)."""
        length = target.shape[1]
        ignored = torch.zeros(context.shape, device=context.device)
        ignored = ignored.masked_fill(context == 0, -torch.inf)
        x = self.transformer(
            self.place(self.context_embedding, context),
            self.place(self.target_embedding, target),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(length, context.device),
            src_key_padding_mask=ignored,
            memory_key_padding_mask=ignored,
            tgt_is_causal=True,
        )
        return nn.functional.linear(x, self.target_embedding.weight)


def losses_of(logits, labels, smoothing):
    """Return the mean cross-entropy over the tokens, with smoothed labels and without.

    Both are of one softmax, (N, V) and (N,); what has label 0 is no token.
    """
    logs = nn.functional.log_softmax(logits, dim=-1)
    plain = nn.functional.nll_loss(logs, labels, ignore_index=0)
    if not smoothing:
        return plain, plain
    seen = labels != 0
    uniform = -(logs.mean(-1) * seen).sum() / seen.sum()
    return (1 - smoothing) * plain + smoothing * uniform, plain


class PyTorch:
    """A model, Adam, and the batches of each condition.

    Args:
        kind: of the model.
        sizes: of the model.
        pool: context and target ids.
        conditions: `Condition`s by name.
        bfloat16: whether products are computed in bfloat16.
        compiled: whether `torch.compile` compiles the forward pass, the loss, the metrics and their
            gradients.
    """

    def __init__(self, kind, sizes, pool, conditions, bfloat16=False, compiled=False):
        keep_freed_memory()  # as all contestants do
        torch.set_num_threads(count_of_cores())
        torch.set_float32_matmul_precision("high")  # on a GPU TF32, which JAX has by default
        torch.manual_seed(0)
        self.kind, self.sizes = kind, sizes
        self.pool, self.conditions = pool, conditions
        self.model = {"rnn": RNN, "transformer": Transformer}[kind](**sizes)
        self.on = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model.to(self.on)
        # Fused, a step over the RNN's 5 million weights takes a fifth of the time on a CPU
        self.optimizer = torch.optim.Adam(self.model.parameters(), LEARNING_RATE, fused=True)
        autocast = torch.autocast(self.on.type, dtype=torch.bfloat16)
        self.precision = autocast if bfloat16 else nullcontext()
        self.forward = torch.compile(self._forward) if compiled else self._forward

    def device(self):
        """Return the name of the device that it computes on."""
        return torch.cuda.get_device_name() if self.on.type == "cuda" else "cpu"

    def train(self, name):
        """Train on the batches of a condition, and return the mean loss, smoothed if it is."""
        losses, hits, total, tokens = 0.0, 0, 0.0, 0
        for batch in self._batches(name):
            context, target, labels = (torch.from_numpy(each).to(self.on).long() for each in batch)
            self.optimizer.zero_grad()
            loss, plain, right, count = self.forward(context, target, labels)
            loss.backward()
            self.optimizer.step()
            with torch.no_grad():  # the two metrics
                hits += right
                total += plain * count
                tokens += count
                losses += loss
        # Asked for only now, and waited for: a GPU works on while Python makes the next batch
        return (losses / self.conditions[name].steps).item()

    def _batches(self, name):
        """Yield the batches of a condition, padded to their longest."""
        for rows in on_batches.rows_of_a_turn(*self.pool, self.conditions[name]):
            yield on_batches.padded_to_longest(*self.pool, rows)

    def _forward(self, context, target, labels):
        """Return the loss, and for the metrics the loss without smoothing, hits and tokens."""
        with self.precision:
            logits = self.model(context, target)
        logits, labels = logits.float().flatten(0, 1), labels.flatten()
        loss, plain = losses_of(logits, labels, LABEL_SMOOTHING[self.kind])
        seen = labels != 0
        hits = ((logits.detach().argmax(-1) == labels) & seen).sum()
        return loss, plain.detach(), hits, seen.sum()

    def count(self, name):
        """Count what the batches of a condition hold, and the parameters of the model."""
        pairs = ((context, labels) for context, _, labels in self._batches(name))
        counts = on_batches.counted(pairs, self.kind, self.sizes)
        parameters = sum(weights.numel() for weights in self.model.parameters())
        return {**counts, "parameters": parameters}

    def multiply(self, dtype="float32"):
        """Return the fastest matrix product of PyTorch, operations a second."""

        def multiply(a, b, count):
            products = [torch.matmul(a, b) for _ in range(count)]
            products[-1][0, 0].item()  # waits for the product

        def prepare(array):
            return torch.from_numpy(array).to(self.on, getattr(torch, dtype))

        return machine.multiply_rate(multiply, prepare, self.device())
