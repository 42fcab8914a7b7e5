"""A translator while it learns: where it looks, and its BLEU, after every epoch."""

from pathlib import Path

import keras

from keras_attention.translation import evaluation
from keras_attention.translation.translator import read_sentences

EVENTS_FOLDER = "events"


class TranslateEachEpoch(keras.callbacks.Callback):
    """Draw where the model looks in fixed sentences, and score a sample, after every epoch.

    The heat maps are `epoch-0001-1.png`, …, by epoch and number of the sentence, in a folder of
    their own; the scores join the logs, and so the history, as `val_bleu`, on sentences as
    written, and `val_bleu_words`, on normalised lower-cased words. Both are also written for
    TensorBoard, in the folder `events` (`tensorboard --logdir FOLDER`), which needs nothing beside
    TensorFlow. A callback that reads the logs, such as one that stops early, comes after this one.

    Args:
        translator: a `Translator` over the model that is trained.
        folder: where the heat maps go; made when there is something to put into it.
        sentences: those that are drawn.
        sample: pairs with `context` and `target`, of which BLEU is taken.

    Raises:
        ValueError: a sentence has no word that could be translated, or is too long; or the
            translator's model does not say where it looks, and there are sentences to draw.
    """

    def __init__(self, translator, folder, *, sentences=(), sample=()):
        super().__init__()
        self.translator, self.folder = translator, Path(folder)
        self.sentences, self.sample = list(sentences), list(sample)
        read_sentences(self.sentences, translator.context_vocabulary)
        if self.sentences and not translator.heads():
            raise ValueError(
                "sentences are drawn to show where a model looks, and this one has no attention"
            )
        self._events = None

    def on_epoch_end(self, epoch, logs=None):
        scores = self._scores()
        if logs is not None:
            logs.update(scores)
        pictures = self._pictures(epoch + 1)
        if scores or pictures:
            self._events = self._events or Events(self.folder / EVENTS_FOLDER)
            self._events.write(epoch + 1, scores, pictures)

    def on_train_end(self, logs=None):
        if self._events is not None:
            self._events.close()
            self._events = None

    def _scores(self):
        """Return BLEU by name, of the sample if there is one."""
        if not self.sample:
            return {}
        scores = evaluation.bleu(self.translator, self.sample)
        return {"val_bleu": scores.as_written.value, "val_bleu_words": scores.words.value}

    def _pictures(self, epoch):
        """Draw every sentence; return the files by what they show."""
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
        folder: where the file goes.
    """

    def __init__(self, folder):
        import tensorflow as tf

        self._writer = tf.summary.create_file_writer(str(folder))

    def write(self, step, scalars, pictures):
        """Write numbers by name, and PNG files by name, of one step."""
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

    def close(self):
        """End the file."""
        self._writer.close()

    @staticmethod
    def _image(path):
        import tensorflow as tf
        from matplotlib.image import imread

        height, width, depth = imread(path).shape
        return tf.compat.v1.Summary.Image(
            height=height, width=width, colorspace=depth, encoded_image_string=path.read_bytes()
        )
