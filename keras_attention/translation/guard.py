"""What the server of the page refuses: files, large requests, and requests without an end."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

MOST_BYTES = 65_536  # of a request; a text to translate is far shorter
SECONDS = 10  # in which a request must have arrived

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class Guard:
    """ASGI middleware: refuse what a page for sentences has no use for.

    An upload has the answer 403. A request that does not say its length has 411, and one of more
    than `most_bytes` has 413. A request that has not arrived in time counts as disconnected.

    Args:
        app: the ASGI application behind it.
        most_bytes: length of the longest request.
        seconds: time in which a request must have arrived.
    """

    def __init__(self, app: Callable, most_bytes: int = MOST_BYTES, seconds: float = SECONDS):
        self.app, self.most_bytes, self.seconds = app, most_bytes, seconds

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] not in ("GET", "HEAD", "OPTIONS"):
            refusal = self._refusal(scope)
            if refusal:
                status, reason = refusal
                kind = (b"content-type", b"text/plain; charset=utf-8")
                await send({"type": "http.response.start", "status": status, "headers": [kind]})
                await send({"type": "http.response.body", "body": reason.encode()})
                return
            receive = self._in_time(receive)
        await self.app(scope, receive, send)

    def _refusal(self, scope):
        """Return the status and the reason with which to refuse a request, or None."""
        if scope["path"].rstrip("/").endswith("/upload"):
            return 403, "This page takes no files."
        length = dict(scope["headers"]).get(b"content-length", b"")
        if not length.isdigit():
            return 411, "A request must say its length."
        if int(length) > self.most_bytes:
            return 413, f"A request has at most {self.most_bytes:,} bytes, got {int(length):,}."
        return None

    def _in_time(self, receive):
        """Return `receive` with a deadline until the body has arrived; later it waits as before."""
        deadline = asyncio.get_running_loop().time() + self.seconds
        has_arrived = False

        async def received():
            nonlocal has_arrived
            if has_arrived:
                return await receive()
            left = deadline - asyncio.get_running_loop().time()
            try:
                message = await asyncio.wait_for(receive(), max(left, 0))
            except asyncio.TimeoutError:  # of Python 3.10, where it is no TimeoutError
                return {"type": "http.disconnect"}
            has_arrived = not message.get("more_body", False)
            return message

        return received
