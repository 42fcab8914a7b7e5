"""Batches of sentences of about equal length, as `tf.data` for `fit`."""

import itertools

import numpy as np

from keras_attention.corpora.shapes import LONGEST, MOST_SHAPES, first_that_holds, fit_shapes
from keras_attention.text import START, shortened

ROWS = 16  # of a constant number of tokens: batches can be cut for so many devices


class Batches:
    """Batches of sentences of about equal length, in few static shapes, as `tf.data` for `fit`.

    Each pair goes to the first shape (S, T) that holds both its sentences, and each batch has one
    shape, so that XLA compiles one program a shape and little is padded.

    An element is `({"context": (B, S), "target": (B, T)}, labels (B, T))`, int32: the target begins
    with `[START]`, the labels end with `[END]`, and 0 is padding. The length of a `Batches` is the
    number of batches in which each pair comes once.

    Args:
        context_ids: (N, S), each row `[START]`, words, `[END]`, then 0.
        target_ids: (N, T), likewise.
        batch_size: sentences a batch, B; a last batch of a shape is filled up with empty targets.
        batch_tokens: a constant number of tokens in place of sentences: B is the largest multiple
            of 16 with at most so many tokens, padding included, on the longer side; at least 16.
        shapes: pairs (S, T), growing in both; or a number of them, at most, for `fit_shapes` to
            find. None: one, and one more for every 16 batches, up to 8, so that a program that is
            compiled is worth it even if each batch comes but once.

    Attributes:
        shapes: those pairs (S, T).
        left_out: number of pairs that `of_pairs` left out.

    Raises:
        ValueError: a sentence has more than 64 tokens or than the largest shape, the two arrays
            differ in length or are empty, or there are fewer than 16 tokens a batch.
    """

    def __init__(self, context_ids, target_ids, batch_size=64, *, batch_tokens=None, shapes=None):
        if len(context_ids) != len(target_ids) or len(context_ids) == 0:
            raise ValueError(
                "context_ids and target_ids must hold the same number of sentences, at least one, "
                f"got {len(context_ids)} and {len(target_ids)}"
            )
        if batch_tokens is not None and batch_tokens < ROWS:
            raise ValueError(f"batch_tokens must be at least {ROWS}, got {batch_tokens}")
        self.context_ids, self.target_ids = context_ids, target_ids
        self.batch_size, self.batch_tokens = batch_size, batch_tokens
        self.left_out = 0
        lengths = _lengths(context_ids, target_ids)
        if shapes is None:
            if batch_tokens is None:
                batches = len(context_ids) // batch_size
            else:
                batches = int(np.maximum(*lengths).sum()) // batch_tokens
            shapes = min(1 + batches // 16, MOST_SHAPES)
        self.shapes = fit_shapes(*lengths, shapes) if isinstance(shapes, int) else list(shapes)
        sides = list(zip(*self.shapes, strict=True))
        if not sides or any(list(side) != sorted(side) for side in sides):
            raise ValueError(f"shapes must be pairs (S, T) that grow in both, got {self.shapes}")
        if np.any(np.max(lengths, axis=1) > self.shapes[-1]):
            raise ValueError(
                f"the largest shape is {self.shapes[-1]}, got sentences of up to "
                f"{tuple(map(int, np.max(lengths, axis=1)))} tokens"
            )
        places = first_that_holds(self.shapes, *lengths)
        self._rows = {self.shapes[p]: np.flatnonzero(places == p) for p in np.unique(places)}

    def rows(self, shape):
        """Return the number of sentences in a batch of a shape, B."""
        if self.batch_tokens is None:
            return self.batch_size
        return max(self.batch_tokens // max(shape) // ROWS, 1) * ROWS

    @classmethod
    def of_pairs(
        cls,
        pairs,
        context_vocabulary,
        target_vocabulary,
        batch_size=64,
        *,
        batch_tokens=None,
        shapes=None,
        leave_out_long=False,
    ):
        """Look up the ids of sentence pairs and batch them.

        Args:
            pairs: pairs with `context` and `target`.
            context_vocabulary: `keras_attention.text.Vocabulary` or `WordPieces` of the context
                sentences.
            target_vocabulary: that of the target sentences.
            batch_size: sentences a batch.
            batch_tokens: tokens a batch, in place of sentences.
            shapes: to which sentences are padded, or how many.
            leave_out_long: whether pairs with a sentence of more than 64 tokens are left out, and
                counted in `left_out`.

        Raises:
            ValueError: a sentence has more than 64 tokens; the message quotes it.
        """
        context_ids = context_vocabulary.ids(pair.context for pair in pairs)
        target_ids = target_vocabulary.ids(pair.target for pair in pairs)
        longest = np.maximum(*_lengths(context_ids, target_ids))
        fits = longest <= LONGEST
        if len(pairs) and not (fits.any() if leave_out_long else fits.all()):
            row = longest.argmax()
            is_context = (context_ids[row] != 0).sum() == longest[row]
            raise ValueError(
                f"a sentence has at most {LONGEST} tokens, got {longest[row]} in "
                f"{shortened(pairs[row][0 if is_context else 1])}"
            )
        batches = cls(
            context_ids[fits],
            target_ids[fits],
            batch_size,
            batch_tokens=batch_tokens,
            shapes=shapes,
        )
        batches.left_out = int((~fits).sum())
        return batches

    def __len__(self):
        return sum(-(-len(rows) // self.rows(shape)) for shape, rows in self._rows.items())

    def in_order(self, part=(0, 1)):
        """Return a `tf.data.Dataset` of each pair once, from short to long, for evaluation.

        Args:
            part: (i, n): only the i-th of n equal parts of each batch, counted from 0.

        Raises:
            ValueError: batches have no n equal parts.
        """
        import tensorflow as tf

        dataset = self._dataset(self._plan, part)
        return dataset.apply(tf.data.experimental.assert_cardinality(len(self)))

    def shuffled(self, seed=0, start=0, part=(0, 1)):
        """Return an endless `tf.data.Dataset`, reshuffled at every pass, for training.

        Args:
            seed: of the order, which hangs on nothing else: the same on every machine.
            start: number of the batch with which to begin, so that a run can go on where it was.
            part: (i, n): only the i-th of n equal parts of each batch, counted from 0. The n parts
                have the same length at every step, and together they are the batch.

        Raises:
            ValueError: batches have no n equal parts.
        """

        def plan_of_all_passes():
            number, skipped = divmod(start, len(self))
            for pass_number in itertools.count(number):
                plan = self._plan(np.random.default_rng((seed, pass_number)))
                yield from plan[skipped if pass_number == number else 0 :]

        return self._dataset(plan_of_all_passes, part)

    def _plan(self, rng=None):
        """List (shape, rows) of every batch of a pass, shuffled by `rng` if there is one."""
        plan = []
        for shape, rows in self._rows.items():
            rows = rng.permutation(rows) if rng else rows
            size = self.rows(shape)
            plan += [(shape, rows[start : start + size]) for start in range(0, len(rows), size)]
        return [plan[i] for i in rng.permutation(len(plan))] if rng else plan

    def _batch(self, shape, rows, size):
        context = _take(self.context_ids, rows, size, shape[0])
        target = _take(self.target_ids, rows, size, shape[1] + 1)
        context[len(rows) :, 0] = START  # no label, so no loss; yet a token, for every RNN kernel
        labels = target[:, 1:]
        return {"context": context, "target": target[:, :-1] * (labels != 0)}, labels

    def _dataset(self, plan, part):
        import tensorflow as tf

        number, parts = part
        sizes = {self.rows(shape) for shape in self._rows}
        if not 0 <= number < parts or any(size % parts for size in sizes):
            raise ValueError(
                f"part must be (i, n) with i below n and n a divisor of the batch size, got {part} "
                f"of {', '.join(map(str, sorted(sizes)))}"
            )

        def batches():
            for shape, rows in plan():
                size = self.rows(shape) // parts
                yield self._batch(shape, rows[number * size : (number + 1) * size], size)

        size = self.batch_size // parts if self.batch_tokens is None else None
        ids = tf.TensorSpec((size, None), tf.int32)
        signature = ({"context": ids, "target": ids}, ids)
        dataset = tf.data.Dataset.from_generator(batches, output_signature=signature).prefetch(4)
        # There is nothing to tune, and the thread that would do so holds up the end of an iterator
        # until its next turn, which comes at doubling intervals of up to a minute.
        options = tf.data.Options()
        options.autotune.enabled = False
        return dataset.with_options(options)


def _take(ids, rows, size, length):
    """Return some rows as (size, length), cut or filled up with padding."""
    batch = np.zeros((size, length), dtype="int32")
    taken = ids[rows, :length]
    batch[: len(rows), : taken.shape[1]] = taken
    return batch


def _lengths(context_ids, target_ids):
    """Return how many tokens the sentences of each pair have in a batch, (N,) and (N,)."""
    # The target loses one token to the shift: its input has no [END], its labels no [START].
    return (context_ids != 0).sum(axis=1), (target_ids != 0).sum(axis=1) - 1
