"""From a sentence to its translation and its attention weights; save and load."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_attention import models
from keras_attention.corpora import BUCKETS, bucket_of
from keras_attention.decoding import DirectGenerator, Generated, Generator, Programs, Search
from keras_attention.decoding.threads import size_of_batches
from keras_attention.graphs import Runtime
from keras_attention.menu import INT8, KERAS, RUNTIMES
from keras_attention.text import (
    END,
    SPECIAL_WORDS,
    START,
    UNKNOWN,
    Tokens,
    Vocabulary,
    WordPieces,
    cut_text,
    enclosed,
    padded,
    shifted_right,
    shortened,
)
from keras_attention.translation import alignment
from keras_attention.translation.evidence import Evidence
from keras_attention.translation.folders import Parts, read, write
from keras_attention.translation.result import AXES, Candidate, Translation, joined, layers_of

MOST_TOKENS = BUCKETS[-1] - 2  # [START] and [END] count as well
MOST_CHARACTERS = 10_000
MOST_GENERATORS = 8  # sets of options whose programs are kept


class Translator:
    """A model with its two vocabularies: call it with a sentence or a list of sentences.

    Args:
        model: a model of this package, inputs `{"context", "target"}`.
        context_vocabulary: `Vocabulary` or `WordPieces` of the source language.
        target_vocabulary: the same for the target language.
        config: anything else to save with the model, as JSON. Pictures name their axes after its
            `languages`, the names of the source's and the target's.

    Attributes:
        run_eagerly: whether to translate without compiled programs, as in Keras' `run_eagerly`:
            faster for one sentence in a new process, 36 to 100 times slower from then on. By
            default `False`.
        runtime: what computes translations, by default `"keras"`. For a Transformer in float32 on a
            CPU, `"onnxruntime"` is faster and compiles nothing, and `"onnxruntime-int8"` rounds
            weights to seven bits. These two have the weights at the time when they are chosen;
            the attention is computed by Keras all the same. An error says what they need.
        evidence: answers where the words of a translation come from, an `Evidence`.

    Raises:
        ValueError: the model is not a translator of this package, or the size of a vocabulary is
            not the one that the model expects.
    """

    def __init__(
        self,
        model: keras.Model,
        context_vocabulary: Vocabulary | WordPieces,
        target_vocabulary: Vocabulary | WordPieces,
        config: Mapping[str, Any] | None = None,
    ):
        _check_structure(model)
        written = model.output_shape[-1]
        if written != len(target_vocabulary):
            raise ValueError(
                f"the model writes {written} words, the target vocabulary has "
                f"{len(target_vocabulary)}: they do not belong together"
            )
        for layer in model.get_layer("encoder").layers:
            read = getattr(layer, "input_dim", getattr(layer, "vocabulary_size", None))
            if read not in (None, len(context_vocabulary)):
                raise ValueError(
                    f"the model reads {read} words, the context vocabulary has "
                    f"{len(context_vocabulary)}: they do not belong together"
                )
        self.model = model
        self.context_vocabulary = context_vocabulary
        self.target_vocabulary = target_vocabulary
        self.config = dict(config or {})
        self.run_eagerly = False
        self._runtime: Runtime | None = None
        self._runtime_name = KERAS
        self._most_tokens = models.most_tokens(model)
        self._generators: dict[tuple[Any, ...], Any] = {}
        self.evidence = Evidence(model)

    @property
    def runtime(self) -> str:
        """What computes translations, see the attributes of the class."""
        return self._runtime_name

    @runtime.setter
    def runtime(self, name: str) -> None:
        if name not in RUNTIMES:
            raise ValueError(f"runtime must be one of {', '.join(RUNTIMES)}, got {name!r}")
        self._runtime = None if name == KERAS else Runtime(self.model, int8=name == INT8)
        self._runtime_name = name
        self._generators.clear()

    @property
    def programs(self) -> int:
        """The number of compiled programs in memory.

        Each of the last 8 sets of options, and `attend`, has at most one program per bucket for a
        single sentence, and one per bucket and batch size for batches. `evidence` has at most two
        per bucket.
        """
        found = sum(len(each.programs) for each in self._generators.values())
        return found + len(self._attention) + self.evidence.programs

    def __call__(
        self,
        sentences: str | Iterable[str],
        *,
        attention: bool = True,
        batch_size: int = 64,
        **options: Any,
    ) -> Any:
        """Translate.

        Args:
            sentences: a string, or a list of N strings, which are sorted by length and translated
                in batches. A text that is longer than the model takes is cut into sentences, and
                `Translation.parts` has the translation of each.
            attention: whether to compute the attention weights, in a second pass.
            batch_size: sentences per batch; a single sentence is its own batch.
            **options: `max_length`, `beam`, `length_penalty`, `n_best`, `temperature`, `top_k`,
                `top_p`, `seed` and `progress`, as for `generate`.

        Returns:
            A `Translation`, or a list of N in the order of the sentences.

        Raises:
            ValueError: a sentence has no word to translate, or is too long; or an argument is out
                of range.
        """
        if isinstance(sentences, str):
            options |= {"attention": attention, "batch_size": batch_size}
            return self([sentences], **options)[0]
        sentences = list(sentences)
        parts = read_sentences(sentences, self.context_vocabulary, self.longest)
        if not sentences:
            return []
        whole = [part for each in parts for part in each]
        translations = iter(self._translate(whole, attention, batch_size, options))
        return [
            joined(sentence, list(islice(translations, len(each))))
            for sentence, each in zip(sentences, parts, strict=True)
        ]

    @property
    def _has_programs(self):
        """Whether Keras compiles what it computes, and batches need constant shapes."""
        return not self.run_eagerly and keras.backend.backend() in ("tensorflow", "jax")

    @property
    def longest(self) -> int:
        """The most tokens of a sentence, without `[START]` and `[END]`; a longer one is cut."""
        return min(self._most_tokens[0] or BUCKETS[-1], BUCKETS[-1]) - 2

    def _translate(self, parts, attention, batch_size, options):
        """Translate sentences that are short enough, given as `Part`."""
        ids = _ids_of(parts, self.context_vocabulary)
        generated = self.generate(ids, batch_size=batch_size, **options)
        weights = [{}] * len(ids)
        if attention:
            weights = self.attend(
                ids, [best[0].tokens for best in generated], batch_size=batch_size
            )
        return [
            self._translation(*part, *others)
            for part, *others in zip(parts, generated, weights, strict=True)
        ]

    def generate(
        self,
        ids: np.ndarray,
        *,
        max_length: int = 50,
        beam: int = 1,
        length_penalty: float = 0.6,
        n_best: int = 1,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        batch_size: int = 64,
        progress: Callable[[Iterable[Any]], Iterable[Any]] = iter,
    ) -> list[list[Generated]]:
        """Translate ids: the part between the two vocabularies.

        Args:
            ids: (N, S), each row `[START]`, tokens, `[END]`, then 0.
            max_length: maximum number of tokens in a translation, L.
            beam: number of hypotheses; 1 is greedy.
            length_penalty: of beam search, see `keras_attention.decoding.beam_search`.
            n_best: candidates to return for each sentence, at most `beam`.
            temperature: 0 takes the likeliest token; above 0, tokens are drawn at random.
            top_k: draw among this many of the likeliest tokens; 0: among all.
            top_p: draw among the likeliest tokens with this total probability; 1: among all.
            seed: random seed.
            batch_size: sentences per batch; a single sentence is its own batch. With ONNX Runtime,
                at most so many: it divides few sentences among the cores, unless it draws.
            progress: wraps the sequence of batches, for a progress bar such as `tqdm`.

        Returns:
            A list of N lists of `n_best` `Generated`, best first, each of one sentence: its
            `tokens` are (L,), and the other fields numbers.

        Raises:
            ValueError: an argument is out of range.
        """
        _check_batch_size(batch_size)
        if seed < 0:
            raise ValueError(f"seed must be 0 or above, got {seed}")
        generator = self._generator(
            max_length=max_length,
            beam=beam,
            length_penalty=length_penalty,
            n_best=n_best,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
        )
        if self._runtime is not None and temperature == 0:  # what is drawn depends on the batches
            batch_size = size_of_batches(len(ids), batch_size)
        results: list[Any] = [None] * len(ids)
        filled = self._runtime is None and self._has_programs
        batches = [*_batches((ids,), self._most_tokens[:1], batch_size, filled)]
        numbers = range(len(batches))[::-1]  # the longest first: threads then end together
        contexts = progress([batches[number][1][0] for number in numbers])
        found = generator.run_batches(contexts, seed, self.run_eagerly, numbers)
        for number, generated in zip(numbers, found, strict=True):
            rows, _ = batches[number]
            if generated.tokens.ndim == 2:  # greedy or sampled: one candidate
                generated = Generated(*(field[:, None] for field in generated))
            for row, *fields in zip(rows, *generated, strict=False):  # a batch may be filled up
                results[row] = [*map(Generated, *fields)]
        return results

    def _generator(self, **options):
        """Return a generator with these options; the last few are kept, the newest last."""
        most = self._most_tokens[1]
        if most is not None and options["max_length"] > most:
            raise ValueError(
                f"max_length must be at most {most}, the model's positions for the tokens of a "
                f"target, got {options['max_length']}"
            )
        key = tuple(options.values())
        generator = self._generators.pop(key, None)
        if generator is None and self._runtime is not None:
            search = Search(**options)
            step = self._runtime.step(search.count, alone=not search.has_beam)
            generator = DirectGenerator(self._runtime.encode, step, search)
        elif generator is None:
            encode = models.encode(self.model, slots=max(options["max_length"], 1))
            generator = Generator(encode, models.step(self.model), **options)
        self._generators[key] = generator
        while len(self._generators) > MOST_GENERATORS:
            del self._generators[next(iter(self._generators))]
        return generator

    def warm_up(
        self,
        lengths: Iterable[int] = BUCKETS,
        *,
        attention: bool = True,
        batch_size: int = 64,
        progress: Callable[[Iterable[Any]], Iterable[Any]] = iter,
        **options: Any,
    ) -> None:
        """Compile the programs for translation now, so that no sentence waits for them.

        Each bucket of lengths and each set of options has two programs, one for a single sentence
        and one for a batch. Programs that exist already are not compiled again.

        Args:
            lengths: lengths of the sentences to come, in tokens, including `[START]` and `[END]`;
                each stands for its bucket. By default all.
            attention: whether the attention weights will be needed. A translation longer than the
                bucket of its sentence needs the program of a longer bucket.
            batch_size: sentences per batch; 1 is for single sentences only.
            progress: wraps the sequence of buckets, for a progress bar such as `tqdm`.
            **options: the options of `generate` for these translations.

        Raises:
            ValueError: a length is below 2 or above the longest bucket, or an option is out of
                range.
        """
        lengths = list(lengths)
        for length in lengths:
            if not 2 <= length <= BUCKETS[-1]:
                raise ValueError(f"lengths must be from 2 to {BUCKETS[-1]} tokens, got {length}")
        most = self._most_tokens[0] or BUCKETS[-1]
        for bucket in progress(sorted({min(bucket_of(length), most) for length in lengths})):
            row = enclosed([UNKNOWN] * (bucket - 2))
            for count in (1, 2) if batch_size > 1 else (1,):  # two rows make a batch
                ids = padded([row] * count)
                self.generate(ids, batch_size=batch_size, **options)
                if attention:
                    self.attend(ids, [[END]] * count, batch_size=batch_size)

    def heads(self, of: str = "cross") -> list[int]:
        """Return the number of heads in each layer of a kind of attention; 1 without heads."""
        shapes = [each.shape for each in layers_of(self._attention.model.output, of)]
        return [shape[1] if len(shape) == 4 else 1 for shape in shapes]

    def attend(
        self, ids: np.ndarray, tokens: Iterable[Iterable[int]], *, batch_size: int = 64
    ) -> list[dict[str, list[np.ndarray]]]:
        """Return the attention weights of given tokens (teacher forcing).

        Args:
            ids: (N, S), each row `[START]`, tokens, `[END]`, then 0.
            tokens: N sequences of target ids, each padded with 0.
            batch_size: sentences per batch.

        Returns:
            A list of N dictionaries: for each kind of attention a list of weights, one per layer,
            ([H,] T, S) for the T tokens and S ids of the sentence; (H, T, T) or (H, S, S) for
            self-attention.

        Raises:
            ValueError: `batch_size` is below 1.
        """
        _check_batch_size(batch_size)
        fed = padded([shifted_right(number for number in each if number) for each in tokens])
        results: list[Any] = [None] * len(ids)
        batches = _batches((ids, fed), self._most_tokens, batch_size, self._has_programs)
        for rows, (context, target) in batches:
            inputs = {"context": context, "target": target}
            weights = self._attention.predict_on_batch(inputs, self.run_eagerly)
            weights.pop("logits", None)
            for i, row in enumerate(rows):
                counts = {"S": (ids[row] != 0).sum(), "T": (fed[row] != 0).sum()}
                results[row] = {
                    kind: [
                        each[i][..., : counts[queries], : counts[keys]].copy() for each in layers
                    ]
                    for kind, layers in weights.items()
                    for queries, keys in [AXES[kind]]
                }
        return results

    def forced(
        self,
        sentences: str | Sequence[str],
        translations: str | Sequence[str],
        *,
        batch_size: int = 64,
    ) -> Any:
        """Return given translations with the attention that the model pays to write them.

        Args:
            sentences: a string, or a list of N strings.
            translations: the translation of each, as written.
            batch_size: sentences per batch.

        Returns:
            A `Translation`, or a list of N. It has no candidates, since nothing was searched for.

        Raises:
            ValueError: the numbers of sentences and translations differ, one of them has no word
                or is too long, or `batch_size` is below 1.
        """
        if isinstance(sentences, str) and isinstance(translations, str):
            return self.forced([sentences], [translations], batch_size=batch_size)[0]
        if isinstance(sentences, str) or isinstance(translations, str):
            raise ValueError(
                "expected a sentence and its translation, or a list of each, got a "
                f"{type(sentences).__name__} and a {type(translations).__name__}"
            )
        if len(sentences) != len(translations):
            raise ValueError(
                "expected a translation for every sentence, got "
                f"{len(sentences)} sentences and {len(translations)} translations"
            )
        contexts = self._whole(sentences, self.context_vocabulary)
        targets = self._whole(translations, self.target_vocabulary)
        ids = _ids_of(contexts, self.context_vocabulary)
        written = _ids_of(targets, self.target_vocabulary)[:, 1:]  # without [START]
        weights = self.attend(ids, written, batch_size=batch_size)
        return [
            replace(
                self._translation(part.source, part.tokens, [Generated(row, 0.0, True, 0.0)], each),
                candidates=(),
            )
            for part, row, each in zip(contexts, written, weights, strict=True)
        ]

    def align(self, translation: Translation) -> np.ndarray:
        """Return where each token of a translation comes from, as its `alignment` does.

        Args:
            translation: a `Translation` of one sentence.

        Returns:
            (T, S): each row sums to 1, or to 0 if no source word speaks for the token; see
            `keras_attention.translation.alignment`.

        Raises:
            ValueError: the translation has no ids.
        """
        return alignment.align(self.evidence, translation)

    def _whole(self, sentences, vocabulary):
        """Split sentences into tokens, none of which may be too long for the model."""
        parts = read_sentences(sentences, vocabulary, self.longest)
        for sentence, each in zip(sentences, parts, strict=True):
            if len(each) > 1:
                raise ValueError(
                    f"a forced translation is of one sentence; too long: {shortened(sentence)}"
                )
        return [each[0] for each in parts]

    def _translation(self, source, tokens, generated, weights):
        best = generated[0]
        ends = SPECIAL_WORDS[START], SPECIAL_WORDS[END]
        context, spellings = (enclosed(each, *ends) for each in zip(*tokens, strict=True))
        ids = [int(number) for number in best.tokens if number]
        target = [self.target_vocabulary.words[number] for number in ids]
        return Translation(
            source=source,
            text=self._text(best.tokens),
            context_tokens=tuple(spellings),
            target_tokens=tuple(self.target_vocabulary.join([token]) for token in target),
            weights=weights,
            unknown=tuple(self.context_vocabulary.unknown(context)),
            finished=bool(best.finished),
            candidates=tuple(
                Candidate(
                    self._text(each.tokens),
                    float(each.scores),
                    float(each.log_probabilities),
                    bool(each.finished),
                )
                for each in generated
                # A tiny vocabulary may have fewer sentences than `n_best`.
                if np.isfinite(each.scores)
            ),
            context_groups=tuple(self.context_vocabulary.word_groups(context)),
            target_groups=tuple(self.target_vocabulary.word_groups(target)),
            languages=tuple(self.config.get("languages") or ("context", "target")),
            context_ids=tuple(map(self.context_vocabulary.id_of, context)),
            target_ids=tuple(ids),
            align=self.align,
        )

    def _text(self, tokens):
        return self.target_vocabulary.join(self.target_vocabulary.words_of(tokens))

    def save(self, folder: Path | str, builder: Mapping[str, Any] | None = None) -> None:
        """Write model, vocabularies and configuration to a folder, whole or not at all.

        Args:
            folder: created if needed; files of the same names are replaced.
            builder: `{"name": …, "arguments": {…}}`, a name in `models.BUILDERS` and what it was
                called with, to write float16 weights in place of `model.keras`: a quarter of the
                size, and any version of Keras reads it.

        Raises:
            ValueError: a weight is too large for float16.
        """
        write(folder, self._parts(), builder)

    @classmethod
    def load(cls, folder: Path | str) -> "Translator":
        """Read a translator that `save` wrote, or one that comes with the package.

        Args:
            folder: a folder; or `"spa-eng"`, a Transformer, or `"spa-eng-rnn"`, an RNN with
                attention, which translate Spanish to English.

        Raises:
            FileNotFoundError: the folder or one of its files is missing; the message says which.
            ValueError: a newer version wrote it, or a file is damaged.
        """
        parts = read(folder)
        try:
            return cls(*parts)
        except ValueError as error:
            raise ValueError(f"{folder} holds no translator: {error}") from error

    @cached_property
    def _attention(self):
        """The programs that show the weights; a call without them never builds the view."""
        return Programs(_weights_of(self.model))

    def _parts(self):
        return Parts(self.model, self.context_vocabulary, self.target_vocabulary, self.config)


class Part(NamedTuple):
    """A sentence, or a part of a long one, with its tokens: pairs (token, spelling)."""

    source: str
    tokens: list[tuple[str, str]]


def read_sentences(
    sentences: Sequence[str], vocabulary: Tokens, most: int = MOST_TOKENS
) -> list[list[Part]]:
    """Split sentences into tokens, or explain in an error why one cannot be translated.

    Args:
        sentences: N strings.
        vocabulary: `Vocabulary` or `WordPieces`, which splits them.
        most: the most tokens in a part; `keras_attention.text.cut_text` cuts a longer sentence.

    Returns:
        N lists of `Part`; a sentence that is short enough is its only part.

    Raises:
        ValueError: a text is too long, has no token, or holds a run without blanks that is too long
            for a part. Of several sentences the message names the number.
    """
    several = len(sentences) > 1
    places = [f"sentence {n}: " * several for n in range(1, len(sentences) + 1)]
    for place, sentence in zip(places, sentences, strict=True):
        if len(sentence) > MOST_CHARACTERS:
            raise ValueError(
                f"{place}a text has at most {MOST_CHARACTERS:,} characters, got "
                f"{len(sentence):,} in {shortened(sentence)}; split it"
            )

    def read(sentence, tokens):
        if len(tokens) <= most:
            return [Part(sentence, tokens)]
        sources = cut_text(sentence, lambda parts: list(map(len, vocabulary.tokenize(parts))), most)
        parts = map(Part, sources, vocabulary.tokenize(sources))
        return [part for part in parts if part.tokens]  # emoji, for example, are no words

    parts = list(map(read, sentences, vocabulary.tokenize(sentences)))
    for place, sentence, each in zip(places, sentences, parts, strict=True):
        _check_parts(sentence, each, vocabulary, most, place)
    return parts


def _check_parts(sentence, parts, vocabulary, most, place):
    """Raise an error that says why a sentence cannot be translated, if so."""
    tokens = [token for part in parts for token, _ in part.tokens]
    if not tokens:
        letters = " in the letters a-z" if vocabulary.kind == "word" else ""
        raise ValueError(
            f"{place}nothing to translate in {shortened(sentence)}: expected words{letters}"
        )
    for part in parts:
        if len(part.tokens) > most:
            names = "words" if vocabulary.kind == "word" else "pieces of words"
            raise ValueError(
                f"{place}a sentence without blanks has at most {most} {names} and punctuation "
                f"marks, got {len(part.tokens)} in {shortened(part.source)}; split it"
            )


def _check_structure(model):
    """Check that a model reads a context and a target and writes logits."""
    inputs = sorted(tensor.name for tensor in model.inputs)
    parts = [layer.name for layer in model.layers if isinstance(layer, keras.Model)]
    if inputs != ["context", "target"] or sorted(parts) != ["decoder", "encoder"]:
        raise ValueError(
            "expected a model with the inputs context and target and the parts encoder and decoder"
            f", got the inputs {inputs} and the parts {parts} in {model.name}"
        )


def _weights_of(model):
    """Return the view `attention` without the logits, unless it has no other output."""
    view = models.attention(model)
    weights = {name: tensor for name, tensor in view.output.items() if name != "logits"}
    return keras.Model(view.input, weights, name=view.name) if weights else view


def _ids_of(parts, vocabulary):
    """Return the ids of sentences, given as `Part`."""
    return vocabulary.ids_of([token for token, _ in part.tokens] for part in parts)


def _check_batch_size(batch_size):
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, got {batch_size}")


def _batches(arrays, most, batch_size, filled):
    """Yield batches of rows of about equal length: the row numbers, and the rows of each array.

    Rows are sorted by their length in the first array, then the others, and padded to the bucket
    that fits all arrays, or to the `most` tokens that the model takes. Every batch is `filled`
    with copies of a row, so that each bucket needs one program; a single row is its own batch.
    """
    lengths = [(ids != 0).sum(axis=1) for ids in arrays]
    order = np.lexsort(lengths[::-1])
    size = 1 if len(order) == 1 else batch_size
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        missing = size - len(rows) if filled else 0
        chosen = np.concatenate([rows, np.repeat(rows[:1], missing)])
        longest = max(counts[rows].max() for counts in lengths)
        bucket = bucket_of(longest)
        batch = []
        for ids, counts, limit in zip(arrays, lengths, most, strict=True):
            length = bucket if limit is None else min(bucket, limit)
            if counts[rows].max() > length:
                raise ValueError(
                    f"a sentence has at most as many tokens as the model has positions, {limit}, "
                    f"got {counts[rows].max()}"
                )
            part = np.zeros((len(chosen), length), dtype="int32")
            part[:, : ids.shape[1]] = ids[chosen, :length]
            batch.append(part)
        yield rows, batch
