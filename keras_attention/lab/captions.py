"""Captions of clips: with attention over the frames, and with a summary of them in its place."""

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
    "mean": "the same, a mean over frames in its place",
}
PAUSES = (0, 4)  # fewest and most frames before an event; in training (0, 1)
LENGTHS_PICTURE, MAP_PICTURE = "captions-by-length.png", "captions-attention.png"


class Settings(NamedTuple):
    """How much is done."""

    most_events: int = 5
    units: int = 64
    rounds: int = 36  # of fresh clips each
    clips: int = 1920  # a round
    learning_rate: float = 5e-3
    batch_size: int = 64
    tested: int = 200  # clips of each number of events


QUICK = Settings(most_events=2, units=16, rounds=2, clips=64, batch_size=16, tested=16)


def captions(folder, *, seed, quick, verbose):
    """Train captioners that differ in how they read the frames; see which tell what happened.

    They are tested on clips whose neighbouring events are pairs that training never showed; where
    they look also on clips with longer pauses than training had.
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
            encoder_units=settings.units,
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


def draw(settings, seed, count, events, held_out=False, gaps=(0, 1)):
    """Draw clips, and pad them to the size that clips with the most events need."""
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
    """Train on fresh clips, first on those with few events: an event more every few rounds."""
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
    """Yield for each test the share of captions without a wrong word, and of words in their place.

    The captions are written by the model alone, the likeliest word after the other.
    """
    longest = tests[0].ids.shape[1] - 1
    generator = decoding.Generator(models.encode(model), models.step(model), max_length=longest)
    for drawn in tests:
        written = np.asarray(generator.predict_on_batch({"context": drawn.frames})["tokens"])
        yield shares_right(written, drawn.ids[:, 1:])


def shares_right(written, right):
    """Compare captions, ids (N, T): return shares of those that are right, and of right words."""
    same = written == right
    return float(same.all(axis=1).mean()), float(same[right != 0].mean())


def _look(view, drawn):
    """Return the attention weights (N, T, S) of the right captions, fed word by word."""
    inputs = {"context": drawn.frames, "target": drawn.ids[:, :-1]}
    return keras.ops.convert_to_numpy(view.predict_on_batch(inputs)["cross_attention"][0])


def alignment_error_rates(view, tests):
    """Say how often attention, a diagonal and chance are outside of the frames of a word's event.

    Of words that say what is seen. All frames of the event are possible, none is sure, so that the
    alignment error rate is the share of words that are linked to another frame. Chance is a frame
    drawn blindly.
    """
    looked, diagonal, possible, elsewhere = [], [], [], []
    for drawn in tests:
        seen = drawn.frames.any(axis=(2, 3, 4)).sum(axis=1)
        for row, weights in enumerate(_look(view, drawn)):
            words = set(np.flatnonzero(drawn.content[row]))
            length = len(clips.words_of(drawn.ids[row]))
            links = metrics.alignment_from_weights(weights)
            looked.append({link for link in links if link[1] in words})
            links = metrics.diagonal_alignment(int(seen[row]), length)
            diagonal.append({link for link in links if link[1] in words})
            spans = drawn.spans[row]
            elsewhere += [1 - (spans[word][1] - spans[word][0]) / seen[row] for word in words]
            possible.append({(frame, word) for word in words for frame in range(*spans[word])})
    none = [set() for _ in possible]
    return {
        "attention": metrics.alignment_error_rate(looked, none, possible),
        "diagonal": metrics.alignment_error_rate(diagonal, none, possible),
        "chance": float(np.mean(elsewhere)),
    }


def _draw_map(view, drawn, path):
    """Draw where the model looks in the first of some clips."""
    words = clips.words_of(drawn.ids[0])
    frames = drawn.frames[0][drawn.frames[0].any(axis=(1, 2, 3))]
    plot_clip_attention(
        _look(view, drawn)[0, : len(words), : len(frames)],
        words,
        frames,
        spans=drawn.spans[0, : len(words)],
        title="Where a captioner looks before each word",
        path=path,
    )


def _figures(whole, words, rates):
    """Return what was measured, with the bars that it is held to."""
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
    # Events of about equal length lie on a diagonal; pauses that training never had move them off.
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
        says="A captioner that looks at frames one after the other tells long clips as well as "
        "short ones; with a mean over the frames in place of attention it does not.",
        source="Yao et al. (2015), section 3.2",
    )
}
