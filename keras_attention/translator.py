"""From a sentence to its translation and to where the model looked; save and load."""

import json
import textwrap
import zipfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import keras
import numpy as np

from keras_attention import __version__, models
from keras_attention.corpora import BUCKETS, bucket_of
from keras_attention.decoding import Generator
from keras_attention.files import written_whole
from keras_attention.plotting import plot_attention
from keras_attention.text import UNKNOWN, Vocabulary, join_words, shortened, split_words

FORMAT = 1
MODEL_FILE, CONFIG_FILE = "model.keras", "config.json"
CONTEXT_FILE, TARGET_FILE = "context_vocabulary.txt", "target_vocabulary.txt"
MOST_WORDS = BUCKETS[-1] - 2  # [START] and [END] count as well
MOST_CHARACTERS = 10_000


@dataclass(frozen=True)
class Translation:
    """A translated sentence, and where the model looked for each of its tokens.

    Attributes:
        source: the sentence as it was given.
        text: its translation.
        context_tokens: S tokens of the source as the user wrote them, with `[START]` and `[END]`.
        target_tokens: T tokens of the translation, with `[END]` where it ended.
        weights: attention weights by name, each (T, S), or (H, T, S) with heads.
        unknown: positions of the context tokens that the model does not know.
        finished: whether the sentence ended before the limit of its length.
    """

    source: str
    text: str
    context_tokens: tuple
    target_tokens: tuple
    weights: dict
    unknown: tuple
    finished: bool

    @property
    def attention(self):
        """The weights as one matrix (T, S): the mean over heads and layers."""
        return mean_attention(self.weights)

    def plot(self, path=None, **options):
        """Draw the attention as a heat map; the options are those of `plot_attention`.

        Args:
            path: PNG, SVG or PDF to write, or None.
            **options: for instance `orientation="context_rows"`.

        Returns:
            The matplotlib axes.
        """
        return plot_attention(
            self.attention,
            self.context_tokens,
            self.target_tokens,
            unknown_context=self.unknown,
            path=path,
            **options,
        )

    def to_dict(self):
        """Return all of it as strings, numbers, lists and dictionaries, for JSON."""
        return {
            "source": self.source,
            "translation": self.text,
            "context_tokens": list(self.context_tokens),
            "target_tokens": list(self.target_tokens),
            "unknown": list(self.unknown),
            "finished": self.finished,
            "attention": self.attention.tolist(),
        }


