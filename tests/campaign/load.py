"""Many translations in one process, and many clients of one page.

Both must go on as they began: no more memory, no more programs, no slower, and no other answer than
a translation or a clear refusal.
"""

import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from keras_attention import Translator, corpora
from keras_attention.translation import guard, web
from tests.campaign.outcome import Outcome

TRANSLATOR = "spa-eng"
TENTHS = 10
AT_ONCE = 500  # sentences in a call
MOST_GROWTH = 50e6  # bytes
LEAST_SPEED = 0.95  # of the last tenth, in parts of the first
LEAST_SECONDS = 10  # of a tenth; a shorter one says nothing about speed
LONG = 300  # seconds; in less, a page still compiles programs in the second half
MOST_WORDS, MOST_TYPED = 40, 10  # in a text; in one of a page's client
BEAMS, WARM_UP = (1, 1, 1, 4), 15

CLIENTS = {"translate": 26, "slow": 3, "broken": 3}
SECONDS_PER_CASE = 600 / 100_000  # a campaign serves for ten minutes
ANSWERS_IN = 300  # seconds
USUAL = ("Warming up", "Invalid HTTP request received.")  # what the page says on stderr
STATUSES = {  # of what is broken
    "a file": ("/gradio_api/upload", b"x", 403),
    "too long": ("/gradio_api/call/show", b"x" * (guard.MOST_BYTES + 1), 413),
    "no JSON": ("/gradio_api/call/show", b"{", 422),
}


def run(cases: int, number: int, folder: Path, say: Callable) -> list[Outcome]:
    """Translate this many texts, then serve a page for a time in proportion to them."""
    outcomes = []
    for part in (translations, serving):
        begun = time.monotonic()
        outcome = part(cases, random.Random(number), folder)
        outcome.seconds = time.monotonic() - begun
        outcomes.append(outcome)
        say(f"{outcome.what}: {outcome.cases:,} cases, {len(outcome.failures)} failures")
        say(outcome.figures)
    return outcomes


def texts(draw: random.Random, most_words: int = MOST_WORDS) -> Iterator[str]:
    """Yield parts of Spanish texts, of random lengths, without end."""
    words = _words()
    while True:
        length = draw.randint(1, most_words)
        start = draw.randrange(len(words) - length)
        yield " ".join(words[start : start + length])


@cache
def _words():
    return [word for pair in corpora.load("bundled") for word in pair.context.split()]


def translations(cases: int, draw: random.Random, folder: Path) -> Outcome:
    """Translate the same texts ten times, each time in another order."""
    del folder
    outcome = Outcome("load", "translations in one process")
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
        memory.append(resident(os.getpid()))
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
    return outcome


@dataclass
class Heard:
    """What the clients of a page have heard.

    Attributes:
        translations: when each came, and how many seconds it took.
        refusals: the requests that were refused or broken, by reason.
        failures: what should not happen.
    """

    translations: list[tuple[float, float]] = field(default_factory=list)
    refusals: Counter = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def serving(cases: int, draw: random.Random, folder: Path) -> Outcome:
    """Serve the page to 32 clients at once, of which some are slow and some are broken."""
    outcome, heard = Outcome("load", f"a page with {sum(CLIENTS.values())} clients"), Heard()
    _words()  # before the clients ask for them at once
    lasts = max(cases * SECONDS_PER_CASE, 5.0)
    with Page(folder) as page:
        drawn = texts(draw, most_words=MOST_TYPED)
        for beam in BEAMS * WARM_UP:  # compiles the programs of most lengths
            translate(page, next(drawn), beam, heard)
        heard.translations.clear()
        until = time.monotonic() + lasts
        threads = [
            threading.Thread(target=_repeat, args=(kind, page, random.Random(seed), until, heard))
            for kind, count in CLIENTS.items()
            for seed in (draw.random() for _ in range(count))
        ]
        for thread in threads:
            thread.start()
        time.sleep(lasts / 2)
        memory, half = [resident(page.process.pid)], time.monotonic()
        for thread in threads:
            thread.join()
        took = time.monotonic() - half
        memory.append(resident(page.process.pid))
        if not flood(page, heard):
            outcome.fail("a flood of requests was not refused: the queue has no end")
        translate(page, "Hola.", 1, heard)  # it still answers
    if not page.is_local:
        outcome.fail("the page listens to other computers")
    if page.said:
        outcome.fail(f"the page said: {page.said[-200:]}")
    growth = memory[1] - memory[0]
    if lasts > LONG and growth > MOST_GROWTH:
        outcome.fail(f"memory grew by {growth / 1e6:.0f} MB in the second half")
    for failure in heard.failures:
        outcome.fail(failure)
    outcome.cases = len(heard.translations) + heard.refusals.total()
    seconds = [each for moment, each in heard.translations if half < moment < half + took]
    middle, slowest = np.percentile(seconds, (50, 99))
    refusals = ", ".join(f"{count} {why}" for why, count in sorted(heard.refusals.items()))
    outcome.figures = (
        f"{len(seconds) / took:.1f} translations a second in the second half, half of them "
        f"within {middle:.2f} s, 99 % within {slowest:.2f} s; memory {growth / 1e6:+.0f} MB, of "
        f"{memory[0] / 1e9:.1f} GB; bad requests: {refusals}"
    )
    return outcome


