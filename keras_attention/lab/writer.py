"""A character model that writes on from a prompt; save and load."""

import json
import textwrap
import zipfile
from contextlib import ExitStack
from pathlib import Path

import keras
import numpy as np
from keras import ops

from keras_attention import __version__
from keras_attention.decoding import check_options, generate
from keras_attention.lab.tasks import Characters
from keras_attention.models import character_attention, continuation, initial_state
from keras_attention.storage import written_whole

FORMAT = 1
MODEL_FILE, CONFIG_FILE = "model.keras", "config.json"
KIND_OF_MODEL = "characters"
MOST_CHARACTERS = 10_000
_NOBODY = -1  # an id that no character has: nothing ends a text


class Writer:
    """A character model with its characters: call it with a prompt.

    Args:
        model: of `build_character_model`.
        characters: `Characters`.
        window: most characters that the model has seen at once in training.
        config: anything else to keep with the model, for JSON.

    Raises:
        ValueError: the model has another number of characters, or the window is too short.
    """

    def __init__(self, model, characters, window, config=None):
        if model.output_shape[-1] != len(characters):
            raise ValueError(
                f"the model writes {model.output_shape[-1]} ids, the characters have "
                f"{len(characters)}: they do not belong together"
            )
        if window < 2:
            raise ValueError(f"window must be at least 2, got {window}")
        self.model, self.characters, self.window = model, characters, window
        self.config = dict(config or {})
        self._attention_view = character_attention(model)
        self._scribes = {}

    def __call__(self, prompt, length=500, *, temperature=0.8, top_k=0, top_p=1.0, seed=0):
        """Write on from a prompt.

        Written in pieces, each by one compiled program that carries the state of the model from
        character to character. A piece begins with the last half of a window of what is there, so
        that the model is never further from its beginning than it was in training.

        Args:
            prompt: at least one character; of a long one only the last half of a window counts.
            length: characters to write.
            temperature: 0 takes the likeliest character; above, characters are drawn.
            top_k: draw among so many of the likeliest characters; 0: among all.
            top_p: draw among the likeliest characters that make up this share; 1: among all.
            seed: random seed.

        Returns:
            What comes after the prompt: a string of `length` characters.

        Raises:
            ValueError: the prompt is empty or has characters that the model does not know, or an
                option is out of range.
        """
        check_writing(prompt, length, seed, temperature=temperature, top_k=top_k, top_p=top_p)
        ids = self.characters.encode(prompt).tolist()
        options = (float(temperature), top_k, top_p)
        if options not in self._scribes:
            self._scribes[options] = Scribe(self.model, self.window, *options)
        scribe, rng, written = self._scribes[options], np.random.default_rng(seed), len(ids)
        while len(ids) < written + length:
            ids += scribe.write(ids[-(self.window // 2) :], rng)
        return self.characters.decode(ids[written : written + length])

    def attend(self, text):
        """Return where each character of a text looked back to.

        Args:
            text: at most a window of characters.

        Returns:
            A list of attention weights, each (H, T, T); empty for a model without attention.

        Raises:
            ValueError: the text is empty, longer than a window, or has unknown characters.
        """
        if not 1 <= len(text) <= self.window:
            raise ValueError(
                f"text must have 1 to {self.window} characters, the window of the model, got "
                f"{len(text)}"
            )
        outputs = self._attention_view.predict_on_batch(self.characters.encode(text)[None])
        return [weights[0] for weights in outputs["decoder_self_attention"]]

    def save(self, folder):
        """Write model and configuration to a folder, made if needed, whole or not at all.

        Raises:
            ValueError: the folder has a model of another kind.
        """
        folder = Path(folder)
        check_place(folder)
        config = {
            **self.config,
            "format": FORMAT,
            "keras_attention": __version__,
            "model": KIND_OF_MODEL,
            "window": self.window,
            "characters": self.characters.letters,
        }
        with ExitStack() as stack:
            model, text = (
                stack.enter_context(written_whole(folder / name))
                for name in (MODEL_FILE, CONFIG_FILE)
            )
            self.model.save(model)
            text.write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", "utf-8")

    @classmethod
    def load(cls, folder):
        """Read what `save` wrote.

        Raises:
            FileNotFoundError: the folder or a file of it is missing; the message says which.
            ValueError: it holds another kind of model, one of a newer version, or a damaged file.
        """
        folder = Path(folder)
        if not folder.is_dir():
            raise FileNotFoundError(f"there is no model folder {folder}")
        missing = [name for name in (CONFIG_FILE, MODEL_FILE) if not (folder / name).is_file()]
        if missing:
            raise FileNotFoundError(
                f"the model folder {folder} is incomplete: {', '.join(missing)} missing"
            )
        config = _read_config(folder / CONFIG_FILE)
        try:
            model = keras.saving.load_model(folder / MODEL_FILE, compile=False)
        except (ValueError, TypeError, KeyError, OSError, zipfile.BadZipFile) as error:
            reason = textwrap.shorten(str(error), 300, placeholder=" …")
            raise ValueError(f"{folder / MODEL_FILE} cannot be loaded: {reason}") from error
        try:
            return cls(model, Characters(config["characters"]), config["window"], config)
        except ValueError as error:
            raise ValueError(
                f"{folder} is damaged, it holds no character model: {error}"
            ) from error


def check_place(folder):
    """Check that a folder has no model of another kind, which would be lost.

    Raises:
        ValueError: it has.
    """
    path = Path(folder) / CONFIG_FILE
    if path.exists():
        try:
            kind = json.loads(path.read_text(encoding="utf-8")).get("model")
        except (ValueError, AttributeError):
            kind = None
        if kind != KIND_OF_MODEL:
            raise ValueError(f"'{folder}' holds another model; give a folder of its own")


def check_writing(prompt, length, seed=0, **options):
    """Check what a `Writer` is called with, but for what hangs on its model.

    Raises:
        ValueError: something is out of range.
    """
    if not prompt:
        raise ValueError("prompt must have at least one character to go on from, got none")
    if not 1 <= length <= MOST_CHARACTERS:
        raise ValueError(f"length must be from 1 to {MOST_CHARACTERS:,} characters, got {length:,}")
    if seed < 0:
        raise ValueError(f"seed must be 0 or above, got {seed}")
    check_options(**options)


class Scribe(keras.Model):
    """The program that reads a prompt and writes until the window is full.

    The prompt is read by the loop that writes: as long as there is a next character in it, that one
    is fed instead of the one that was chosen. So one program serves prompts of any length.
    """

    def __init__(self, model, window, temperature, top_k, top_p):
        super().__init__(name="scribe")
        self.decoder, self.window = continuation(model), window
        self.options = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
        self.compile(jit_compile=keras.backend.backend() != "torch")

    def call(self, inputs):
        prompt = inputs["prompt"]

        def step(chosen, memory, state):
            place, state = state
            given = ops.take_along_axis(memory, place[:, None], axis=1)[:, 0]
            fed = ops.where(given > 0, given, chosen)
            outputs = self.decoder({"ids": fed[:, None], "state": state})
            return outputs["logits"][:, 0], {}, (place + 1, outputs["state"])

        state = initial_state(self.decoder, prompt, slots=self.window)
        generated = generate(
            step,
            prompt,
            (ops.zeros_like(prompt[:, 0]), state),
            max_length=self.window,
            start_id=0,
            end_id=_NOBODY,
            draws=inputs["draws"],
            **self.options,
        )
        return generated.tokens

    def write(self, prompt, rng):
        """Return the ids that come after those of a prompt, up to a whole window and one more."""
        padded = np.zeros((1, self.window), dtype="int32")
        padded[0, : len(prompt)] = prompt
        draws = rng.random((1, self.window), dtype="float32")
        written = self.predict_on_batch({"draws": draws, "prompt": padded})
        return written[0, len(prompt) - 1 :].tolist()


def _read_config(path):
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        version, kind = config["format"], config.get("model")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is not the configuration of a model: {error!r}") from error
    if kind != KIND_OF_MODEL:
        raise ValueError(f"{path} is of another kind of model, not of one that writes characters")
    if version != FORMAT:
        raise ValueError(
            f"{path} has format {version}, this version of keras_attention reads {FORMAT}"
        )
    if not isinstance(config.get("characters"), str) or not isinstance(config.get("window"), int):
        raise ValueError(f"{path} lacks the characters or the window of its model")
    return config
