"""Sentence pairs: where they come from, how to split them without a leak, and how to batch them."""

from keras_attention.corpora.alignments import aligned
from keras_attention.corpora.batches import ROWS, Batches
from keras_attention.corpora.grammar import AlignedPair, Grammar
from keras_attention.corpora.joining import join_pairs
from keras_attention.corpora.plans import Plan
from keras_attention.corpora.shapes import BUCKETS, LONGEST, MOST_SHAPES, bucket_of, fit_shapes
from keras_attention.corpora.sources import (
    KNOWN,
    LANGUAGES,
    Pair,
    download_spa_eng,
    load,
    read_pairs,
)
from keras_attention.corpora.splits import Split, fingerprint, held_out, split

__all__ = [
    "AlignedPair",
    "Grammar",
    "KNOWN",
    "LANGUAGES",
    "Pair",
    "load",
    "aligned",
    "download_spa_eng",
    "read_pairs",
    "Split",
    "split",
    "held_out",
    "fingerprint",
    "BUCKETS",
    "LONGEST",
    "MOST_SHAPES",
    "bucket_of",
    "fit_shapes",
    "join_pairs",
    "Plan",
    "ROWS",
    "Batches",
]
