"""What determines the outcome of a run: the model, its sizes, and how it is trained.

`Settings` is the only table of these: the command line derives its options, their help and their
defaults from it. Keras is loaded only when a `Settings` is created, so that `--help` answers at
once.
"""

import inspect
import math
from dataclasses import dataclass, field, fields
from typing import Any, get_type_hints

from keras_attention.menu import SCORES, option_names
from keras_attention.storage import check_type

# Settings that not every builder has; None is the builder's own default.
CHOICES = (
    *("attention", "score", "half_width", "pooling"),
    *("num_layers", "num_decoder_layers", "num_heads", "feed_forward_dim", "key_dim", "dropout"),
    *("positions", "norm_first", "tied"),
)
SIZES = ("batch_size", "batch_tokens")  # of a batch; a run has one of them
DTYPE_POLICIES = ("float32", "mixed_bfloat16")
TUTORIAL = {  # the recipe of the TensorFlow tutorial for its RNN with attention
    "tokens": "word",
    "units": 256,
    "vocabulary": 5000,
    "batch_size": 64,
    "epochs": 100,
    "steps": 100,
    "patience": 3,
    "optimizer": "adam",
    "learning_rate": 1e-3,
    "warm_up": 0,
    "decay": False,
    "label_smoothing": 0.0,
    "weight_decay": 0.0,
    "joined": 0.0,
}
TRANSFORMER = {  # for an hour or more on two CPU cores, and some 100,000 pairs
    "num_layers": 3,
    "num_heads": 4,
    "feed_forward_dim": 768,
    "dropout": 0.15,
    "norm_first": True,
    "tied": True,
    "tokens": "wordpiece",
    "units": 192,
    "vocabulary": 4000,
    "batch_tokens": 3072,
    "epochs": 24,
    "steps": 400,
    "patience": 24,
    "optimizer": "muon",
    "learning_rate": 3e-3,
    "warm_up": 400,
    "decay": True,
    "label_smoothing": 0.1,
    "weight_decay": 0.2,
    "joined": 0.2,
}


def defaults_of(model: str) -> dict[str, Any]:
    """Return the defaults of `Settings` for a model."""
    return TRANSFORMER if model == "transformer" else TUTORIAL


def _setting(
    description: str,
    default: Any = None,
    *,
    shown: str | None = None,
    panel: str | None = None,
    flags: tuple[str, ...] = (),
) -> Any:
    """Declare a setting: its help text, its default, and how the command line shows both.

    Args:
        description: the help text.
        default: default of the field; None: that of the model, from `defaults_of` or its builder.
        shown: the default as the help shows it; None: as `defaults_of` has it.
        panel: the group of options that it belongs to.
        flags: the names of a switch.
    """
    return field(
        default=default,
        metadata={"help": description, "shown": shown, "panel": panel, "flags": flags},
    )


OF_TRANSFORMER, TRAINING = "The Transformer", "Training"


