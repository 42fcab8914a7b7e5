"""How far can a map be believed? Other evidence of where a word comes from, beside the weights.

- `maps`: rollout, value norms, value zeroing.
- `gradients`: gradient × attention, and relevance that sums to the logit.
- `counterfactuals`: the translation without a word, with permuted and with uniform attention.
- `heads`: heads removed one by one, their importance, and the one that agrees with the alignment.
- `scoring`: does the model need the words that a map names?

Every attribution is a function of a `Translator` and one of its translations. `METHODS` lists those
that are maps, and `attribute` returns the translation with such a map in place of its weights, for
the same pictures.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from keras_attention.attributions.counterfactuals import (
    leave_one_out,
    permuted_attention,
    uniform_attention,
)
from keras_attention.attributions.gradients import Relevance, gradient_attention, relevance
from keras_attention.attributions.heads import (
    AlignedHead,
    aligned_head,
    fed_rows,
    head_ablation,
    head_importance,
)
from keras_attention.attributions.maps import roll_out, rollout, value_norms, value_zeroing
from keras_attention.attributions.scoring import (
    Deletion,
    by_words,
    deletion,
    written_words,
)
from keras_attention.translation.result import Translation
from keras_attention.translation.translator import Translator

METHODS: dict[str, Callable[[Translator, Translation], np.ndarray]] = {
    "attention": lambda translator, translation: translation.attention,
    "rollout": rollout,
    "value-norms": value_norms,
    "value-zeroing": value_zeroing,
    "gradient-attention": gradient_attention,
    "relevance": lambda translator, translation: relevance(translator, translation).context,
    "leave-one-out": leave_one_out,
    "alignment": Translator.align,
}

__all__ = [
    "METHODS",
    "AlignedHead",
    "Deletion",
    "Relevance",
    "aligned_head",
    "attribute",
    "by_words",
    "deletion",
    "fed_rows",
    "gradient_attention",
    "head_ablation",
    "head_importance",
    "leave_one_out",
    "named_words",
    "permuted_attention",
    "relevance",
    "roll_out",
    "rollout",
    "uniform_attention",
    "value_norms",
    "value_zeroing",
    "written_words",
]


def named_words(translation: Translation) -> list[tuple[str, str, float]]:
    """Return for each written word of a translation the source word that its weights name.

    Args:
        translation: a `Translation` with weights, such as `attribute` returns.

    Returns:
        A list of (word, source word, part): the part is the source word's of the row, without
        `[START]` and `[END]`. Where no source word has any, the source word is "".
    """
    weights = by_words(translation, translation.attention)
    parts = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)
    words, sources = written_words(translation)
    best = parts.argmax(axis=1)
    return [
        (word, sources[place] if row.any() else "", float(row[place]))
        for word, place, row in zip(words, best, parts, strict=True)
    ]


def attribute(translator: Translator, translation: Translation, method: str) -> Translation:
    """Return a translation with an attribution in place of its weights, for its pictures.

    Only what speaks for a source token is drawn: negative numbers become 0, and each row is divided
    by its sum.

    Args:
        translator: a `Translator`.
        translation: a `Translation` of one sentence.
        method: a name in `METHODS`.

    Returns:
        The `Translation`, whose `"cross_attention"` is the map, one for each layer if the method
        has them.

    Raises:
        ValueError: there is no such method, or the model does not allow it.

    Example: `attribute(translator, translator("¿Dónde está?"), "relevance").plot("relevance.png")`
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    found = np.maximum(METHODS[method](translator, translation), 0.0)
    found = found / np.maximum(found.sum(axis=-1, keepdims=True), 1e-12)
    layers = [found] if found.ndim == 2 else list(found)
    return replace(translation, weights={"cross_attention": layers})
