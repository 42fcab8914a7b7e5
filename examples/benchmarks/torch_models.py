"""The contestants in training that run on PyTorch, as one writes them with `torch.nn`.

Batches are padded to their longest sentence, in float32, or with the products in bfloat16 by
`torch.autocast`. The loss and the two metrics are those of the other contestants.
"""

import math
import os
from contextlib import nullcontext

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from examples.benchmarks import batches as on_batches
from examples.benchmarks import machine

LEARNING_RATE, DROPOUT = 5e-4, 0.1  # as in keras_models, which would load Keras
LABEL_SMOOTHING = {"rnn": 0.0, "transformer": 0.1}


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
            (~padding).sum(1),
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
        self, vocabulary, units, num_layers, num_heads, feed_forward, most=1024, **options
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
            feed_forward,
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
        padding = context == 0
        x = self.transformer(
            self.place(self.context_embedding, context),
            self.place(self.target_embedding, target),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(length),
            src_key_padding_mask=torch.zeros(padding.shape).masked_fill(padding, -torch.inf),
            memory_key_padding_mask=torch.zeros(padding.shape).masked_fill(padding, -torch.inf),
            tgt_is_causal=True,
        )
        return nn.functional.linear(x, self.target_embedding.weight)


class PyTorch:
    """A model, Adam, and the batches of each condition."""

    def __init__(self, kind, sizes, pool, conditions, bfloat16=False):
        torch.set_num_threads(os.cpu_count())
        torch.manual_seed(0)
        self.kind, self.sizes = kind, sizes
        self.pool, self.conditions = pool, conditions
        self.model = {"rnn": RNN, "transformer": Transformer}[kind](**sizes)
        self.optimizer = torch.optim.Adam(self.model.parameters(), LEARNING_RATE)
        self.loss_of = nn.CrossEntropyLoss(ignore_index=0, label_smoothing=LABEL_SMOOTHING[kind])
        self.plain_loss_of = nn.CrossEntropyLoss(ignore_index=0)
        self.precision = torch.autocast("cpu", dtype=torch.bfloat16) if bfloat16 else nullcontext()

    def train(self, name):
        """Train on the batches of a condition, and return the mean loss, smoothed if it is."""
        losses, hits, total, tokens = [], 0, 0.0, 0
        for batch in on_batches.as_they_come(*self.pool, self.conditions[name]):
            context, target, labels = (torch.from_numpy(each).long() for each in batch)
            with self.precision:
                logits = self.model(context, target)
            logits, labels = logits.float().flatten(0, 1), labels.flatten()
            loss = self.loss_of(logits, labels)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            with torch.no_grad():  # the two metrics
                seen = labels != 0
                hits += ((logits.argmax(-1) == labels) & seen).sum().item()
                plain = loss if self.kind == "rnn" else self.plain_loss_of(logits, labels)
                total += plain.item() * seen.sum().item()
                tokens += seen.sum().item()
            losses.append(loss.item())
        return sum(losses) / len(losses)

    def count(self, name):
        """Count what the batches of a condition hold, and the parameters of the model."""
        elements = on_batches.as_they_come(*self.pool, self.conditions[name])
        pairs = ((context, labels) for context, _, labels in elements)
        counts = on_batches.counted(pairs, self.kind, self.sizes)
        parameters = sum(weights.numel() for weights in self.model.parameters())
        return {**counts, "parameters": parameters}

    def multiply(self):
        """Return the fastest float32 matrix product of PyTorch, operations a second."""
        return machine.multiply_rate(
            lambda a, b: torch.matmul(torch.from_numpy(a), torch.from_numpy(b))
        )
