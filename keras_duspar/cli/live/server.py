"""The server of the page: files, and a WebSocket for each visitor.

It listens on this machine alone. A page of another origin is refused, and so
is a message that is too long. A visitor gets its answers before its next
message is read: who reads slowly or sends fast fills the buffers of its own
connection, whose sizes are fixed, and nothing else.
"""

import asyncio
import json
import pathlib
import socket

import keras_duspar
from keras_duspar.utils.optional import optional_package

ADDRESS = "127.0.0.1"
MESSAGE = 1 << 16  # bytes of a message, at most
VISITORS = 8  # at a time
PATIENCE = 10.0  # seconds that an answer may take to be sent

HERE = pathlib.Path(__file__).parent
SHARED = pathlib.Path(keras_duspar.__file__).parent / "micro" / "web"
FILES = {
    "/": HERE / "index.html",
    **{f"/{path.name}": path for path in HERE.glob("*.js")},
    "/live.css": HERE / "live.css",
    **{f"/{n}": SHARED / n for n in ("style.css", "shared.js", "sound.js")},
}
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


def make_app(make_session, port):
    """The application.

    Args:
        make_session: Callable without arguments that returns a new `Session`.
        port: Integer, where it will listen.
    """
    applications = optional_package("starlette.applications", "live")
    from starlette.middleware import Middleware  # noqa: PLC0415
    from starlette.middleware import trustedhost  # noqa: PLC0415
    from starlette.responses import FileResponse  # noqa: PLC0415
    from starlette.routing import Route  # noqa: PLC0415
    from starlette.routing import WebSocketRoute  # noqa: PLC0415

    hosts = (ADDRESS, "localhost")
    origins = [f"http://{host}:{port}" for host in hosts]
    visitors = set()

    async def file(request):
        return FileResponse(FILES[request.url.path], headers=HEADERS)

    async def stream(websocket):
        if websocket.headers.get("origin") not in origins:
            await websocket.close(1008)  # before it is accepted: 403
            return
        await websocket.accept()
        if len(visitors) >= VISITORS:
            await websocket.close(1013, f"There are {VISITORS} visitors.")
            return
        visitors.add(websocket)
        try:
            await listen(websocket, make_session)
        finally:
            visitors.discard(websocket)

    # A name that is not ours may be one that leads here by a trick.
    trusted = Middleware(trustedhost.TrustedHostMiddleware, list(hosts))
    return applications.Starlette(
        routes=[
            *(Route(path, file) for path in FILES),
            WebSocketRoute("/stream", stream),
        ],
        middleware=[trusted],
    )


async def listen(websocket, make_session):
    """Answers a visitor's messages, one after the other, until it leaves."""
    from starlette.concurrency import run_in_threadpool  # noqa: PLC0415
    from starlette.websockets import WebSocketDisconnect  # noqa: PLC0415

    async def send(message):
        if isinstance(message, dict):
            sending = websocket.send_text(json.dumps(message))
        else:
            sending = websocket.send_bytes(message)
        await asyncio.wait_for(sending, PATIENCE)

    try:
        session = await run_in_threadpool(make_session)
        await send(session.about())
        while True:
            message = await websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            if message.get("bytes") is None:
                session.begin(json.loads(message["text"]))
                continue
            found = await run_in_threadpool(session.push, message["bytes"])
            for answer in filter(None, found):
                await send(answer)
    except ValueError as error:  # about what the visitor has sent
        await websocket.close(1008, " ".join(str(error).split())[:120])
    except (WebSocketDisconnect, TimeoutError):
        pass  # has left, or does not read


def open_server(make_session, port):
    """A server that is ready to run, and the address of its page.

    Args:
        make_session: Callable without arguments that returns a new `Session`.
        port: Integer, 0 for any that is free.
    """
    uvicorn = optional_package("uvicorn", "live")
    optional_package("websockets", "live")
    listener = socket.create_server((ADDRESS, port))
    port = listener.getsockname()[1]
    config = uvicorn.Config(
        make_app(make_session, port),
        log_level="warning",
        lifespan="off",
        ws_max_size=MESSAGE,
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)

    def run():
        with listener:
            server.run(sockets=[listener])

    return server, run, f"http://{ADDRESS}:{port}"
