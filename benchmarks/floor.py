"""The two floors: what a loop costs that has no engine around it. Neither checks, asks, records, repairs or survives anything.

(a) `standard`: the bare standard library, `http.client`, `json` and `subprocess.run`. As a script (`python
benchmarks/floor.py standard URL`) it is the floor of a cold start, so nothing else is imported at the top.
(b) `same_libraries`: the libraries that ostinato stands on, anyio, httpx2 and msgspec, put together by hand.
"""

import http.client
import json
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

BASH = {
    "name": "Bash",
    "description": "Run a shell command.",
    "input_schema": {
        "type": "object",
        "properties": {"command": {"type": "string"}},
        "required": ["command"],
    },
}
MAX_TOKENS = 32_000

Tool = Callable[[Mapping[str, Any]], Awaitable[str]]

# ------------------------------------------------------------------------------------------------ (a) standard library


class Standard:
    """A synchronous agent on one connection."""

    def __init__(self, url: str) -> None:
        place = urlsplit(url)
        self._path = f"{place.path}/v1/messages"
        self._connection = http.client.HTTPConnection(place.netloc)

    def run(self, prompt: str) -> Iterator[str]:
        """Pieces of text as they arrive, until the model asks for no more tools."""
        messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
        while True:
            reply: list[dict[str, Any]] = []
            yield from self._stream(messages, reply)
            messages.append({"role": "assistant", "content": reply})
            calls = [block for block in reply if block["type"] == "tool_use"]
            if not calls:
                self._connection.close()
                return
            results = [
                {
                    "type": "tool_result",
                    "tool_use_id": call["id"],
                    "content": run_shell(call["input"]["command"]),
                }
                for call in calls
            ]
            messages.append({"role": "user", "content": results})

    def _stream(self, messages: list[dict[str, Any]], reply: list[dict[str, Any]]) -> Iterator[str]:
        body = {"model": "m", "max_tokens": MAX_TOKENS, "tools": [BASH], "messages": messages, "stream": True}
        headers = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
        self._connection.request("POST", self._path, json.dumps(body).encode(), headers)
        response = self._connection.getresponse()
        pieces: list[str] = []
        for line in response:
            if not line.startswith(b"data:"):
                continue
            event = json.loads(line[5:])
            match event["type"]:
                case "content_block_start":
                    pieces = []
                    reply.append(event["content_block"])
                case "content_block_delta":
                    delta = event["delta"]
                    piece: str = delta.get("text") or delta.get("partial_json") or ""
                    pieces.append(piece)
                    yield piece
                case "content_block_stop":
                    finish(reply[-1], "".join(pieces))
                case _:
                    pass


def finish(block: dict[str, Any], text: str) -> None:
    if block["type"] == "tool_use":
        block["input"] = json.loads(text or "{}")
    else:
        block["text"] = text


def run_shell(command: str) -> str:
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


# ------------------------------------------------------------------------------------------------ (b) same libraries


class SameLibraries:
    """An asynchronous agent. `history` are encoded messages; a pass encodes what is new and joins the rest."""

    def __init__(self, url: str, tools: Mapping[str, Tool], history: list[bytes] | None = None) -> None:
        import httpx2

        self._url = f"{url}/v1/messages"
        self._tools = tools
        self._history = history or []
        self._client = httpx2.AsyncClient(trust_env=False, verify=False)

    async def aclose(self) -> None:
        await self._client.aclose()

    async def run(self, prompt: str) -> AsyncIterator[Any]:
        """Wire events as they arrive."""
        import anyio
        import msgspec

        encode = msgspec.json.encode
        self._history.append(encode({"role": "user", "content": prompt}))
        while True:
            reply: list[dict[str, Any]] = []
            async with self._events() as events:
                async for event in _collected(events, reply):
                    yield event  # ruff: ignore[yield-in-context-manager-in-async-generator] - a floor may be careless
            self._history.append(encode({"role": "assistant", "content": reply}))
            calls = [block for block in reply if block["type"] == "tool_use"]
            if not calls:
                return
            results: list[dict[str, Any]] = [{}] * len(calls)

            async def answer(
                index: int, call: dict[str, Any], results: list[dict[str, Any]] = results
            ) -> None:
                text = await self._tools[call["name"]](call["input"])
                results[index] = {"type": "tool_result", "tool_use_id": call["id"], "content": text}

            async with anyio.create_task_group() as tasks:
                for index, call in enumerate(calls):
                    tasks.start_soon(answer, index, call)
            self._history.append(encode({"role": "user", "content": results}))

    @asynccontextmanager
    async def _events(self) -> AsyncGenerator[AsyncIterator[Any]]:
        body = (
            b'{"model":"m","max_tokens":32000,"messages":[' + b",".join(self._history) + b'],"stream":true}'
        )
        headers = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
        async with self._client.stream("POST", self._url, content=body, headers=headers) as response:
            yield _server_sent(response.aiter_raw())


async def _server_sent(chunks: AsyncIterator[bytes]) -> AsyncIterator[Any]:
    decode = wire_decoder()
    rest = b""
    async for chunk in chunks:
        *events, rest = (rest + chunk).split(b"\n\n")
        for event in events:
            yield decode(event[event.index(b"data: ") + 6 :])


async def _collected(events: AsyncIterator[Any], reply: list[dict[str, Any]]) -> AsyncIterator[Any]:
    pieces: list[str] = []
    async for event in events:
        if event.type == "content_block_delta":
            pieces.append(event.delta.text or event.delta.partial_json or "")
        elif event.type == "content_block_start":
            pieces = []
            reply.append(event.content_block)
        elif event.type == "content_block_stop":
            finish(reply[-1], "".join(pieces))
        yield event


def wire_decoder() -> Callable[[bytes], Any]:
    """Typed, as anybody who cares for speed would write it."""
    import msgspec

    delta = msgspec.defstruct("Delta", [("text", str | None, None), ("partial_json", str | None, None)])
    event = msgspec.defstruct(
        "Event",
        [("type", str), ("delta", delta | None, None), ("content_block", dict[str, Any] | None, None)],
    )
    return msgspec.json.Decoder(event).decode


def main_same_libraries(url: str) -> None:
    import anyio

    async def run() -> None:
        agent = SameLibraries(url, {})
        async for _ in agent.run("hi"):
            pass
        await agent.aclose()

    anyio.run(run)


if __name__ == "__main__":
    if sys.argv[1] == "same_libraries":
        main_same_libraries(sys.argv[2])
    else:
        print("".join(Standard(sys.argv[2]).run("hi")))
