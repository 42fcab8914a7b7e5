"""Where sentence pairs come from, how they are split without a leak, and how they are batched."""

import hashlib
import itertools
import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np

from keras_attention.grammar import Grammar
from keras_attention.text import START, normalize, shortened

SPA_ENG_URL = "https://storage.googleapis.com/download.tensorflow.org/data/spa-eng.zip"
SPA_ENG_SHA256 = "0c4fd7825d3d872488d38c157f784e035edab4f2ff0df25a2a208790ecb5b58f"
SPA_ENG_MEMBER = "spa-eng/spa.txt"
BUNDLED_PAIRS = 60_000
BUCKETS = (8, 10, 12, 16, 24, 32, 48, 64)


class Pair(NamedTuple):
    """A sentence and its translation, as written: `context` (Spanish), `target` (English)."""

    context: str
    target: str


class Split(NamedTuple):
    """A corpus in three parts that share no sentence: lists of pairs."""

    train: list
    validation: list
    test: list


def load(source):
    """Load the sentence pairs of a corpus by its name or from a file.

    Args:
        source: `"spa-eng"`, the corpus of the TensorFlow tutorials, downloaded once and cached;
            `"bundled"`, that of `keras_attention.grammar`; or the path of a text file with a pair
            English⇥Spanish a line, or of a zip with a `spa.txt` in it.

    Returns:
        A list of `Pair`, or of `keras_attention.grammar.AlignedPair` for the bundled corpus.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is no such text, or the download is not the official file.
        ConnectionError: the download failed; the message says how to pass a local file.
    """
    if source == "bundled":
        return Grammar.load().generate(BUNDLED_PAIRS)
    if source == "spa-eng":
        source = download_spa_eng()
    return read_pairs(source)


def download_spa_eng(url=SPA_ENG_URL, folder=None):
    """Download the tutorials' `spa-eng.zip` once, and check it.

    Args:
        url: where it is.
        folder: the cache folder; by default Keras' own, `~/.keras/datasets`.

    Returns:
        The path of the zip.

    Raises:
        ConnectionError: it could not be fetched.
        ValueError: what came is another file.
    """
    if folder:  # Keras falls back to a folder in /tmp where there is none
        Path(folder).mkdir(parents=True, exist_ok=True)
    try:
        path = Path(keras.utils.get_file("spa-eng.zip", url, cache_dir=folder))
    except Exception as error:
        raise ConnectionError(
            f"cannot download {url} ({error}); pass a local file instead: --corpus path/to/spa.txt "
            "(English⇥Spanish lines) or --corpus path/to/spa-eng.zip"
        ) from error
    received = hashlib.sha256(path.read_bytes()).hexdigest()
    if received != SPA_ENG_SHA256:
        path.unlink()
        raise ValueError(
            f"{url} is not the official file: expected sha256 {SPA_ENG_SHA256}, got {received}; "
            "it was deleted, try again or pass a local file: --corpus path/to/spa.txt"
        )
    return path


