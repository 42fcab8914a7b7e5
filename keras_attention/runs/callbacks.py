"""Follow a translator during training: its attention and its BLEU after every epoch."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import keras

from keras_attention.text import shortened
from keras_attention.text.tokens import check_several
from keras_attention.translation import evaluation
from keras_attention.translation.translator import Translator, read_sentences

EVENTS_FOLDER = "events"


class TranslateEachEpoch(keras.callbacks.Callback):
    """Draw the attention in fixed sentences, and score a sample, after every epoch.

    The heat maps are `epoch-0001-1.png` and so on, by epoch and number of the sentence. The scores
    join the logs, and so the history: `val_bleu` on sentences as written, and `val_bleu_words` on
    normalised lower-cased words. The folder `events` holds both for TensorBoard
    (`tensorboard --logdir FOLDER`); writing it needs only TensorFlow. A callback that reads the
    logs, such as one that stops early, comes after this one.

    Args:
        translator: a `Translator` over the model that is trained.
        folder: folder for the heat maps and events; created when the first is written.
        sentences: the sentences to draw.
        sample: pairs with `context` and `target`, to score by BLEU.

    Raises:
        ValueError: a sentence has no word to translate, or is too long; or there are sentences to
            draw but the model has no attention, or a single string in place of a list.
    """

    def __init__(
        self,
        translator: Translator,
        folder: Path | str,
        *,
        sentences: Iterable[str] = (),
        sample: Iterable[Any] = (),
    ):
        super().__init__()
        self.translator, self.folder = translator, Path(folder)
        self.sentences, self.sample = check_several(sentences), list(sample)
        most = translator.longest
        parts = read_sentences(self.sentences, translator.context_vocabulary, most)
        for sentence, each in zip(self.sentences, parts, strict=True):
            if len(each) > 1:
                raise ValueError(
                    f"a sentence to draw has at most {most} tokens, got more in "
                    f"{shortened(sentence)}"
                )
        if self.sentences and not translator.heads():
            raise ValueError(
                "this model has no attention to draw, got "
                f"{len(self.sentences)} sentences; leave them out"
            )
        self._events: Events | None = None

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        scores = self._scores()
        if logs is not None:
            logs.update(scores)
        pictures = self._pictures(epoch + 1)
        if scores or pictures:
            self._events = self._events or Events(self.folder / EVENTS_FOLDER)
            self._events.write(epoch + 1, scores, pictures)

    def on_train_end(self, logs: dict[str, float] | None = None) -> None:
        if self._events is not None:
            self._events.close()
            self._events = None

    def _scores(self):
        """Return the BLEU scores of the sample by name; none without a sample."""
        if not self.sample:
            return {}
        scores = evaluation.bleu(self.translator, self.sample)
        return {"val_bleu": scores.as_written.value, "val_bleu_words": scores.words.value}

    def _pictures(self, epoch):
        """Draw every sentence; return the files by their titles."""
        if not self.sentences:
            return {}
        self.folder.mkdir(parents=True, exist_ok=True)
        pictures = {}
        for number, translation in enumerate(self.translator(self.sentences), start=1):
            path = self.folder / f"epoch-{epoch:04d}-{number}.png"
            translation.plot(path, title=f"epoch {epoch}")
            pictures[f"sentence {number}: {translation.source}"] = path
        return pictures


class Events:
    """A file of events as TensorBoard reads them, written by TensorFlow alone.

    Args:
        folder: folder of the file.
    """

    def __init__(self, folder: Path | str):
        import tensorflow as tf

        self._writer = tf.summary.create_file_writer(str(folder))

    def write(self, step: int, scalars: dict[str, float], pictures: dict[str, Path]) -> None:
        """Write the numbers and the PNG files of one step, both given by name."""
        import tensorflow as tf

        # `tf.summary.image` needs the package tensorboard; these protocol buffers do not.
        values = [
            tf.compat.v1.Summary.Value(tag=name, simple_value=value)
            for name, value in scalars.items()
        ]
        values += [
            tf.compat.v1.Summary.Value(tag=name, image=self._image(path))
            for name, path in pictures.items()
        ]
        with self._writer.as_default():
            summary = tf.compat.v1.Summary(value=values)
            tf.summary.experimental.write_raw_pb(summary.SerializeToString(), step=step)
        self._writer.flush()

    def close(self) -> None:
        """Close the file."""
        self._writer.close()

    @staticmethod
    def _image(path):
        import tensorflow as tf
        from matplotlib.image import imread

        height, width, depth = imread(path).shape
        return tf.compat.v1.Summary.Image(
            height=height, width=width, colorspace=depth, encoded_image_string=path.read_bytes()
        )