class Page:
    """`keras-attention serve` in a process of its own.

    Attributes:
        port: where it listens.
        is_local: whether it listens to this computer alone.
        said: what it wrote to stderr, once it has ended.
    """

    PROGRAM = "from keras_attention_command import main; main()"

    def __init__(self, folder: Path):
        with closing(socket.create_server((web.HOST, 0))) as probe:
            self.port = probe.getsockname()[1]
        self.errors, self.said, self.is_local = folder / "errors", "", False

    def __enter__(self) -> "Page":
        quiet = {k: v for k, v in os.environ.items() if k != "TF_CPP_MIN_LOG_LEVEL"}
        command = [sys.executable, "-c", self.PROGRAM, "serve", TRANSLATOR, "--no-open"]
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                [*command, "--port", str(self.port)],
                env=quiet,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
        line = self.process.stdout.readline() if self.process.stdout else ""
        if not line.startswith("Open "):
            self.process.kill()
            raise RuntimeError(f"the page did not open: {self.errors.read_text()}")
        self.is_local = self._listens() == {f"{web.HOST}:{self.port}"}
        return self

    def __exit__(self, *error: object) -> None:
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
        lines = self.errors.read_text(encoding="utf-8").splitlines()
        self.said = "\n".join(
            line for line in lines if line.strip() and not any(each in line for each in USUAL)
        )

    def _listens(self):
        """Return the addresses at which the process listens."""
        own = {
            os.readlink(each)[8:-1]
            for each in Path(f"/proc/{self.process.pid}/fd").iterdir()
            if os.readlink(each).startswith("socket:")
        }
        found = set()
        for name in ("tcp", "tcp6"):
            for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
                _, local, _, state, *rest = line.split()
                if state == "0A" and rest[5] in own:
                    address, port = local.split(":")
                    host = ".".join(str(byte) for byte in reversed(bytes.fromhex(address)))
                    found.add(f"{host}:{int(port, 16)}")
        return found


def translate(page: Page, text: str, beam: int, heard: Heard) -> None:
    """Have a text translated as a browser does, and note how long it takes."""
    begun = time.monotonic()
    answer = _post(page, "/gradio_api/call/show", json.dumps([text, beam, 0.0, 0]))
    if answer.status != 200:
        heard.failures.append(f"a translation: status {answer.status}")
        return
    shown = _result(page, answer.event)
    if shown is None:
        heard.failures.append("a translation: no answer, or an error")
    elif not re.search('class="(translation|message)"', shown):
        heard.failures.append("a translation: nothing is shown")
    else:
        now = time.monotonic()
        heard.translations.append((now, now - begun))


def flood(page: Page, heard: Heard) -> bool:
    """Send more requests than may wait, hear what becomes of them, and return if some were refused.

    The requests are long, so that they wait.
    """
    body = json.dumps([" ".join(["casa"] * 50), 1, 0.0, 0])
    answers = [_post(page, "/gradio_api/call/show", body) for _ in range(2 * web.MOST_WAITING)]
    refused = sum(answer.status == 503 for answer in answers)
    results = [_result(page, answer.event) for answer in answers if answer.status == 200]
    refused += sum(shown is None for shown in results)
    heard.refusals["for a full queue"] += refused
    return refused > 0


def slow(page: Page, heard: Heard) -> None:
    """Send a request that never ends, a byte at a time; the page must hang up."""
    head = b"POST /gradio_api/call/show HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"
    limit = time.monotonic() + 3 * guard.SECONDS
    with closing(socket.create_connection((web.HOST, page.port), timeout=1)) as connection:
        connection.sendall(head)
        while time.monotonic() < limit:
            try:
                connection.sendall(b"{")
                if not connection.recv(4096):
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        else:
            heard.failures.append("a request without an end is still open")
            return
    heard.refusals["too slow"] += 1


def broken(page: Page, draw: random.Random, heard: Heard) -> None:
    """Send what is no request, a request that must be refused, or hang up too early."""
    what = draw.choice([*STATUSES, "no HTTP", "hung up"])
    if what in STATUSES:
        path, body, status = STATUSES[what]
        found = _post(page, path, body).status
        if found != status:
            heard.failures.append(f"{what}: status {found}, not {status}")
    else:
        with closing(socket.create_connection((web.HOST, page.port), timeout=5)) as connection:
            connection.sendall(
                draw.randbytes(200) + b"\r\n\r\n"
                if what == "no HTTP"
                else b"POST /gradio_api/call/show HTTP/1.1\r\nContent-Le"
            )
    heard.refusals[what] += 1
    time.sleep(0.2)


@dataclass
class Status:
    """The status of an answer, and the number of the event that it begins."""

    status: int
    event: str = ""


def resident(process: int) -> int:
    """Return the bytes of memory that a process holds."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _repeat(kind, page, draw, until, heard):
    """Be a client until a moment."""
    drawn = texts(draw, most_words=MOST_TYPED)
    while time.monotonic() < until:
        try:
            if kind == "slow":
                slow(page, heard)
            elif kind == "broken":
                broken(page, draw, heard)
            else:
                translate(page, next(drawn), draw.choice(BEAMS), heard)
        except OSError as error:
            heard.failures.append(f"{kind}: {type(error).__name__}: {error}")


def _post(page, path, body):
    """Send a request with arguments, or with a body in bytes."""
    if isinstance(body, str):
        body = f'{{"data": {body}}}'.encode()
    with closing(http.client.HTTPConnection(web.HOST, page.port, timeout=ANSWERS_IN)) as connection:
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        said = response.read()
        event = ""
        if response.status == 200:
            with suppress(ValueError, KeyError):
                event = json.loads(said)["event_id"]
        return Status(response.status, event)


def _result(page, event):
    """Return what the page shows at the end of an event, or None."""
    with closing(http.client.HTTPConnection(web.HOST, page.port, timeout=ANSWERS_IN)) as connection:
        connection.request("GET", f"/gradio_api/call/show/{event}")
        said = connection.getresponse().read().decode()
    found = re.search(r"^event: complete\ndata: (.*)$", said, re.MULTILINE)
    return json.loads(found[1])[0] if found else None
