"""Chromium without a window, driven by its own protocol."""

import base64
import contextlib
import itertools
import json
import shutil
import subprocess
import time
import urllib.request
import wave

import numpy as np
import pytest


def write_wav(path, samples, rate):
    """Writes floats from -1 to 1 as a recording of 16 bits."""
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes(np.round(32767 * samples).astype("<i2").tobytes())
    return path


class Page:
    """A page in a browser.

    Args:
        socket: The connection to the page.
    """

    def __init__(self, socket):
        self._socket, self._ids = socket, itertools.count(1)
        self._ask("Runtime.enable")

    def _ask(self, method, **parameters):
        number = next(self._ids)
        message = {"id": number, "method": method, "params": parameters}
        self._socket.send(json.dumps(message))
        while (answer := json.loads(self._socket.recv(60))).get("id") != number:
            pass
        assert "error" not in answer, (method, answer)
        return answer["result"]

    def run(self, script):
        """The value of an expression, which may be a promise."""
        found = self._ask(
            "Runtime.evaluate",
            expression=script,
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait(self, script, seconds=120):
        """Waits until an expression is true."""
        end = time.monotonic() + seconds
        while not (found := self.run(script)):
            assert time.monotonic() < end, f"never true: {script}"
            time.sleep(0.1)
        return found

    def press(self, key):
        """Presses a key."""
        for kind in ("keyDown", "keyUp"):
            self._ask("Input.dispatchKeyEvent", type=kind, key=key)

    def size(self, width, height, scale=1, touch=False):
        """Makes the window as large as that of another device."""
        self._ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=touch,
        )
        self._ask("Emulation.setTouchEmulationEnabled", enabled=touch)

    def picture(self, path):
        """Writes what is seen, as a file of PNG."""
        found = self._ask("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(found["data"]))


@contextlib.contextmanager
def open_page(address, folder, microphone=None):
    """A page in headless Chromium; skips without one.

    Args:
        address: String.
        folder: Where the browser may write.
        microphone: A recording that is heard, again and again, unless its
            name ends in `%noloop`. Default: `None`, beeps.

    Yields:
        The `Page`.
    """
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("chromium is needed (Debian's chromium)")
    client = pytest.importorskip("websockets.sync.client")
    profile = folder / "profile"
    heard = f"--use-file-for-fake-audio-capture={microphone}"
    process = subprocess.Popen(
        [
            *(browser, "--headless=new", "--no-sandbox", "--disable-gpu"),
            *("--mute-audio", f"--user-data-dir={profile}"),
            "--autoplay-policy=no-user-gesture-required",
            "--use-fake-ui-for-media-stream",
            "--use-fake-device-for-media-stream",
            *([heard] if microphone is not None else []),
            *("--remote-debugging-port=0", "about:blank"),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        port = _port(profile / "DevToolsActivePort", process)
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/json/new?{address}", method="PUT"
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            target = json.load(answer)["webSocketDebuggerUrl"]
        with client.connect(target, max_size=None) as socket:
            page = Page(socket)
            page.wait(
                "location.protocol === 'http:' && "
                "document.readyState === 'complete'"
            )
            yield page
    finally:
        process.kill()
        process.wait()


def _port(file, process):
    end = time.monotonic() + 60
    while not file.exists() or not file.read_text().count("\n"):
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.1)
    return file.read_text().split()[0]