class Translator:
    """A model with its two vocabularies: call it with a sentence, or with a list of them.

    Args:
        model: a model of this package, inputs `{"context", "target"}`.
        context_vocabulary: `Vocabulary` of the language that is read.
        target_vocabulary: `Vocabulary` of the language that is written.
        config: anything else to keep with the model, for JSON.

    Raises:
        ValueError: a vocabulary has another size than the model expects.
    """

    def __init__(self, model, context_vocabulary, target_vocabulary, config=None):
        written = model.output_shape[-1]
        if written != len(target_vocabulary):
            raise ValueError(
                f"the model writes {written} words, the target vocabulary has "
                f"{len(target_vocabulary)}: they do not belong together"
            )
        for layer in models.encode(model).layers:
            read = getattr(layer, "input_dim", len(context_vocabulary))
            if isinstance(layer, keras.layers.Embedding) and read != len(context_vocabulary):
                raise ValueError(
                    f"the model reads {read} words, the context vocabulary has "
                    f"{len(context_vocabulary)}: they do not belong together"
                )
        self.model = model
        self.context_vocabulary = context_vocabulary
        self.target_vocabulary = target_vocabulary
        self.config = dict(config or {})
        self._generators = {}

    def __call__(self, sentences, **options):
        """Translate.

        Args:
            sentences: a string, or a list of N strings; they are sorted by length and translated in
                batches.
            **options: `max_length`, `temperature`, `seed`, `batch_size` and `progress`, as for
                `generate`.

        Returns:
            A `Translation`, or a list of N in the order of the sentences.

        Raises:
            ValueError: a sentence has no word that could be translated, or is too long; or an
                argument is out of range.
        """
        if isinstance(sentences, str):
            return self([sentences], **options)[0]
        sentences = list(sentences)
        tokens = [read_sentence(sentence) for sentence in sentences]
        if not sentences:
            return []
        # From the words, not from the sentences: so each id has its word in every picture.
        ids = self.context_vocabulary.ids(" ".join(words[1:-1]) for words, _ in tokens)
        generated = self.generate(ids, **options)
        return [
            self._translation(*parts) for parts in zip(sentences, tokens, generated, strict=True)
        ]

    def generate(
        self, ids, *, max_length=50, temperature=0.0, seed=0, batch_size=64, progress=iter
    ):
        """Translate ids: the part between the two vocabularies.

        Args:
            ids: (N, S), each row `[START]`, words, `[END]`, then 0.
            max_length: most tokens of a translation, L.
            temperature: 0 is greedy; above, tokens are drawn.
            seed: of the draws.
            batch_size: sentences a batch; a lone sentence is a batch of its own.
            progress: wraps the sequence of batches, for a progress bar such as `tqdm`.

        Returns:
            A list of N triples: ids (L,); attention weights by name, each ([H,] L, S); whether the
            sentence ended.
        """
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        if max_length < 1:
            raise ValueError(f"max_length must be at least 1, got {max_length}")
        if not 0 <= temperature < float("inf"):
            raise ValueError(f"temperature must be 0 (greedy) or above, got {temperature}")
        if seed < 0:
            raise ValueError(f"seed must be 0 or above, got {seed}")
        generator = self._generators.setdefault(
            (max_length, temperature),
            Generator(
                models.encode(self.model),
                models.step(self.model),
                max_length=max_length,
                temperature=temperature,
            ),
        )
        lengths = (ids != 0).sum(axis=1)
        order = np.argsort(lengths, kind="stable")
        results = [None] * len(ids)
        for start in progress(range(0, len(ids), batch_size)):
            rows = order[start : start + batch_size]
            length = bucket_of(lengths[rows].max())
            batch = np.zeros((1 if len(ids) == 1 else batch_size, length), dtype="int32")
            batch[: len(rows), : ids.shape[1]] = ids[rows, :length]
            batch[len(rows) :] = batch[0]  # full batches only: one compiled program a bucket
            generated = generator.run(batch, seed=seed)
            for place, row in enumerate(rows):
                weights = {name: w[place] for name, w in generated.weights.items()}
                results[row] = (
                    generated.tokens[place],
                    weights,
                    bool(generated.finished[place]),
                )
        return results

    def _translation(self, source, tokens, generated):
        words, spellings = tokens
        ids, weights, finished = generated
        count = int((ids != 0).sum())
        target = [self.target_vocabulary.words[number] for number in ids[:count]]
        return Translation(
            source=source,
            text=join_words(target[:-1] if finished else target),
            context_tokens=spellings,
            target_tokens=tuple(target),
            weights={n: w[..., :count, : len(words)] for n, w in weights.items()},
            unknown=tuple(
                place
                for place, word in enumerate(words)
                if self.context_vocabulary.id_of(word) == UNKNOWN
            ),
            finished=finished,
        )

    def save(self, folder):
        """Write model, vocabularies and configuration to a folder, whole or not at all.

        Args:
            folder: made if needed; files of the same names are replaced.
        """
        folder = Path(folder)
        config = {"format": FORMAT, "keras_attention": __version__, **self.config}
        with ExitStack() as stack:
            whole = lambda name: stack.enter_context(written_whole(folder / name))  # noqa: E731
            self.model.save(whole(MODEL_FILE))
            self.context_vocabulary.save(whole(CONTEXT_FILE))
            self.target_vocabulary.save(whole(TARGET_FILE))
            whole(CONFIG_FILE).write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n")

    @classmethod
    def load(cls, folder):
        """Read what `save` wrote.

        Raises:
            FileNotFoundError: the folder or a file of it is missing; the message says which.
            ValueError: it was written by a newer version, or a file is damaged.
        """
        folder = Path(folder)
        if not folder.is_dir():
            raise FileNotFoundError(f"there is no model folder {folder}")
        names = (CONFIG_FILE, MODEL_FILE, CONTEXT_FILE, TARGET_FILE)
        missing = [name for name in names if not (folder / name).is_file()]
        if missing:
            raise FileNotFoundError(
                f"the model folder {folder} is incomplete: {', '.join(missing)} missing"
            )
        config = read_config(folder)
        try:
            model = keras.saving.load_model(folder / MODEL_FILE, compile=False)
        except (
            ValueError,
            TypeError,
            KeyError,
            OSError,
            RuntimeError,
            zipfile.BadZipFile,
        ) as error:
            reason = textwrap.shorten(str(error), 300, placeholder=" …")
            raise ValueError(f"{folder / MODEL_FILE} cannot be loaded: {reason}") from error
        return cls(
            model,
            Vocabulary.load(folder / CONTEXT_FILE),
            Vocabulary.load(folder / TARGET_FILE),
            config,
        )


def read_sentence(sentence):
    """Split a sentence into tokens, or say why it cannot be translated.

    Args:
        sentence: a string.

    Returns:
        Its words and their spellings as in `text.split_words`, both between `[START]` and `[END]`.

    Raises:
        ValueError: it is too long, or has no word or mark that a vocabulary could hold.
    """
    if len(sentence) > MOST_CHARACTERS:
        raise ValueError(
            f"a sentence has at most {MOST_CHARACTERS:,} characters, got {len(sentence):,} in "
            f"{shortened(sentence)}; split it"
        )
    pairs = split_words(sentence)
    if not pairs:
        raise ValueError(
            f"nothing to translate in {shortened(sentence)}: expected words in the letters a-z"
        )
    if len(pairs) > MOST_WORDS:
        raise ValueError(
            f"a sentence has at most {MOST_WORDS} words and punctuation marks, got {len(pairs)} "
            f"in {shortened(sentence)}; split it"
        )
    words, spellings = zip(*pairs, strict=True)
    return ("[START]", *words, "[END]"), ("[START]", *spellings, "[END]")


def mean_attention(weights):
    """Return the mean over heads and layers of a sentence's attention weights.

    Args:
        weights: matrices by name, each (T, S), or (H, T, S) with heads.

    Returns:
        One matrix (T, S).
    """
    return np.mean([w.mean(axis=0) if w.ndim == 3 else w for w in weights.values()], axis=0)


def read_config(folder):
    """Read the configuration of a model folder.

    Raises:
        ValueError: it is no JSON, or of another version of the format.
    """
    path = Path(folder) / CONFIG_FILE
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        version = config["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not the configuration of a model: {error!r}") from error
    if version != FORMAT:
        raise ValueError(
            f"{path} has format {version}, this version of keras_attention reads {FORMAT}; "
            f"it was written by keras_attention {config.get('keras_attention', '?')}"
        )
    return config
