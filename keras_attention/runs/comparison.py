"""With and without attention: the same pairs, the same settings, and BLEU by sentence length."""

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from keras_attention.plotting import plot_by_length
from keras_attention.runs.run import HISTORY_FILE, ensure
from keras_attention.runs.settings import CHOICES, Settings
from keras_attention.storage import written_whole
from keras_attention.translation import evaluation

RESULTS_FILE, PICTURE_FILE = "comparison.json", "bleu-by-length.png"
CONTENDERS = {
    "attention": {"model": "bilstm"},
    "mean": {"model": "bilstm", "attention": "mean"},
    "last": {"model": "seq2seq"},
}
LABELS = {
    "attention": "with attention (bilstm)",
    "mean": "the same, a mean in place of attention",
    "last": "last state only (seq2seq)",
}


class Comparison(NamedTuple):
    """BLEU of each contender, by name: on all pairs, and by length of the source.

    `ranges` are lengths in tokens, both ends included, and `counts` the sentences in each.
    `by_length` has a list of BLEU values for each contender, on normalised lower-cased words like
    `overall`. `seconds` is the duration of each training, None for a run that had already finished.
    """

    ranges: list[tuple[int, int]]
    counts: list[int]
    overall: dict[str, float]
    by_length: dict[str, list[float]]
    seconds: dict[str, float | None]


def compare(
    parts: Any,
    folder: Path | str,
    settings: Settings | None = None,
    *,
    sources: dict[str, Any] | None = None,
    verbose: str | int = "auto",
    progress: Callable[[Any], Iterable] = iter,
) -> Comparison:
    """Train a translator with attention and two without, and score them by sentence length.

    Figure 2 of Bahdanau et al. (2015) in miniature. The second translator has a mean over the
    annotations instead of attention and is otherwise the same; the third is the plain
    sequence-to-sequence model. Finished runs in the folder are reused, interrupted ones resumed.

    Args:
        parts: `train`, `validation` and `test` pairs, such as a `corpora.Split`.
        folder: folder for the results, `comparison.json` and `bleu-by-length.png`, and for a
            subfolder per run.
        settings: `runs.Settings`; each contender has a model of its own, with that model's choices.
        sources: where the pairs came from; saved with the runs.
        verbose: as in `keras.Model.fit`.
        progress: as for `Translator.generate`.

    Returns:
        A `Comparison`.

    Raises:
        ValueError: a run in the folder has other settings or pairs, or a part has no pairs.
    """
    if not parts.test:
        raise ValueError(
            "test must hold at least one pair, got none; a corpus too small to be split needs "
            "files of its own: --validation dev.tsv --test test.tsv"
        )
    settings, folder = settings or Settings(), Path(folder)
    overall, by_length, seconds = {}, {}, {}
    for name, choices in CONTENDERS.items():
        own: dict[str, Any] = {**dict.fromkeys(CHOICES), **choices}
        found = (folder / name / HISTORY_FILE).is_file()
        start = time.perf_counter()
        translator = ensure(
            parts.train,
            parts.validation,
            folder / name,
            replace(settings, **own),
            sources=sources,
            verbose=verbose,
        )
        seconds[name] = None if found else round(time.perf_counter() - start, 1)
        report = evaluation.evaluate(translator, parts.test, progress=progress)
        overall[name] = report.bleu_words.value
        ranges, counts, by_length[name] = evaluation.bleu_by_length(report.hypotheses, parts.test)
    comparison = Comparison(ranges, counts, overall, by_length, seconds)
    _leave(comparison, folder)
    return comparison


def _leave(comparison, folder):
    with written_whole(folder / RESULTS_FILE) as path:
        path.write_text(json.dumps(comparison._asdict(), indent=2) + "\n")
    plot_by_length(
        comparison.ranges,
        {LABELS[name]: values for name, values in comparison.by_length.items()},
        comparison.counts,
        ylabel="BLEU, lower-cased words",
        path=folder / PICTURE_FILE,
    )