@dataclass(frozen=True)
class Settings:
    """What determines the outcome of a run; a field that is None takes the model's default.

    The defaults of `defaults_of` are filled in when the settings are created, so
    `dataclasses.replace` keeps them even if it changes the model. `keras-attention train --help`
    explains every field.

    Raises:
        ValueError: a setting has another type or is out of range, or the model does not have it.
    """

    model: str = _setting(
        "`rnn`, the tutorial's; `bilstm`, the lecture's, which attends inside its loop; "
        "`seq2seq`, without attention; or `transformer`, which has attention alone.",
        "rnn",
        shown="rnn",
    )
    attention: str | None = _setting(
        "`multi-head` (rnn), `global`, `local-m` (bilstm), `local-p`, `hard` (with "
        "straight-through gradients); with a state (bilstm): `coverage`, `neural-coverage`, "
        "`location-aware`, `recurrent-location`; a summary that ignores the query: `last`, "
        "`max`, `mean`.",
        shown="multi-head, bilstm: global",
    )
    score: str | None = _setting(
        f"Score of global, local and hard attention: {option_names(SCORES)}.",
        shown="additive, bilstm: two-layer",
    )
    half_width: int | None = _setting(
        "Half width of the window of local attention, in words.", shown="3"
    )
    pooling: str | None = _setting("Pooling of seq2seq: `last`, `max` or `mean`.", shown="last")
    num_layers: int | None = _setting("Layers of the encoder.", panel=OF_TRANSFORMER)
    num_decoder_layers: int | None = _setting(
        "Layers of the decoder.", shown="as in the encoder", panel=OF_TRANSFORMER
    )
    num_heads: int | None = _setting("Heads of each attention.", panel=OF_TRANSFORMER)
    feed_forward_dim: int | None = _setting(
        "Hidden width of the feed-forward networks.", panel=OF_TRANSFORMER
    )
    key_dim: int | None = _setting(
        "Depth of a head.", shown="units / heads; the tutorial has units", panel=OF_TRANSFORMER
    )
    dropout: float | None = _setting("Fraction dropped in training.", panel=OF_TRANSFORMER)
    positions: str | None = _setting(
        "`concatenated`, `interleaved` or `learned`.", shown="concatenated", panel=OF_TRANSFORMER
    )
    norm_first: bool | None = _setting(
        "Pre-norm or post-norm.",
        panel=OF_TRANSFORMER,
        flags=("--norm-first/--norm-last",),
    )
    tied: bool | None = _setting(
        "Whether the target embedding also computes the logits.",
        panel=OF_TRANSFORMER,
        flags=("--tied/--untied",),
    )
    tokens: str = _setting(
        "`word`: lower-cased words, as in the tutorial; `wordpiece`: pieces of words, which "
        "keep case, accents, digits and punctuation."
    )
    units: int = _setting("Width of the model.")
    vocabulary: int = _setting("Largest number of tokens in each language.")
    batch_size: int | None = _setting("Sentences in a batch.", panel=TRAINING)
    batch_tokens: int | None = _setting(
        "Tokens in a batch, in place of a number of sentences: on the side with more of them, "
        "padding included. Short sentences make larger batches.",
        shown=f"a number of sentences, transformer: {TRANSFORMER['batch_tokens']}",
        panel=TRAINING,
    )
    shapes: int | None = _setting(
        "Largest number of shapes to which sentences are padded. XLA compiles a program for each. "
        "A resumed run keeps its number.",
        shown="what pads least, with XLA 8 or fewer",
        panel=TRAINING,
    )
    epochs: int = _setting("Largest number of epochs.", panel=TRAINING)
    steps: int = _setting("Batches in an epoch.", panel=TRAINING)
    patience: int = _setting(
        "Epochs without a better validation loss after which training stops.", panel=TRAINING
    )
    optimizer: str = _setting(
        "`adam`; or `muon`, which turns all directions of a weight matrix by the same amount.",
        panel=TRAINING,
    )
    learning_rate: float = _setting("Learning rate; with a warm-up, its peak.", panel=TRAINING)
    warm_up: int = _setting(
        "Batches until the learning rate reaches its peak; 0: a constant learning rate.",
        panel=TRAINING,
    )
    decay: bool = _setting(
        "After the warm-up, the learning rate falls along a cosine to 0 at the last epoch, or with "
        "the inverse square root of the number of steps.",
        panel=TRAINING,
        flags=("--decay/--no-decay",),
    )
    label_smoothing: float = _setting(
        "Fraction of the right answer that is spread over all tokens.", panel=TRAINING
    )
    weight_decay: float = _setting(
        "Fraction of each weight that a step removes, times the learning rate; `muon` spares "
        "biases and norms.",
        panel=TRAINING,
    )
    joined: float = _setting(
        "Fraction of the sentence pairs that are joined to another one in every pass, so that the "
        "model sees longer sentences.",
        panel=TRAINING,
    )
    dtype_policy: str = _setting(
        "`float32`; or `mixed_bfloat16`, which GPUs and TPUs compute faster, with weights in "
        "float32.",
        "float32",
        shown="float32",
        panel=TRAINING,
    )
    seed: int = _setting(
        "Random seed of the weights and of the order of the batches.",
        0,
        shown="0",
        panel=TRAINING,
    )

    def __post_init__(self) -> None:
        from keras_attention import corpora, models
        from keras_attention.text import KINDS

        is_own_choice, has_size = self.warm_up is not None, bool(self.size)
        for name, value in defaults_of(self.model).items():
            is_replaced = name in SIZES and has_size
            if getattr(self, name) is None and not is_replaced:
                object.__setattr__(self, name, value)
        for name, kind in get_type_hints(Settings).items():
            check_type(getattr(self, name), kind, name)
        if self.model not in models.BUILDERS:
            raise ValueError(
                f"model must be one of {', '.join(models.BUILDERS)}, got {self.model!r}"
            )
        if not is_own_choice:  # a short run warms up in its first tenth
            steps = max(self.epochs * self.steps // 10, 1)
            object.__setattr__(self, "warm_up", min(self.warm_up, steps))
        takes = inspect.signature(models.BUILDERS[self.model]).parameters
        for name in self.choices:
            if name not in takes:
                its_own = ", ".join(each for each in CHOICES if each in takes)
                raise ValueError(
                    f"the model {self.model} has no {name}; it has {its_own}, got "
                    f"{name} {getattr(self, name)!r}"
                )
        if self.tokens not in KINDS:
            raise ValueError(f"tokens must be one of {', '.join(KINDS)}, got {self.tokens!r}")
        if self.dtype_policy not in DTYPE_POLICIES:
            raise ValueError(
                f"dtype_policy must be one of {', '.join(DTYPE_POLICIES)}, got "
                f"{self.dtype_policy!r}"
            )
        if None not in (self.batch_size, self.batch_tokens):
            raise ValueError(
                "a batch has a number of sentences or of tokens: choose batch_size or "
                f"batch_tokens, got {self.batch_size} and {self.batch_tokens}"
            )
        least = dict.fromkeys(("units", "vocabulary", "epochs", "steps", "patience"), 1)
        least |= {"batch_size": 1, "batch_tokens": corpora.ROWS, "shapes": 1, "warm_up": 0}
        for name, smallest in least.items():
            value = getattr(self, name)
            if value is not None and value < smallest:
                raise ValueError(f"{name} must be at least {smallest}, got {value}")
        if self.vocabulary >= 2**31:
            raise ValueError(
                f"vocabulary must be below 2**31, as ids are int32, got {self.vocabulary:,}"
            )
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed must be at least 0 and below 2**32, got {self.seed}")
        if not 0 < self.learning_rate < math.inf:
            raise ValueError(f"learning_rate must be positive, got {self.learning_rate}")
        if self.decay and not 0 < self.warm_up < self.epochs * self.steps:
            raise ValueError(
                "decay needs a warm_up of at least 1 step and fewer than all steps together, got "
                f"{self.warm_up} of {self.epochs * self.steps}; choose another warm_up or no decay"
            )
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(
                f"label_smoothing must be at least 0 and below 1, got {self.label_smoothing}"
            )
        if not 0 <= self.weight_decay < math.inf:
            raise ValueError(f"weight_decay must be at least 0, got {self.weight_decay}")
        if not 0 <= self.joined <= 1:
            raise ValueError(f"joined must be at least 0 and at most 1, got {self.joined}")

    @property
    def size(self) -> dict[str, int]:
        """The size of a batch, as `Batches` takes it: `batch_size` or `batch_tokens`."""
        return {name: getattr(self, name) for name in SIZES if getattr(self, name) is not None}

    @property
    def choices(self) -> dict[str, Any]:
        """The settings that only some models have, by name, where they are given."""
        return {name: getattr(self, name) for name in CHOICES if getattr(self, name) is not None}


Settings.__doc__ = f"{inspect.cleandoc(Settings.__doc__ or '')}\n\nAttributes:\n" + "\n".join(
    f"    {each.name}: {each.metadata['help']}" for each in fields(Settings)
)
