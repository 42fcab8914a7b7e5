"""With and without attention: the same pairs, the same settings, and BLEU by sentence length."""

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

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

    `ranges` are lengths in tokens, both ends included, `counts` sentences in each; `by_length` has
    a list of BLEU values a contender, on normalised lower-cased words like `overall`; `seconds` is
    what training took here, None where a finished run was found.
    """

    ranges: list
    counts: list
    overall: dict
    by_length: dict
    seconds: dict


def compare(parts, folder, settings=None, *, sources=None, verbose="auto", progress=iter):
    """Train a translator with attention and two without, and score them by sentence length.

    Bahdanau et al. (2015), figure 2, in miniature. The second has a mean over the annotations in
    place of attention, and differs in nothing else; the third is the plain sequence-to-sequence
    model. Runs that are there already, finished or begun, are used.

    Args:
        parts: `train`, `validation` and `test` pairs, such as a `corpora.Split`.
        folder: where the runs go, a folder each, and the results: `comparison.json` and
            `bleu-by-length.png`.
        settings: `runs.Settings`; its model and what belongs to it is each contender's own.
        sources: where the pairs came from, kept with the runs.
        verbose: as in `keras.Model.fit`.
        progress: as for `Translator.generate`.

    Returns:
        A `Comparison`.

    Raises:
        ValueError: a run in the folder has other settings or pairs, or there are no pairs.
    """
    settings, folder = settings or Settings(), Path(folder)
    overall, by_length, seconds = {}, {}, {}
    for name, choices in CONTENDERS.items():
        own = {**dict.fromkeys(CHOICES), **choices}
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
