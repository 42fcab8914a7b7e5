"""What the server of the page refuses, as an ASGI application sees it."""

import asyncio

import pytest

from keras_attention.translation.guard import Guard

JSON = [(b"content-length", b"7")]


async def echo(scope, receive, send):
    """Answer with what arrives, or that the client has gone."""
    body, message = b"", {"more_body": True}
    while message.get("more_body"):
        message = await receive()
        if message["type"] == "http.disconnect":
            await send({"type": "http.response.start", "status": 400, "headers": []})
            return
        body += message["body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def answered(path="/call", headers=JSON, method="POST", parts=(b"a sente", b""), seconds=5.0):
    """Return the status and the body of an answer; a refusal ends the connection."""
    scope = {"type": "http", "method": method, "path": path, "headers": headers}
    waiting, sent = list(parts), []

    async def receive():
        if not waiting:
            await asyncio.sleep(60)
        body = waiting.pop(0)
        return {"type": "http.request", "body": body, "more_body": body != b""}

    async def send(message):
        sent.append(message)

    asyncio.run(Guard(echo, most_bytes=7, seconds=seconds)(scope, receive, send))
    start, body = sent
    assert (start["status"] == 200) ^ ((b"connection", b"close") in start["headers"])
    return start["status"], body["body"].decode()


def test_a_short_request_arrives_as_it_is():
    assert answered() == (200, "a sente")


@pytest.mark.parametrize("path", ["/upload", "/gradio_api/upload", "/gradio_api/upload/"])
def test_files_are_refused(path):
    assert answered(path) == (403, "This page takes no files.")


def test_a_long_request_is_refused_before_it_is_read():
    headers = [(b"content-length", b"8")]
    assert answered(headers=headers) == (413, "A request has at most 7 bytes, got 8.")


CHUNKS = (b"transfer-encoding", b"chunked")


@pytest.mark.parametrize("headers", [[], [(b"content-length", b"-1")], [*JSON, CHUNKS], [CHUNKS]])
def test_a_request_must_say_its_length(headers):
    assert answered(headers=headers) == (411, "A request must say its length.")


def test_a_page_is_given_without_a_length():
    assert answered(method="GET", headers=[], parts=(b"",)) == (200, "")


def test_an_application_may_take_its_time_to_answer_a_request_for_a_page():
    assert answered(method="GET", headers=[], parts=(b"",), seconds=0) == (200, "")


def test_a_request_for_a_page_has_no_endless_body():
    refused = 411, "A request must say its length."
    assert answered(method="GET", headers=[CHUNKS]) == refused


def test_a_request_that_does_not_end_is_refused():
    refused = 408, "A request must arrive within 0.05 seconds."
    assert answered(parts=(b"a",), seconds=0.05) == refused


def test_what_is_no_request_passes():
    seen = []

    async def app(scope, receive, send):
        seen.append(scope)

    asyncio.run(Guard(app)({"type": "lifespan"}, None, None))
    assert seen == [{"type": "lifespan"}]