def read_pairs(path):
    """Read sentence pairs from a file.

    Args:
        path: a UTF-8 text file with English⇥Spanish a line, further columns are ignored; or a zip
            with such a file named `spa.txt`.

    Returns:
        A list of `Pair`, in the order of the file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is empty, not UTF-8, a broken zip, or has a line without two sentences;
            the message names the line.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path} is no file; a corpus is spa-eng, bundled or a text file")
    content = _unzip(path) if path.suffix == ".zip" else path.read_bytes()
    if not content.strip():
        raise ValueError(f"{path} is empty; expected a pair English⇥Spanish a line")
    pairs = []
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").splitlines(), start=1):
        try:
            columns = [column.strip() for column in line.decode("utf-8").split("\t")]
        except UnicodeDecodeError as error:
            raise ValueError(f"{path}, line {number} is not UTF-8: {error}") from error
        if len(columns) < 2 or not columns[0] or not columns[1]:
            raise ValueError(
                f"{path}, line {number}: expected English⇥Spanish with one tab, got "
                f"{line.decode('utf-8')[:60]!r}"
            )
        pairs.append(Pair(context=columns[1], target=columns[0]))
    return pairs


def _unzip(path):
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if Path(name).name == "spa.txt"]
            if not names:
                raise ValueError(f"{path} holds no spa.txt, only {', '.join(archive.namelist())}")
            return archive.read(names[0])
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ValueError(
            f"{path} is cut off, damaged or not a zip file ({error}); download it again"
        ) from error


def split(pairs, shares=(0.96, 0.02, 0.02)):
    """Split a corpus so that no sentence of either language is on two sides.

    Pairs that share a normalised sentence, directly or through others, stay together. A hash of
    the smallest sentence of such a group decides its side: the same on every machine, and for most
    sentences also when the corpus grows.

    Args:
        pairs: pairs with `context` and `target`.
        shares: the shares of training, validation and test; they sum to 1.

    Returns:
        A `Split`, each part in the order of the pairs.
    """
    parent = {}

    def root(node):
        while parent.setdefault(node, node) != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    ends = [(("context", normalize(p.context)), ("target", normalize(p.target))) for p in pairs]
    for one, other in ends:
        low, high = sorted((root(one), root(other)))
        parent[high] = low  # the smallest sentence becomes the root
    parts = Split([], [], [])
    for pair, (one, _) in zip(pairs, ends, strict=True):
        digest = hashlib.sha256("\t".join(root(one)).encode()).digest()
        place = int.from_bytes(digest[:8], "big") / 2**64
        side = 0 if place < shares[0] else 1 if place < shares[0] + shares[1] else 2
        parts[side].append(pair)
    return parts


def fingerprint(pairs):
    """Return a hash of the sentences of a corpus, in their order."""
    digest = hashlib.sha256()
    for pair in pairs:
        digest.update(f"{pair.target}\t{pair.context}\n".encode())
    return digest.hexdigest()


def bucket_of(length, buckets=BUCKETS):
    """Return the smallest bucket that holds a length.

    Raises:
        ValueError: no bucket does.
    """
    for bucket in buckets:
        if length <= bucket:
            return bucket
    raise ValueError(f"a sentence has at most {buckets[-1]} tokens, got {length}")


class Batches:
    """Batches of sentences of about equal length, in few static shapes, as `tf.data` for `fit`.

    Each pair goes to the smallest bucket that holds both its sentences, and each batch to one
    bucket, so that XLA compiles one program a bucket and little is padded.

    An element is `({"context": (batch_size, L), "target": (batch_size, L)}, labels (batch_size,
    L))`, int32: the target begins with `[START]`, the labels end with `[END]`, and 0 is padding.
    The length of a `Batches` is the number of batches in which each pair comes once.

    Args:
        context_ids: (N, S), each row `[START]`, words, `[END]`, then 0.
        target_ids: (N, T), likewise.
        batch_size: sentences a batch, always; a last batch is filled up with empty targets.
        buckets: lengths to which sentences are padded.

    Attributes:
        left_out: number of pairs that `of_pairs` left out.

    Raises:
        ValueError: a sentence is longer than the largest bucket, or the two arrays differ in
            length or are empty.
    """

    def __init__(self, context_ids, target_ids, batch_size=64, buckets=BUCKETS):
        if len(context_ids) != len(target_ids) or len(context_ids) == 0:
            raise ValueError(
                "context_ids and target_ids must hold the same number of sentences, at least one, "
                f"got {len(context_ids)} and {len(target_ids)}"
            )
        self.context_ids, self.target_ids, self.batch_size = context_ids, target_ids, batch_size
        self.left_out = 0
        longest = _longest(context_ids, target_ids)
        bucket_of(longest.max(), buckets)
        places = np.searchsorted(buckets, longest)
        self._rows = {buckets[b]: np.flatnonzero(places == b) for b in np.unique(places)}

    @classmethod
    def of_pairs(
        cls, pairs, context_vocabulary, target_vocabulary, batch_size=64, leave_out_long=False
    ):
        """Look up the ids of sentence pairs and batch them.

        Args:
            pairs: pairs with `context` and `target`.
            context_vocabulary: `keras_attention.text.Vocabulary` or `WordPieces` of the context
                sentences.
            target_vocabulary: that of the target sentences.
            batch_size: sentences a batch.
            leave_out_long: whether pairs with a sentence longer than the largest bucket are left
                out, and counted in `left_out`.

        Raises:
            ValueError: a sentence is longer than the largest bucket; the message quotes it.
        """
        context_ids = context_vocabulary.ids(pair.context for pair in pairs)
        target_ids = target_vocabulary.ids(pair.target for pair in pairs)
        longest = _longest(context_ids, target_ids)
        fits = longest <= BUCKETS[-1]
        if len(pairs) and not (fits.any() if leave_out_long else fits.all()):
            row = longest.argmax()
            is_context = (context_ids[row] != 0).sum() == longest[row]
            raise ValueError(
                f"a sentence has at most {BUCKETS[-1]} tokens, got {longest[row]} in "
                f"{shortened(pairs[row][0 if is_context else 1])}"
            )
        batches = cls(context_ids[fits], target_ids[fits], batch_size)
        batches.left_out = int((~fits).sum())
        return batches

    def __len__(self):
        return sum(-(-len(rows) // self.batch_size) for rows in self._rows.values())

    def in_order(self):
        """Return a `tf.data.Dataset` of each pair once, from short to long, for evaluation."""
        import tensorflow as tf

        dataset = self._dataset(lambda: map(self._batch, self._plan()))
        return dataset.apply(tf.data.experimental.assert_cardinality(len(self)))

    def shuffled(self, seed=0, start=0):
        """Return an endless `tf.data.Dataset`, reshuffled at every pass, for training.

        Args:
            seed: of the order, which hangs on nothing else: the same on every machine.
            start: number of the batch with which to begin, so that a run can go on where it was.
        """

        def batches():
            number, skipped = divmod(start, len(self))
            for pass_number in itertools.count(number):
                plan = self._plan(np.random.default_rng((seed, pass_number)))
                yield from map(self._batch, plan[skipped if pass_number == number else 0 :])

        return self._dataset(batches)

    def _plan(self, rng=None):
        """List (bucket, rows) of every batch of a pass, shuffled by `rng` if there is one."""
        plan = []
        for length, rows in self._rows.items():
            rows = rng.permutation(rows) if rng else rows
            starts = range(0, len(rows), self.batch_size)
            plan += [(length, rows[start : start + self.batch_size]) for start in starts]
        return [plan[i] for i in rng.permutation(len(plan))] if rng else plan

    def _batch(self, item):
        length, rows = item
        context = self._take(self.context_ids, rows, length)
        target = self._take(self.target_ids, rows, length + 1)
        context[len(rows) :, 0] = START  # no label, so no loss; yet a token, for every RNN kernel
        labels = target[:, 1:]
        return {"context": context, "target": target[:, :-1] * (labels != 0)}, labels

    def _take(self, ids, rows, length):
        batch = np.zeros((self.batch_size, length), dtype="int32")
        taken = ids[rows, :length]
        batch[: len(rows), : taken.shape[1]] = taken
        return batch

    def _dataset(self, generator):
        import tensorflow as tf

        ids = tf.TensorSpec((self.batch_size, None), tf.int32)
        signature = ({"context": ids, "target": ids}, ids)
        dataset = tf.data.Dataset.from_generator(generator, output_signature=signature).prefetch(4)
        # There is nothing to tune, and the thread that would do so holds up the end of an iterator
        # until its next turn, which comes at doubling intervals of up to a minute.
        options = tf.data.Options()
        options.autotune.enabled = False
        return dataset.with_options(options)


def _longest(context_ids, target_ids):
    """Return how many tokens the longer sentence of each pair has in a batch, (N,)."""
    # The target loses one token to the shift: its input has no [END], its labels no [START].
    return np.maximum((context_ids != 0).sum(1), (target_ids != 0).sum(1) - 1)
