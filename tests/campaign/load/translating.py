"""The same texts, again and again, in one process."""

import random
import time
from pathlib import Path

import numpy as np

from keras_attention import Translator
from tests.campaign.load.common import MOST_GROWTH, TRANSLATOR, resident, texts
from tests.campaign.outcome import Outcome

TENTHS = 10
AT_ONCE = 500  # sentences in a call
LEAST_SPEED = 0.95  # of the last tenth, in parts of the first
LEAST_SECONDS = 10  # of a tenth; a shorter one says nothing about speed


def translations(cases: int, draw: random.Random, folder: Path, outcome: Outcome) -> None:
    """Translate the same texts ten times, each time in another order."""
    del folder
    translator = Translator.load(TRANSLATOR)
    drawn = [text for text, _ in zip(texts(draw), range(max(cases // TENTHS, 1)), strict=False)]

    def translate():
        begun = time.monotonic()
        for start in range(0, len(drawn), AT_ONCE):
            found = translator(drawn[start : start + AT_ONCE])
            outcome.cases += len(found)
            for each in found:
                if not all(np.isfinite(weights).all() for weights in each.weights.values()):
                    outcome.fail("a weight is no number")
        return time.monotonic() - begun

    translate()  # compiles
    outcome.cases = 0
    seconds, memory, programs = [], [], []
    for _ in range(TENTHS):
        draw.shuffle(drawn)
        seconds.append(translate())
        memory.append(resident())
        programs.append(translator.programs)
    growth, speed = memory[-1] - memory[0], seconds[0] / seconds[-1]
    if growth > MOST_GROWTH:
        outcome.fail(f"memory grew by {growth / 1e6:.0f} MB")
    if len(set(programs)) > 1:
        outcome.fail(f"programs: {programs[0]} at first, {programs[-1]} at last")
    if seconds[0] > LEAST_SECONDS and speed < LEAST_SPEED:
        outcome.fail(f"the last tenth has {speed:.0%} of the speed of the first")
    outcome.figures = (
        f"{outcome.cases / sum(seconds):,.0f} a second; speed of the last tenth {speed:.0%} of the "
        f"first; {programs[-1]} programs; memory {growth / 1e6:+.0f} MB of {memory[0] / 1e9:.1f} GB"
    )
