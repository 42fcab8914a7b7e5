"""What all decoding shares: the options that a user may choose, and the result."""

from typing import NamedTuple

from keras_attention.types import Array

PADDING = 0
MOST_TOKENS, MOST_HYPOTHESES = 10_000, 1000  # larger ones exceed the memory of any machine
LOWEST_TEMPERATURE, HIGHEST_TEMPERATURE = 1e-30, 1e30  # beyond, float32 has only 0 and infinity


class Generated(NamedTuple):
    """Generated sentences; beam search adds an axis, best first.

    Attributes:
        tokens: ids (B, L), or (B, W, L) after beam search; 0 after the end token.
        log_probabilities: (B,) or (B, W), the sum of log softmax(logits)[token] over the tokens of
            a sentence, including the end token. The logits are the model's own, before temperature
            and before any id is ruled out.
        finished: (B,) or (B, W), whether the end token came before the limit.
        scores: (B,) or (B, W), by which sentences are sorted: their log probabilities divided by
            the length penalty of beam search; without a beam, the log probabilities.
    """

    tokens: Array
    log_probabilities: Array
    finished: Array
    scores: Array


def check_options(
    *,
    max_length: int = 1,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    beam: int | None = None,
    n_best: int = 1,
    length_penalty: float = 0.0,
) -> None:
    """Check the options of decoding, alone and together.

    Args:
        max_length: maximum number of tokens in a sentence, including the end token.
        temperature: 0 is greedy.
        top_k: None or 0 is off.
        top_p: None or 1 is off.
        beam: number of hypotheses; None is 1.
        n_best: number of hypotheses to return.
        length_penalty: the exponent α.

    Raises:
        ValueError: an option is out of range, or two options conflict.

    Example:
        >>> check_options(max_length=50, beam=4, n_best=5)
        Traceback (most recent call last):
        ValueError: n_best must be at least 1 and at most the beam, 4, got 5
    """
    width = 1 if beam is None else beam
    narrowed = bool(top_k) or top_p not in (None, 1)
    if max_length < 1:
        raise ValueError(f"max_length must be at least 1, got {max_length}")
    if max_length > MOST_TOKENS:
        raise ValueError(f"max_length must be at most {MOST_TOKENS:,}, got {max_length:,}")
    if temperature != 0 and not LOWEST_TEMPERATURE <= temperature <= HIGHEST_TEMPERATURE:
        raise ValueError(
            f"temperature must be 0 (greedy) or from {LOWEST_TEMPERATURE:g} to "
            f"{HIGHEST_TEMPERATURE:g}, got {temperature}"
        )
    if top_k is not None and top_k < 0:
        raise ValueError(f"top_k must be 0 (off) or above, got {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1 (off), got {top_p}")
    if width < 1:
        raise ValueError(f"beam must be at least 1, got {beam}")
    if width > MOST_HYPOTHESES:
        raise ValueError(f"beam must be at most {MOST_HYPOTHESES:,}, got {beam:,}")
    if not 1 <= n_best <= width:
        raise ValueError(f"n_best must be at least 1 and at most the beam, {width}, got {n_best}")
    if not 0 <= length_penalty <= 10:
        raise ValueError(f"length_penalty must be from 0 (off) to 10, got {length_penalty}")
    given = f"got temperature={temperature}, top_k={top_k}, top_p={top_p}"
    if width > 1 and (temperature > 0 or narrowed):
        raise ValueError(
            f"temperature, top_k and top_p are for sampling, not for a beam of {beam}, {given}"
        )
    if narrowed and temperature == 0:
        raise ValueError(f"top_k and top_p are for sampling, at a temperature above 0, {given}")
