"""Captions of clips: attention over the frames compared with their mean."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np

from keras_attention import decoding, metrics, models, training
from keras_attention.lab.experiment import Experiment
from keras_attention.lab.report import Figure
from keras_attention.lab.tasks import clips
from keras_attention.plotting import plot_clip_attention, plot_curves

CONTENDERS = {
    "attention": "with attention",
    "mean": "with the mean of the frames",
}
PAUSES = (0, 4)  # fewest and most frames before an event; (0, 1) in training
LENGTHS_PICTURE, MAP_PICTURE = "captions-by-length.png", "captions-attention.png"


class Settings(NamedTuple):
    """The size of the experiment."""

    most_events: int = 5
    units: int = 64
    rounds: int = 54  # each on fresh clips
    clips: int = 1920  # per round
    learning_rate: float = 5e-3
    batch_size: int = 64
    tested: int = 200  # clips for each number of events


QUICK = Settings(most_events=2, units=16, rounds=2, clips=64, batch_size=16, tested=16)


def captions(
    folder: Path, *, seed: int, quick: bool, verbose: int | str
) -> tuple[list[Figure], list[str]]:
    """Train captioners that read the frames in different ways, and compare their captions.

    In the test clips, neighbouring events form pairs that training never showed. The attention is
    also tested on clips with longer pauses than in training.
    """
    settings = QUICK if quick else Settings()
    numbers = range(1, settings.most_events + 1)
    tests = [
        draw(settings, [seed, 1, events], settings.tested, (events, events), held_out=True)
        for events in numbers
    ]
    paused = [
        draw(settings, [seed, 2, events], settings.tested, (events, events), True, PAUSES)
        for events in numbers
    ]
    whole, words, rates = {}, {}, {}
    for name, label in CONTENDERS.items():
        model = models.build_captioner(
            frame_shape=tests[0].frames.shape[2:],
            target_vocabulary_size=len(clips.WORDS),
            units=settings.units,
            attention="global" if name == "attention" else name,
            name=name,
        )
        if verbose:
            print(f"Training {label}")
        _train(model, settings, seed, verbose)
        whole[name], words[name] = zip(*_scores(model, tests), strict=True)
        if name == "attention":
            view = models.attention(model)
            rates["clips as in training"] = alignment_error_rates(view, tests)
            rates["longer pauses"] = alignment_error_rates(view, paused)
            _draw_map(view, paused[min(2, len(paused) - 1)], folder / MAP_PICTURE)
    plot_curves(
        {
            label: ([*map(str, numbers)], 100 * np.array(whole[n]))
            for n, label in CONTENDERS.items()
        },
        xlabel="events in a clip",
        ylabel="captions without a wrong word, %",
        title="Captions of clips with pairs of events that training never showed",
        path=folder / LENGTHS_PICTURE,
    )
    return _figures(whole, words, rates), [LENGTHS_PICTURE, MAP_PICTURE]


def draw(
    settings: Settings,
    seed: Sequence[int],
    count: int,
    events: tuple[int, int],
    held_out: bool = False,
    gaps: tuple[int, int] = (0, 1),
) -> clips.Clips:
    """Draw clips, and pad them to the size of clips with the most events."""
    rng = np.random.default_rng(seed)
    drawn = clips.draw_clips(rng, count, events, held_out=held_out, gaps=gaps)
    frames, ids, spans, most = drawn.frames, drawn.ids, drawn.spans, events[1]

    def padded(array, missing):
        missing *= settings.most_events - most
        return np.pad(array, [(0, 0), (0, missing // most), *[(0, 0)] * (array.ndim - 2)])

    return drawn._replace(
        frames=padded(frames, frames.shape[1]),
        ids=padded(ids, spans.shape[1]),
        spans=padded(spans, spans.shape[1]),
    )


def _train(model, settings, seed, verbose):
    """Train on fresh clips, with at most one event at first and more every few rounds."""
    steps = settings.rounds * (settings.clips // settings.batch_size)
    training.compile_for_training(
        model, settings.learning_rate, warm_up=max(steps // 20, 1), decay_steps=steps
    )
    divergence = training.StopOnDivergence()
    for number in range(settings.rounds):
        most = min(1 + 10 * number // settings.rounds, settings.most_events)
        drawn = draw(settings, [seed, 0, number], settings.clips, (1, most))
        model.fit(
            {"context": drawn.frames, "target": drawn.ids[:, :-1]},
            drawn.ids[:, 1:],
            batch_size=settings.batch_size,
            verbose=verbose,
            initial_epoch=number,
            epochs=number + 1,
            callbacks=[divergence],
        )


def _scores(model, tests):
    """Yield for each test the fractions of captions without a wrong word and of right words.

    The model writes the captions by greedy decoding, without teacher forcing.
    """
    longest = tests[0].ids.shape[1] - 1
    generator = decoding.Generator(models.encode(model), models.step(model), max_length=longest)
    for drawn in tests:
        written = np.asarray(generator.predict_on_batch({"context": drawn.frames})["tokens"])
        yield shares_right(written, drawn.ids[:, 1:])


def shares_right(written: np.ndarray, right: np.ndarray) -> tuple[float, float]:
    """Compare captions, ids (N, T); return the fractions of right captions and of right words."""
    same = written == right
    return float(same.all(axis=1).mean()), float(same[right != 0].mean())


def _look(view, drawn):
    """Return the attention weights (N, T, S) of the right captions, by teacher forcing."""
    inputs = {"context": drawn.frames, "target": drawn.ids[:, :-1]}
    return keras.ops.convert_to_numpy(view.predict_on_batch(inputs)["cross_attention"][0])


def alignment_error_rates(view: keras.Model, tests: Sequence[clips.Clips]) -> dict[str, float]:
    """Return the alignment error rates of attention, of a diagonal and of chance.

    Only content words count. All frames of a word's event are possible links and none is sure, so
    the rate is the fraction of words linked to a frame outside their event. Chance links a word to
    a random frame.
    """
    looked, diagonal, possible, elsewhere = [], [], [], []
    for drawn in tests:
        seen = drawn.frames.any(axis=(2, 3, 4)).sum(axis=1)
        for row, weights in enumerate(_look(view, drawn)):
            words = set(np.flatnonzero(drawn.content[row]).tolist())
            length = len(clips.words_of(drawn.ids[row]))
            links = metrics.alignment_from_weights(weights)
            looked.append({link for link in links if link[1] in words})
            links = metrics.diagonal_alignment(int(seen[row]), length)
            diagonal.append({link for link in links if link[1] in words})
            spans = drawn.spans[row]
            elsewhere += [1 - (spans[word][1] - spans[word][0]) / seen[row] for word in words]
            possible.append({(frame, word) for word in words for frame in range(*spans[word])})
    none: list[set[tuple[int, int]]] = [set() for _ in possible]
    return {
        "attention": metrics.alignment_error_rate(looked, none, possible),
        "diagonal": metrics.alignment_error_rate(diagonal, none, possible),
        "chance": float(np.mean(elsewhere)),
    }


def _draw_map(view, drawn, path):
    """Draw what the model attends to in the first clip."""
    words = clips.words_of(drawn.ids[0])
    frames = drawn.frames[0][drawn.frames[0].any(axis=(1, 2, 3))]
    plot_clip_attention(
        _look(view, drawn)[0, : len(words), : len(frames)],
        words,
        frames,
        spans=drawn.spans[0, : len(words)],
        title="What a captioner attends to before each word",
        path=path,
    )


def _figures(whole, words, rates):
    """Return the figures with their bars."""
    most = len(whole["attention"])
    bars = {
        "attention": {"whole": {"at_least": 0.9}, "words": {"at_least": 0.97}},
        "mean": {"whole": {"at_most": 0.5}, "words": {}},
    }
    figures = []
    for name in CONTENDERS:
        for place, share in enumerate(whole[name]):
            bar = bars[name]["whole"] if place + 1 == most or name == "attention" else {}
            title = f"captions right, {_events(place + 1)}, {name}"
            figures.append(Figure(title, share, "share", **bar))
        share = words[name][-1]
        figures.append(
            Figure(f"words right, {_events(most)}, {name}", share, "share", **bars[name]["words"])
        )
    # Events of about equal length lie on a diagonal; the longer pauses move them off it.
    held = {"attention": {"at_most": 0.2}, "diagonal": {"at_least": 0.25}}
    for which, measured in rates.items():
        for name, rate in measured.items():
            easy = which == "clips as in training" and name == "diagonal"
            bar = {} if easy else held.get(name, {})
            title = f"alignment error rate, {which}, {name}"
            figures.append(Figure(title, rate, "share", **bar))
    return figures


def _events(number):
    return "1 event" if number == 1 else f"{number} events"


EXPERIMENTS = {
    "captions": Experiment(
        run=captions,
        says="With attention over the frames a captioner describes long clips as well as short "
        "ones; with the mean of the frames it does not.",
        source="Yao et al. (2015), section 3.2",
        seeds=(0, 1, 2),
    )
}
