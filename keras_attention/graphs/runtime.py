"""A Transformer in ONNX Runtime: its encoder and its step, as decoding calls them."""

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops, tree

from keras_attention.decoding.arrays import at_places
from keras_attention.decoding.logits import Candidates
from keras_attention.graphs.transformer import (
    ALONE,
    CACHED,
    IN_PLACE,
    NOWHERE,
    SEVERAL,
    STEPS,
    check_transformer,
    encoder_graph,
    layers_of,
    rows_graph,
    step_graph,
)
from keras_attention.installing import missing, pip_install
from keras_attention.layers import TransformerDecoderLayer
from keras_attention.menu import NEEDS_OF_ONNX_RUNTIME
from keras_attention.text import PADDING
from keras_attention.types import Array

# With so many slots filled, a token alone is written into a cache in place; with fewer, a copy is
# sooner made than empty slots are read
MOST_COPIED = 64
ROOM = 32  # the empty slots that a full cache gets


class State(NamedTuple):
    """The tokens so far, of W hypotheses for each sentence.

    Attributes:
        seen: booleans (B, W, P), the slots with the tokens of each hypothesis.
        cache: keys and values (B, H, P or more, K) of all slots, by the names of the graph, as ONNX
            Runtime holds them. A step may write into the slots after the first P, which are empty.
    """

    seen: np.ndarray
    cache: dict[str, Any]


class Runtime:
    """The encoder and the step of a Transformer, with the weights that it has now.

    Each call uses one thread, so several threads may call at the same time.

    Args:
        model: a Transformer of this package in float32.
        int8: whether products with weights are of integers of eight bits.

    Raises:
        ImportError: onnx or onnxruntime is not installed.
        ValueError: the model is another one.
    """

    def __init__(self, model: keras.Model, int8: bool = False):
        if lacking := missing(NEEDS_OF_ONNX_RUNTIME):
            names = " and ".join(lacking)
            raise ImportError(f"ONNX Runtime needs {names}: {pip_install('onnxruntime')}")
        check_transformer(model)
        self._encoder = _Session(encoder_graph(model, int8))
        # A session that is not needed would take time and memory
        self._graphs = {kind: step_graph(model, int8, kind) for kind in STEPS}
        self._steps: dict[str, _Session] = {}
        self._lock = threading.Lock()
        self._words = model.output_shape[-1]
        layers = layers_of(model.get_layer("decoder"), TransformerDecoderLayer)
        self._cached = [f"{kind}_{n + 1}" for n in range(len(layers)) for kind in CACHED]
        self._rows = _Session(rows_graph(len(self._encoder.outputs) + len(self._cached)))
        self._depths = layers[0].num_heads, layers[0].key_dim

    def encode(self, context: Array) -> dict[str, Any]:
        """Encode ids (B, S): `{"memory": …, "state": …}`, of sentences without a token."""
        context = np.asarray(ops.convert_to_numpy(context), dtype="int32")
        length = np.flatnonzero((context != PADDING).any(axis=0)).max(initial=0) + 1
        memory = self._encoder({"context": _held(context[:, :length])})
        heads, depth = self._depths
        empty = _held(np.zeros((len(context), heads, 0, depth), dtype="float32"))
        seen = np.ones((len(context), 1, 0), dtype=bool)
        return {"memory": memory, "state": State(seen, dict.fromkeys(self._cached, empty))}

    def step(self, count: int | None = None, alone: bool = True) -> "Step":
        """Return what makes a step, a `Step`.

        Args:
            count: how many of the likeliest tokens it returns; None: all logits.
            alone: whether each sentence has a single hypothesis.
        """
        return Step(self._session, self._rows, self._words, count, alone)

    def _session(self, kind):
        """Return the session of a kind of step, which the first call makes."""
        with self._lock:
            if kind not in self._steps:
                self._steps[kind] = _Session(self._graphs.pop(kind))
        return self._steps[kind]


