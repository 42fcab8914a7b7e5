"""The programs of every model: its training step, and the program that uses it.

A program is a pure function of a state and a batch, as in Keras' trainer on JAX.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import tree

from keras_attention import lab, models, runs
from keras_attention.decoding import Generator
from keras_attention.lab.writer import Scribe
from keras_attention.models.encoder_decoder import check_sizes
from keras_attention.training import (
    MaskedCrossentropy,
    WarmUp,
    compile_for_training,
)

POLICIES = ("float32", "mixed_bfloat16")
CHARACTERS = 66  # 65 in Tiny Shakespeare, and padding
_OF_TRANSFORMER = ("num_layers", "num_heads", "feed_forward_dim")
STORY_WORDS, SENTENCE_WORDS = 180, 7  # in bAbI's twenty tasks; in one of its sentences


@dataclass(frozen=True)
class Sizes:
    """The sizes of the programs.

    Attributes:
        batch_size: examples per batch, B, over all devices.
        length: tokens of the source and of the target; frames of a clip, sentences of a story,
            steps of a sequence, characters of a text.
        units: width of a model; None: the builder's default.
        vocabulary: number of ids, V; None: the default of `keras-attention train` or of the lab.
        dtype_policy: one of `POLICIES`.
        num_layers: layers of the encoder of a translating Transformer, and of its decoder; None, as
            for the next three: the default of `keras-attention train`.
        num_heads: heads of each of its attentions.
        feed_forward_dim: hidden width of its feed-forward networks.
        optimizer: of a translator.

    Raises:
        ValueError: a size is not positive, or there is no such policy.
    """

    batch_size: int = 64
    length: int = 16
    units: int | None = None
    vocabulary: int | None = None
    dtype_policy: str = "float32"
    num_layers: int | None = None
    num_heads: int | None = None
    feed_forward_dim: int | None = None
    optimizer: str | None = None

    def __post_init__(self):
        sizes = {name: getattr(self, name) for name in ("batch_size", "length")}
        check_sizes(**sizes, **self.given("units", "vocabulary", *_OF_TRANSFORMER))
        if self.dtype_policy not in POLICIES:
            raise ValueError(
                f"dtype_policy must be one of {', '.join(POLICIES)}, got {self.dtype_policy!r}"
            )

    def given(self, *names: str, **renamed: str) -> dict[str, Any]:
        """Return the named sizes that are not None, as arguments of a builder."""
        pairs = {**{name: name for name in names}, **renamed}
        found = {theirs: getattr(self, ours) for theirs, ours in pairs.items()}
        return {name: size for name, size in found.items() if size is not None}

    def ids(self, *shape: int) -> np.ndarray:
        """Return a batch of ids, each example of the given shape."""
        return np.zeros((self.batch_size, *shape), dtype="int32")

    def floats(self, *shape: int) -> np.ndarray:
        """Return a batch of floats, each example of the given shape."""
        return np.zeros((self.batch_size, *shape), dtype="float32")


class Program(NamedTuple):
    """A step of a model.

    Attributes:
        model: a name from `MODELS`.
        step: "training"; "decoding" for the whole loop that writes a sentence, "writing" for the
            loop that writes a text, or "forward".
        function: `function(state, data) → outputs, new state`.
        state: lists of arrays: the weights, and the trainer's other variables.
        data: the batch, a structure of arrays whose first axis is B.
        rounds: maximum number of iterations of a loop of unknown length.
    """

    model: str
    step: str
    function: Callable
    state: tuple[list[Any], ...]
    data: Any
    rounds: int


class _Subject(NamedTuple):
    """A model, compiled for training, with a batch, and the model that uses it."""

    model: keras.Model
    inputs: Any
    targets: Any
    use: str = "forward"
    user: keras.Model | None = None
    used_on: Any = None


def _translator(name, sizes):
    chosen = sizes.given("units", "vocabulary", "optimizer", "dtype_policy")
    if name == "transformer":
        chosen |= sizes.given(*_OF_TRANSFORMER)
    settings = runs.Settings(model=name, **chosen)
    ids = range(settings.vocabulary)
    model = runs.build(settings, ids, ids)
    compile_for_training(
        model,
        settings.learning_rate,
        warm_up=settings.warm_up,
        label_smoothing=settings.label_smoothing,
        optimizer=settings.optimizer,
    )
    return _decoding(model, sizes, sizes.ids(sizes.length))


def _captioner(sizes):
    model = models.build_captioner(
        **sizes.given("units", dtype="dtype_policy", target_vocabulary_size="vocabulary")
    )
    compile_for_training(model)
    return _decoding(model, sizes, sizes.floats(sizes.length, *model.input["context"].shape[2:]))


def _decoding(model, sizes, context):
    encode = models.encode(model, slots=sizes.length)
    generator = Generator(encode, models.step(model), max_length=sizes.length)
    target = sizes.ids(sizes.length)
    inputs = {"context": context, "target": target}
    return _Subject(model, inputs, target, "decoding", generator, {"context": context})


def _characters(kind, sizes):
    model = models.build_character_model(
        kind=kind,
        **{"vocabulary_size": CHARACTERS, **sizes.given("units", vocabulary_size="vocabulary")},
        dtype=sizes.dtype_policy,
    )
    model.compile(
        keras.optimizers.AdamW(WarmUp(2e-3, 1), beta_2=0.99, global_clipnorm=1.0),
        loss=MaskedCrossentropy(),
    )
    ids, draws = sizes.ids(sizes.length), sizes.floats(sizes.length)
    scribe = Scribe(model, sizes.length, temperature=0.8, top_k=0, top_p=1.0)
    return _Subject(model, ids, ids, "writing", scribe, {"draws": draws, "prompt": ids})


def _neural_turing_machine(sizes):
    model = models.build_neural_turing_machine(**sizes.given("units"), dtype=sizes.dtype_policy)
    optimizer = keras.optimizers.RMSprop(1e-4, momentum=0.9, centered=True, global_clipnorm=10.0)
    model.compile(optimizer, loss=lab.algorithms.bits_of_steps)
    channels, bits = model.input_shape[-1], model.output_shape[-1]
    inputs, targets = (sizes.floats(sizes.length, width) for width in (channels, bits))
    return _Subject(model, inputs, targets)


def _memory_network(sizes):
    model = models.build_memory_network(
        **{"vocabulary_size": STORY_WORDS, **sizes.given("units", vocabulary_size="vocabulary")},
        memory_size=max(sizes.length, 50),
        dtype=sizes.dtype_policy,
    )
    optimizer = keras.optimizers.Adam(1e-3, global_clipnorm=40.0)
    model.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    question, story = sizes.ids(SENTENCE_WORDS), sizes.ids(sizes.length, SENTENCE_WORDS)
    return _Subject(model, {"question": question, "story": story}, sizes.ids())


def _glimpses(build, setting, sizes):
    size, scales = lab.glimpses.SIZE, lab.glimpses.SCALES
    model = build(
        (*setting.shape, 1), size=size, scales=scales, **sizes.given("units", dtype="dtype_policy")
    )
    model.compile("adam", metrics=["accuracy"])
    numbers = () if setting.number == 1 else (setting.number,)
    return _Subject(model, sizes.floats(*setting.shape, 1), sizes.ids(*numbers))


_SUBJECTS: dict[str, Callable[[Sizes], _Subject]] = {
    **{name: partial(_translator, name) for name in models.BUILDERS},
    "captioner": _captioner,
    "character-lstm": partial(_characters, "lstm"),
    "character-lstm-attention": partial(_characters, "lstm_attention"),
    "character-transformer": partial(_characters, "transformer"),
    "neural-turing-machine": _neural_turing_machine,
    "memory-network": _memory_network,
    "recurrent-attention": partial(_glimpses, models.build_recurrent_attention, lab.glimpses.ONE),
    "deep-recurrent-attention": partial(
        _glimpses, models.build_deep_recurrent_attention, lab.glimpses.TWO
    ),
}
MODELS = tuple(_SUBJECTS)


def programs_of(name: str, sizes: Sizes) -> list[Program]:
    """Build a model and return its two programs.

    Args:
        name: one of `MODELS`.
        sizes: `Sizes`.

    Returns:
        The `Program` of the training step, and the one that uses the model.

    Raises:
        ValueError: the backend is not JAX, there is no such model, or it cannot have these sizes.
    """
    check_backend()
    check_model(name)
    model, inputs, targets, use, user, used_on = _SUBJECTS[name](sizes)
    training = training_program(model, inputs, targets, name, sizes.length)
    data = inputs if user is None else used_on
    return [training, program_of_use(user or model, data, name, use, sizes.length)]


def training_program(
    model: keras.Model, inputs: Any, targets: Any, name: str, rounds: int = 1
) -> Program:
    """Return the training step of a compiled model.

    Args:
        model: compiled for training, on the JAX backend.
        inputs: a batch, a structure of arrays.
        targets: what the loss compares the outputs with.
        name: for the report.
        rounds: maximum number of iterations of a loop of unknown length.
    """
    _make_variables(model, inputs, targets)
    kept = model.optimizer.variables, model.metrics_variables
    data = (inputs, targets)
    return Program(name, "training", model.train_step, _state(model, *kept), data, rounds)


def program_of_use(
    model: keras.Model, inputs: Any, name: str, step: str = "forward", rounds: int = 1
) -> Program:
    """Return the program that computes the outputs of a model.

    Args:
        model: compiled, on the JAX backend.
        inputs: as for `training_program`.
        name: for the report.
        step: as in `Program`.
        rounds: as for `training_program`.
    """
    if not model.built:
        model(tree.map_structure(lambda x: keras.Input(batch_shape=x.shape, dtype=x.dtype), inputs))
    return Program(name, step, model.predict_step, _state(model), (inputs,), rounds)


def _make_variables(model, inputs, targets):
    """Create the variables of optimizer and metrics, as Keras does at the first batch."""
    import jax

    x, y = tree.map_structure(lambda each: each[:1], (inputs, targets))
    shapes, _ = jax.eval_shape(model.stateless_call, *_state(model), x)
    model.optimizer.build(model.trainable_variables)
    model.compute_metrics(x, y, tree.map_structure(lambda s: np.zeros(s.shape, s.dtype), shapes))
    model.reset_metrics()


def check_backend() -> None:
    """Check that Keras runs on JAX, which compiles programs for TPUs.

    Raises:
        ValueError: it does not.
    """
    backend = keras.backend.backend()
    if backend != "jax":
        raise ValueError(
            f"compiling for a TPU needs Keras on its JAX backend, got {backend}: set "
            "KERAS_BACKEND=jax before Keras is imported"
        )


def check_model(name: str) -> None:
    """Check that there is a model of this name.

    Raises:
        ValueError: there is none.
    """
    if name not in MODELS:
        raise ValueError(f"model must be all or one of {', '.join(MODELS)}, got {name!r}")


def _state(model, *more):
    variables = model.trainable_variables, model.non_trainable_variables, *more
    return tuple([variable.value for variable in each] for each in variables)
