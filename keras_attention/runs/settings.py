"""What decides the outcome of a run: the model, its sizes, and how it is trained."""

import inspect
import math
from dataclasses import dataclass

from keras_attention import corpora, models
from keras_attention.text import KINDS

# Settings that not every builder has; None is the builder's own default.
CHOICES = (
    *("attention", "score", "half_width", "pooling"),
    *("num_layers", "num_heads", "feed_forward_dim", "key_dim", "dropout"),
    *("positions", "norm_first", "tied"),
)
DTYPE_POLICIES = ("float32", "mixed_bfloat16")
_OF_THE_TUTORIAL = {
    "tokens": "word",
    "units": 256,
    "vocabulary": 5000,
    "batch_size": 64,
    "epochs": 100,
    "steps": 100,
    "patience": 3,
    "learning_rate": 1e-3,
    "warm_up": 0,
    "decay": False,
    "label_smoothing": 0.0,
}
DEFAULTS = {
    **dict.fromkeys(models.BUILDERS, _OF_THE_TUTORIAL),
    "transformer": {
        "tied": True,
        "tokens": "wordpiece",
        "units": 128,
        "vocabulary": 8000,
        "batch_size": 128,
        "epochs": 30,
        "steps": 400,
        "patience": 30,
        "learning_rate": 2e-3,
        "warm_up": 1000,
        "decay": True,
        "label_smoothing": 0.1,
    },
}


@dataclass(frozen=True)
class Settings:
    """What decides the outcome of a run; what is None takes the model's default, see `DEFAULTS`.

    The defaults are taken when the settings are made: `dataclasses.replace` keeps them, also for
    another model.

    Attributes:
        model: name of the builder, a key of `keras_attention.models.BUILDERS`.
        attention: name of an attention that the model can do with, see
            `keras_attention.models.attention_factory`.
        score: name of a score, where model and attention leave a choice.
        half_width: of the window of local attention.
        pooling: of a model without attention.
        num_layers: of a Transformer, as are those down to `tied`; see
            `keras_attention.models.build_transformer`.
        num_heads: heads of each attention.
        feed_forward_dim: hidden width of the feed-forward networks.
        key_dim: depth of a head.
        dropout: fraction that is dropped in training.
        positions: `"concatenated"`, `"interleaved"` or `"learned"`.
        norm_first: whether the norm comes first in each block.
        tied: whether the target embedding makes the logits.
        tokens: `"word"` or `"wordpiece"`, a key of `keras_attention.text.KINDS`.
        units: width of the model.
        vocabulary: most tokens a language.
        batch_size: sentences a batch.
        batch_tokens: tokens a batch in place of sentences, see `keras_attention.corpora.Batches`.
        shapes: most shapes to which sentences are padded. None: up to 8, fewer in a short run,
            where compiling another program takes longer than it saves. A resumed run keeps the
            number that it began with.
        epochs: most epochs.
        steps: batches an epoch.
        patience: epochs without improvement of the validation loss after which training stops.
        learning_rate: of Adam; with `warm_up`, its peak.
        warm_up: batches until the peak of the learning rate; 0: it stays as it is.
        decay: whether the learning rate falls to 0 at the last of all epochs, instead of with the
            root of the steps. Goes with `warm_up`.
        label_smoothing: probability that is taken from the right answer and spread over all tokens.
        dtype_policy: `"float32"`, or `"mixed_bfloat16"`: computed in bfloat16 with weights in
            float32, for GPUs and TPUs that are faster at it.
        seed: of the weights and the order of the batches.
    """

    model: str = "rnn"
    attention: str | None = None
    score: str | None = None
    half_width: int | None = None
    pooling: str | None = None
    num_layers: int | None = None
    num_heads: int | None = None
    feed_forward_dim: int | None = None
    key_dim: int | None = None
    dropout: float | None = None
    positions: str | None = None
    norm_first: bool | None = None
    tied: bool | None = None
    tokens: str | None = None
    units: int | None = None
    vocabulary: int | None = None
    batch_size: int | None = None
    batch_tokens: int | None = None
    shapes: int | None = None
    epochs: int | None = None
    steps: int | None = None
    patience: int | None = None
    learning_rate: float | None = None
    warm_up: int | None = None
    decay: bool | None = None
    label_smoothing: float | None = None
    dtype_policy: str = "float32"
    seed: int = 0

    def __post_init__(self):
        if self.model not in models.BUILDERS:
            raise ValueError(
                f"model must be one of {', '.join(models.BUILDERS)}, got {self.model!r}"
            )
        is_own_choice = self.warm_up is not None
        for name, value in DEFAULTS[self.model].items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
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
        for name in ("units", "vocabulary", "batch_size", "epochs", "steps", "patience"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.shapes is not None and self.shapes < 1:
            raise ValueError(f"shapes must be at least 1, got {self.shapes}")
        if self.batch_tokens is not None and self.batch_tokens < corpora.ROWS:
            raise ValueError(
                f"batch_tokens must be at least {corpora.ROWS}, got {self.batch_tokens}"
            )
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed must be at least 0 and below 2**32, got {self.seed}")
        if not 0 < self.learning_rate < math.inf:
            raise ValueError(f"learning_rate must be positive, got {self.learning_rate}")
        if self.warm_up < 0:
            raise ValueError(f"warm_up must be at least 0, got {self.warm_up}")
        if self.decay and not 0 < self.warm_up < self.epochs * self.steps:
            raise ValueError(
                "decay needs a warm_up of at least 1 and fewer steps than there are in all, got "
                f"{self.warm_up} of {self.epochs * self.steps}; choose another warm_up or no decay"
            )
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(
                f"label_smoothing must be at least 0 and below 1, got {self.label_smoothing}"
            )

    @property
    def choices(self):
        """What was chosen of the model's own settings, by name."""
        return {name: getattr(self, name) for name in CHOICES if getattr(self, name) is not None}