class Step:
    """Decode one token of each hypothesis: `step(tokens, memory, state) → …, {}, state`.

    It computes at once, without being traced, so a loop may `take` any rows of its tensors. Where
    each sentence has a single hypothesis, it may write into the cache of the state that it takes,
    so that only one step may follow each state.

    Args:
        session: `session(kind)` → that of the graph "step" of a kind.
        rows: of the graph that takes rows of the memory and the cache.
        words: size of the vocabulary, V.
        count, alone: as for `Runtime.step`.

    Call arguments:
        tokens: ids (B·W,), the previous tokens.
        memory, state: from `Runtime.encode`; then the state of the previous step.

    Returns:
        `Candidates`, or logits (B·W, V); no weights; and the next state.
    """

    shares_rows = True

    def __init__(
        self,
        session: Callable[[str], "_Session"],
        rows: "_Session",
        words: int,
        count: int | None,
        alone: bool,
    ):
        self._session, self._rows, self._words, self._alone = session, rows, words, alone
        outputs = session(ALONE if alone else SEVERAL).outputs
        self._outputs = [name for name in outputs if count is None or name != "logits"]
        self._count = _held(np.array([1 if count is None else min(count, words)]))

    def __call__(
        self, tokens: Array, memory: dict[str, Any], state: State
    ) -> tuple[Any, dict[str, Any], State]:
        batch, hypotheses, slots = state.seen.shape
        tokens = np.asarray(tokens, dtype="int32")
        given = {
            "tokens": _held(tokens.reshape(batch, hypotheses)),
            "positions": _held(np.full(hypotheses, slots // hypotheses)),
            "count": self._count,
        }
        kind, cache, written = SEVERAL, state.cache, {}
        if self._alone:  # and so sees every token
            kind, seen = ALONE, np.ones((batch, 1, slots + 1), dtype=bool)
        else:
            seen = _with_own(state.seen)
            given["bias"] = _held(np.where(seen, np.float32(0), NOWHERE)[:, None])
        if self._alone and slots >= MOST_COPIED:
            kind, cache = IN_PLACE, _with_room(cache, slots)
            given |= _at_slot(slots, cache)
            written = {f"next_{name}": tensor for name, tensor in cache.items()}
        found = self._session(kind)({**given, **memory, **cache}, self._outputs, written)
        after = State(seen, {name: found[f"next_{name}"] for name in cache})
        if "logits" in found:
            return found["logits"].numpy()[:, : self._words], {}, after
        return Candidates(found["log_probabilities"].numpy(), found["ids"].numpy()), {}, after

    @staticmethod
    def branch(state: State, hypotheses: int) -> State:
        """Return a state that W hypotheses of each sentence share."""
        return state._replace(seen=np.repeat(state.seen, hypotheses, axis=1))

    @staticmethod
    def follow(state: State, parents: Array) -> State:
        """Return a state in which hypotheses go on from their parents, at (B, W)."""
        return state._replace(seen=at_places(state.seen, parents))

    def take(self, structure: Any, rows: np.ndarray) -> Any:
        """Return rows of all tensors of a structure that has memory and state.

        ONNX Runtime takes those that it holds, all at once.
        """
        from onnxruntime import OrtValue

        leaves = tree.flatten(structure)
        held = [leaf for leaf in leaves if isinstance(leaf, OrtValue)]
        given = {f"tensor_{number}": each for number, each in enumerate(held, start=1)}
        taken = iter(self._rows({"rows": _held(rows), **given}).values())

        def of_rows(leaf):
            if isinstance(leaf, OrtValue):
                return next(taken)
            return None if leaf is None else leaf[rows]

        return tree.pack_sequence_as(structure, map(of_rows, leaves))


def can_compute(model: keras.Model) -> bool:
    """Return whether `Runtime` can compute a model here."""
    if missing(NEEDS_OF_ONNX_RUNTIME):
        return False
    try:
        check_transformer(model)
    except ValueError:
        return False
    return True


class _Session:
    """A graph in ONNX Runtime, called with all inputs by name, in the thread that calls it."""

    def __init__(self, graph):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        providers = ["CPUExecutionProvider"]
        self._session = onnxruntime.InferenceSession(graph, options, providers=providers)
        self.outputs = [output.name for output in self._session.get_outputs()]

    def __call__(self, given, names=None, written=None):
        """Return the outputs with these names, or all, by name; some are `written` into tensors."""
        from onnxruntime import OrtValue

        written = written or {}
        names = [name for name in names or self.outputs if name not in written]
        binding = self._session.io_binding()
        for name, value in given.items():
            binding.bind_ortvalue_input(name, value)
        for name in names:
            binding.bind_output(name)
        for name, value in written.items():
            binding.bind_ortvalue_output(name, value)
        self._session.run_with_iobinding(binding)
        found = binding.get_outputs_as_ortvaluevector()
        # By number: going through the vector itself takes several times as long
        new = {name: OrtValue(found[number]) for number, name in enumerate(names)}
        return {**new, **written}


def _with_own(seen):
    """Let each hypothesis also see its next token: (B, W, P) → (B, W, P + W)."""
    batch, hypotheses, _ = seen.shape
    own = np.broadcast_to(np.eye(hypotheses, dtype=bool), (batch, hypotheses, hypotheses))
    return np.concatenate([seen, own], axis=2)


def _with_room(cache, slots):
    """Return a cache that has an empty slot after so many."""
    if slots < _shape(cache)[2]:
        return cache
    return {name: _with_empty_slots(tensor) for name, tensor in cache.items()}


def _with_empty_slots(tensor):
    filled = tensor.numpy()
    batch, heads, slots, depth = filled.shape
    longer = np.zeros((batch, heads, slots + ROOM, depth), filled.dtype)
    longer[:, :, :slots] = filled
    return _held(longer)


def _at_slot(slot, cache):
    """Return the places (B, H, 1, 3) of a slot in a cache, and a bias that hides those after it."""
    batch, heads, slots, _ = _shape(cache)
    places = np.stack(np.indices((batch, heads, 1), dtype="int64"), axis=-1)
    places[..., 2] = slot
    bias = np.where(np.arange(slots) > slot, NOWHERE, np.float32(0))
    return {"slot": _held(places), "bias": _held(bias[None, None, None])}


def _shape(cache):
    return next(iter(cache.values())).shape()


def _held(array):
    """Return an array as ONNX Runtime holds it, without a copy."""
    from onnxruntime import OrtValue

    return OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array))
