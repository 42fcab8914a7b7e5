"""A page that 32 clients use at once, some of them slow and some of them broken."""

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
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil

from keras_attention.translation import guard, web
from tests.campaign.load.common import MOST_GROWTH, TRANSLATOR, resident, texts, words
from tests.campaign.outcome import Outcome

LONG = 300  # seconds; in less, a page still compiles programs in the second half
MOST_TYPED = 10  # words
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


def serve_clients(cases: int, draw: random.Random, folder: Path, outcome: Outcome) -> None:
    """Serve the page to 32 clients at once, of which some are slow and some are broken."""
    heard = Heard()
    words()  # before the clients ask for them at once
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
        return {
            f"{each.laddr.ip}:{each.laddr.port}"
            for each in psutil.net_connections("tcp")
            if each.pid == self.process.pid and each.status == psutil.CONN_LISTEN
        }


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
