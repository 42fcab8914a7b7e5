"""Batches of sentences of about equal length."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import compress
from typing import Any

import keras
import numpy as np

from keras_attention.corpora import plans
from keras_attention.corpora.joining import join_pairs
from keras_attention.corpora.shapes import LONGEST, MOST_SHAPES, fit_shapes
from keras_attention.text import START, Tokens, shortened

ROWS = 16  # with `batch_tokens`, B is a multiple of this, so that devices can divide a batch


class Batches:
    """Batches of sentences of about equal length, for `fit`.

    Each pair goes to the first shape (S, T) that holds both its sentences, and each batch has one
    of these few shapes. So XLA compiles one program for each, and there is little padding. Where
    nothing is compiled, there may be as many shapes as pad least: see `most_shapes`.

    A batch is `({"context": (B, S), "target": (B, T)}, labels (B, T))`, int32: the target begins
    with `[START]`, the labels end with `[END]`, and 0 is padding. The length of a `Batches` is the
    number of batches that hold each pair once.

    Args:
        context_ids: (N, S), each row `[START]`, words, `[END]`, then 0.
        target_ids: (N, T), likewise.
        batch_size: sentences in a batch, B. The last batch of a shape is filled up with empty
            targets.
        batch_tokens: a constant number of tokens, instead of sentences: B is the largest multiple
            of 16, and at least 16, for which the longer side has no more tokens than this, padding
            included.
        joined: fraction of the pairs that `shuffled` joins to another one, anew in every pass; see
            `keras_attention.corpora.join_pairs`.
        shapes: pairs (S, T) that grow in both; or the largest number of them that `fit_shapes` may
            find. None: the square root of the number of batches, at most `most_shapes`: more
            shapes pad less, but each has a last batch that is not full.
        most_shapes: the largest number of shapes where `shapes` is None; or None for no limit: then
            B sentences that follow one another in the order of their lengths share a batch, which
            is as long as the longest of them, and hardly a token is padding.

    Attributes:
        shapes: the pairs (S, T), from short to long; without a limit, those of one pass.
        plan: which pairs share a batch, a `Plan`.
        left_out: number of pairs that `of_pairs` left out.

    Raises:
        ValueError: a sentence has more tokens than the largest shape, or more than 64 where
            `fit_shapes` finds the shapes; the two arrays differ in length or are empty;
            `batch_size` is below 1; or `batch_tokens` is below 16.
    """

    def __init__(
        self,
        context_ids: np.ndarray,
        target_ids: np.ndarray,
        batch_size: int = 64,
        *,
        batch_tokens: int | None = None,
        joined: float = 0.0,
        shapes: int | Iterable[tuple[int, int]] | None = None,
        most_shapes: int | None = MOST_SHAPES,
    ):
        if len(context_ids) != len(target_ids) or len(context_ids) == 0:
            raise ValueError(
                "context_ids and target_ids must hold the same number of sentences, at least one, "
                f"got {len(context_ids)} and {len(target_ids)}"
            )
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        if batch_tokens is not None and batch_tokens < ROWS:
            raise ValueError(f"batch_tokens must be at least {ROWS}, got {batch_tokens}")
        if not 0 <= joined <= 1:
            raise ValueError(f"joined must be at least 0 and at most 1, got {joined}")
        self.context_ids, self.target_ids = context_ids, target_ids
        self.batch_size, self.batch_tokens, self.joined = batch_size, batch_tokens, joined
        self.left_out = 0
        lengths = np.stack(_lengths(context_ids, target_ids), axis=1)
        self._few = None  # the shapes of every batch; None: batches are as long as they must be
        if shapes is not None or most_shapes is not None:
            self._few = self._few_shapes(lengths, shapes, most_shapes)
        if self._few is None:
            self.plan = plans.by_length(lengths, self.rows)
        else:
            self.plan = plans.in_shapes(lengths, self._few, self.rows)
        one_pass = self._of_a_pass(np.random.default_rng(0))
        self._batches_of_pass = len(one_pass)
        self.shapes = self._few or list(dict.fromkeys(shape for shape, *_ in one_pass.plan.cuts))

    def _few_shapes(self, lengths, shapes, most_shapes):
        """Return the shapes that are given, or those that pad least; check that they hold all."""
        if shapes is None:
            shapes = min(max(math.isqrt(self._full_batches(lengths)), 1), most_shapes)
        if isinstance(shapes, int):
            ids = self._ids_of_a_pass(np.random.default_rng(0))
            shapes = fit_shapes(*_lengths(*ids), shapes)
        shapes = list(shapes)
        sides = list(zip(*shapes, strict=True))
        if not sides or any(list(side) != sorted(side) for side in sides):
            raise ValueError(f"shapes must be pairs (S, T) that grow in both, got {shapes}")
        longest = lengths.max(axis=0)
        if np.any(longest > shapes[-1]):
            raise ValueError(
                f"the largest shape is {shapes[-1]}, got sentences of up to "
                f"{tuple(map(int, longest))} tokens"
            )
        return shapes

    def _full_batches(self, lengths):
        """Return about how many batches the pairs fill."""
        if self.batch_tokens is None:
            return len(lengths) // self.batch_size
        return int(lengths.max(axis=1).sum()) // self.batch_tokens

    def rows(self, shape: tuple[int, int]) -> int:
        """Return the number of sentences in a batch of a shape, B."""
        if self.batch_tokens is None:
            return self.batch_size
        return max(self.batch_tokens // max(shape) // ROWS, 1) * ROWS

    @classmethod
    def of_pairs(
        cls,
        pairs: Sequence[Any],
        context_vocabulary: Tokens,
        target_vocabulary: Tokens,
        batch_size: int = 64,
        *,
        batch_tokens: int | None = None,
        joined: float = 0.0,
        shapes: int | Iterable[tuple[int, int]] | None = None,
        most_shapes: int | None = MOST_SHAPES,
        leave_out_long: bool = False,
    ) -> "Batches":
        """Look up the ids of sentence pairs and batch them.

        Args:
            pairs: pairs with `context` and `target`.
            context_vocabulary: `keras_attention.text.Vocabulary` or `WordPieces` of the context
                sentences.
            target_vocabulary: that of the target sentences.
            batch_size: as for `Batches`, like `batch_tokens` and `shapes`.
            batch_tokens: tokens in a batch, instead of sentences.
            joined: fraction of the pairs that are joined to another one in every pass.
            shapes: shapes to which sentences are padded, or how many.
            most_shapes: the largest number of shapes where `shapes` is None; None for no limit.
            leave_out_long: whether to leave out pairs with a sentence of more than 64 tokens; their
                number is `left_out`.

        Raises:
            ValueError: a sentence has more than 64 tokens; the message quotes it.
        """
        contexts = context_vocabulary.split([pair.context for pair in pairs])
        targets = target_vocabulary.split([pair.target for pair in pairs])
        # A context has [START] and [END]; a target loses one of them to the shift
        lengths = [len(tokens) + 2 for tokens in contexts], [len(tokens) + 1 for tokens in targets]
        longest = np.maximum(*lengths)
        fits = longest <= LONGEST
        if len(pairs) and not (fits.any() if leave_out_long else fits.all()):
            row = int(longest.argmax())
            is_context = lengths[0][row] == longest[row]
            raise ValueError(
                f"a sentence has at most {LONGEST} tokens, got {longest[row]} in "
                f"{shortened(pairs[row].context if is_context else pairs[row].target)}"
            )
        batches = cls(
            context_vocabulary.ids_of(compress(contexts, fits)),
            target_vocabulary.ids_of(compress(targets, fits)),
            batch_size,
            batch_tokens=batch_tokens,
            joined=joined,
            shapes=shapes,
            most_shapes=most_shapes,
        )
        batches.left_out = int((~fits).sum())
        return batches

    def __len__(self) -> int:
        return len(self.plan.cuts)

    def in_order(self, part: tuple[int, int] = (0, 1)) -> Any:
        """Return each pair once, from short to long, for evaluation.

        Args:
            part: (i, n): only the i-th of n equal parts of each batch, counted from 0.

        Returns:
            What `fit` takes: a `keras.utils.PyDataset`, or on TensorFlow a `tf.data.Dataset`.

        Raises:
            ValueError: the batches do not divide into n equal parts.
        """
        self.check_part(part)
        batches = self.plan.batches()

        def planned(index: int) -> tuple:
            return self.batch(*batches[index], part)

        return _for_fit(Planned(planned, len(batches)), self._fixed_rows(part))

    def shuffled(
        self,
        seed: int = 0,
        start: int = 0,
        part: tuple[int, int] = (0, 1),
    ) -> Any:
        """Return batches without end, shuffled anew at every pass, for training.

        The first pass begins with one batch of each of the few shapes, the largest first, or with
        one of the largest where shapes are not few: the memory of the largest step holds every
        other, and a machine with too little of it says so at once.

        Args:
            seed: random seed; it and the number of the pass alone determine the order, which is the
                same on every machine.
            start: number of the first batch, so that a run can continue where it stopped.
            part: (i, n): only the i-th of n equal parts of each batch, counted from 0. The n parts
                have the same length at every step, and together they are the batch.

        Returns:
            What `fit` takes: a `keras.utils.PyDataset`, or on TensorFlow a `tf.data.Dataset`.

        Raises:
            ValueError: the batches do not divide into n equal parts.
        """
        self.check_part(part)

        @lru_cache(maxsize=2)
        def pass_of(number: int) -> tuple["Batches", list]:
            rng = np.random.default_rng((seed, number))
            batches = self._of_a_pass(rng)
            plan = batches.plan.batches(rng)
            of_shapes = 1 if self._few is None else len(self._few)
            return batches, plan if number else _largest_first(plan, of_shapes)

        def planned(index: int) -> tuple:
            number, place = divmod(start + index, self._batches_of_pass)
            batches, plan = pass_of(number)
            shape, rows = plan[place % len(plan)]  # a pass may have a batch more or less
            return batches.batch(shape, rows, part)

        return _for_fit(Planned(planned), self._fixed_rows(part))

    def _ids_of_a_pass(self, rng):
        """Return the ids of both sides, with some pairs joined at random."""
        ids = self.context_ids, self.target_ids
        if not self.joined:
            return ids
        longest = self._few[-1] if self._few else (LONGEST, LONGEST)
        return join_pairs(*ids, self.joined, rng, longest)

    def _of_a_pass(self, rng):
        """Return the batches of one pass: these, or those of pairs that are joined anew."""
        if not self.joined:
            return self
        sizes = {"batch_size": self.batch_size, "batch_tokens": self.batch_tokens}
        ids = self._ids_of_a_pass(rng)
        return Batches(*ids, **sizes, shapes=self._few, most_shapes=None)

    def _fixed_rows(self, part):
        """Return the number of sentences in a part of every batch; None: it differs."""
        return self.batch_size // part[1] if self.batch_tokens is None else None

    def batch(
        self, shape: tuple[int, int], rows: np.ndarray, part: tuple[int, int] = (0, 1)
    ) -> tuple:
        """Return a part of the batch of some rows: inputs and labels.

        Args:
            shape: (S, T).
            rows: numbers of the pairs, at most as many as the batch holds.
            part: (i, n), as for `in_order`.
        """
        number, parts = part
        size = self.rows(shape) // parts
        rows = rows[number * size : (number + 1) * size]
        context = _take(self.context_ids, rows, size, shape[0])
        target = _take(self.target_ids, rows, size, shape[1] + 1)
        context[len(rows) :, 0] = START  # no label, so no loss; yet a token, for every RNN kernel
        labels = target[:, 1:]
        return {"context": context, "target": target[:, :-1] * (labels != 0)}, labels

    def check_part(self, part: tuple[int, int]) -> None:
        """Check that (i, n) is one of n equal parts of every batch.

        Raises:
            ValueError: it is not.
        """
        number, parts = part
        sizes = {self.rows(shape) for shape, *_ in self.plan.cuts}
        if not 0 <= number < parts or any(size % parts for size in sizes):
            raise ValueError(
                f"part must be (i, n) with i below n and n a divisor of the batch size, got {part} "
                f"for batches of {', '.join(map(str, sorted(sizes)))}"
            )


class Planned(keras.utils.PyDataset):
    """Batches in a planned order.

    Args:
        planned: a function, number of a batch → its inputs and labels.
        count: number of batches; None: without end.
    """

    def __init__(self, planned: Callable[[int], tuple], count: int | None = None):
        super().__init__()
        self.planned, self.count = planned, count

    @property
    def num_batches(self) -> int | None:
        return self.count

    def __getitem__(self, index: int) -> tuple:
        return self.planned(index)


def _largest_first(plan, count):
    """Move one batch of each of the largest shapes, `count` of them, to the front of a plan."""
    places = {}
    for place, (shape, _) in enumerate(plan):
        places.setdefault(shape, place)
    largest = sorted(places, key=sum, reverse=True)[:count]
    first = [places[shape] for shape in largest]
    return [plan[place] for place in dict.fromkeys([*first, *range(len(plan))])]


def _for_fit(planned, rows):
    """Return planned batches as `fit` takes them; they have this many rows, if it is not None."""
    if keras.backend.backend() != "tensorflow":
        return planned
    import tensorflow as tf

    # Keras would fix the shapes of a PyDataset to what its first two batches have in common.
    ids = tf.TensorSpec((rows, None), tf.int32)
    signature = ({"context": ids, "target": ids}, ids)
    dataset = tf.data.Dataset.from_generator(lambda: iter(planned), output_signature=signature)
    if planned.num_batches is not None:
        dataset = dataset.apply(tf.data.experimental.assert_cardinality(planned.num_batches))
    # There is nothing to tune, and the thread for tuning wakes only at intervals that double up
    # to a minute; an iterator could not end before it wakes.
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.prefetch(4).with_options(options)


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
