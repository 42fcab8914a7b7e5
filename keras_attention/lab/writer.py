"""A character model that continues a prompt; saving and loading it."""

import json
import reprlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_attention import __version__
from keras_attention.decoding import check_options, generate
from keras_attention.lab.tasks import Characters
from keras_attention.models import character_attention, continuation, initial_state
from keras_attention.storage import check_fields, check_present, naming, read_json, written_whole
from keras_attention.translation.builders import load_model
from keras_attention.types import Array

FORMAT = 1
MODEL_FILE, CONFIG_FILE = "model.keras", "config.json"
KIND_OF_MODEL = "characters"
MOST_CHARACTERS = 10_000
_NOBODY = -1  # an id that no character has, so that nothing ends a text


class Writer:
    """A character model with its characters; call it with a prompt to continue it.

    Args:
        model: a model from `build_character_model`.
        characters: `Characters`.
        window: the most characters that the model saw at once in training.
        config: further settings to save with the model, as JSON.

    Raises:
        ValueError: the model and the characters differ in their number of ids, or the window is
            too short.
    """

    def __init__(
        self,
        model: keras.Model,
        characters: Characters,
        window: int,
        config: Mapping[str, Any] | None = None,
    ):
        if model.output_shape[-1] != len(characters):
            raise ValueError(
                "model and characters must have the same number of ids, got "
                f"{model.output_shape[-1]} and {len(characters)}"
            )
        if window < 2:
            raise ValueError(f"window must be at least 2, got {window}")
        self.model, self.characters, self.window = model, characters, window
        self.config = dict(config or {})
        self._attention_view = character_attention(model)
        self._scribes: dict[tuple[float, int, float], Scribe] = {}

    def __call__(
        self,
        prompt: str,
        length: int = 500,
        *,
        temperature: float = 0.8,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
    ) -> str:
        """Continue a prompt.

        One compiled program writes the text in pieces, and carries the state of the model from
        character to character. Each piece starts by reading the last half window of the text, so
        that the model is never further from its initial state than in training.

        Args:
            prompt: at least one character; only the last half window of a long prompt counts.
            length: characters to write.
            temperature: 0 takes the likeliest character; above 0, characters are drawn.
            top_k: draw among this many of the likeliest characters; 0: among all.
            top_p: draw among the likeliest characters with this total probability; 1: among all.
            seed: random seed.

        Returns:
            The continuation, without the prompt: a string of `length` characters.

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

    def attend(self, text: str) -> list[np.ndarray]:
        """Return the attention of each character of a text.

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

    def save(self, folder: Path | str) -> None:
        """Write model and configuration to a folder, whole or not at all.

        The folder is created if needed.

        Raises:
            ValueError: the folder holds a model of another kind.
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
    def load(cls, folder: Path | str) -> "Writer":
        """Read what `save` wrote.

        Raises:
            FileNotFoundError: the folder or one of its files is missing; the message says which.
            ValueError: it holds another kind of model, another format, or a damaged file.
        """
        folder = Path(folder)
        if not folder.is_dir():
            raise FileNotFoundError(f"there is no model folder {folder}")
        check_present(folder, (CONFIG_FILE, MODEL_FILE))
        config = _read_config(folder / CONFIG_FILE)
        model = load_model(folder / MODEL_FILE)
        try:
            return cls(model, Characters(config["characters"]), config["window"], config)
        except ValueError as error:
            raise ValueError(
                f"{folder} is damaged and holds no character model: {error}"
            ) from error


def check_place(folder: Path | str) -> None:
    """Check that a folder holds no model of another kind, which saving would overwrite.

    Raises:
        ValueError: it holds one.
    """
    path = Path(folder) / CONFIG_FILE
    if path.exists():
        try:
            kind = json.loads(path.read_text(encoding="utf-8")).get("model")
        except (ValueError, AttributeError):
            kind = None
        if kind != KIND_OF_MODEL:
            raise ValueError(f"'{folder}' holds another model; choose another folder")


def check_writing(prompt: str, length: int, seed: int = 0, **options: Any) -> None:
    """Check the arguments of a `Writer`, except for what depends on its model.

    Raises:
        ValueError: an argument is out of range.
    """
    if not prompt:
        raise ValueError("prompt must have at least one character, got none")
    if not 1 <= length <= MOST_CHARACTERS:
        raise ValueError(f"length must be from 1 to {MOST_CHARACTERS:,} characters, got {length:,}")
    if seed < 0:
        raise ValueError(f"seed must be 0 or above, got {seed}")
    check_options(**options)


class Scribe(keras.Model):
    """The program that reads a prompt and writes until the window is full.

    A single loop reads and writes: while the prompt has a next character, the loop feeds it to the
    model in place of the chosen one. So one program serves prompts of any length.
    """

    def __init__(
        self, model: keras.Model, window: int, temperature: float, top_k: int, top_p: float
    ):
        super().__init__(name="scribe")
        self.decoder, self.window = continuation(model), window
        self.options: dict[str, Any] = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
        self.compile(jit_compile=keras.backend.backend() != "torch")

    def call(self, inputs: Mapping[str, Array]) -> Array:
        """Return the id chosen after each id that is fed, (B, window).

        Args:
            inputs: `"prompt"`, ids (B, window), 0 where it has ended, and `"draws"`, random numbers
                (B, window) from [0, 1).
        """
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

    def write(self, prompt: Sequence[int], rng: np.random.Generator) -> list[int]:
        """Return the ids that follow a prompt; together they are one longer than the window."""
        padded = np.zeros((1, self.window), dtype="int32")
        padded[0, : len(prompt)] = prompt
        draws = rng.random((1, self.window), dtype="float32")
        written = self.predict_on_batch({"draws": draws, "prompt": padded})
        return written[0, len(prompt) - 1 :].tolist()


@dataclass(frozen=True)
class _WriterFields:
    """What the configuration of a writer must hold."""

    model: str
    format: int
    characters: str
    window: int


def _read_config(path):
    config = read_json(path)
    kind = config.get("model") if isinstance(config, dict) else config
    if kind != KIND_OF_MODEL:
        raise ValueError(
            f"{path} describes another kind of model: expected {KIND_OF_MODEL!r}, got "
            f"{reprlib.repr(kind)}"
        )
    if config.get("format") != FORMAT:
        raise ValueError(
            f"{path} has format {config.get('format')}; this version of keras_attention reads "
            f"format {FORMAT}"
        )
    with naming(path):
        check_fields(config, _WriterFields, others=True)
    return config
