"""What the server of the page refuses: files, large requests, and requests without an end."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

MOST_BYTES = 65_536  # of a request; a text to translate is far shorter
SECONDS = 10  # in which a request must have arrived
WITHOUT_BODY = ("GET", "HEAD", "OPTIONS")  # methods that need no length

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class Guard:
    """ASGI middleware: refuse what a page for sentences has no use for.

    An upload has the answer 403. A request that does not say its length, or comes in chunks, has
    411, and one of more than `most_bytes` has 413. A request that has not arrived in time has 408.
    After each of these the connection is closed.

    Args:
        app: the ASGI application behind it.
        most_bytes: length of the longest request.
        seconds: time in which a request must have arrived.
    """

    def __init__(self, app: Callable, most_bytes: int = MOST_BYTES, seconds: float = SECONDS):
        self.app, self.most_bytes, self.seconds = app, most_bytes, seconds

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            refusal = self._refusal(scope)
            if refusal:
                await _refuse(send, *refusal)
                return
            if scope["method"] not in WITHOUT_BODY:  # an answer to a GET may take longer
                receive, send = self._in_time(receive, send)
        await self.app(scope, receive, send)

    def _refusal(self, scope):
        """Return the status and the reason with which to refuse a request, or None."""
        if scope["path"].rstrip("/").endswith("/upload"):
            return 403, "This page takes no files."
        headers = dict(scope["headers"])
        length = headers.get(b"content-length", b"")
        if not length and scope["method"] in WITHOUT_BODY:
            length = b"0"
        if not length.isdigit() or b"transfer-encoding" in headers:  # chunks overrule a length
            return 411, "A request must say its length."
        if int(length) > self.most_bytes:
            return 413, f"A request has at most {self.most_bytes:,} bytes, got {int(length):,}."
        return None

    def _in_time(self, receive, send):
        """Return `receive` with a deadline until the body has arrived, and a `send` that heeds it.

        In time, both are as before. After the deadline the request is refused; the application
        hears that the client has gone, and what it still sends is dropped.
        """
        deadline = asyncio.get_running_loop().time() + self.seconds
        has_arrived = is_refused = False

        async def received():
            nonlocal has_arrived, is_refused
            if has_arrived:
                return await receive()
            left = deadline - asyncio.get_running_loop().time()
            try:
                message = await asyncio.wait_for(receive(), max(left, 0))
            except asyncio.TimeoutError:  # of Python 3.10, where it is no TimeoutError
                is_refused = True
                await _refuse(send, 408, f"A request must arrive within {self.seconds:g} seconds.")
                return {"type": "http.disconnect"}
            has_arrived = not message.get("more_body", False)
            return message

        async def sent(message):
            if not is_refused:
                await send(message)

        return received, sent


async def _refuse(send, status, reason):
    """Answer with a reason, and close the connection: the rest of the request is not read."""
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": reason.encode()})
