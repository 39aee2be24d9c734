"""The page of `keras-duspar live`: its server, and in a browser."""

import base64
import contextlib
import itertools
import json
import re
import socket
import threading
import urllib.error
import urllib.request

import numpy as np
import pytest

from keras_duspar import cli
from keras_duspar import tflite
from keras_duspar.cli.live import server as live
from keras_duspar.cli.live.session import Session
from keras_duspar.cli.trained import DEFAULTS
from keras_duspar.streaming import Detector
from keras_duspar.utils.incoming import Incoming
from tests.browser import open_page
from tests.browser import write_wav
from tests.conftest import ROOT

pytestmark = pytest.mark.any_backend

soxr = pytest.importorskip("soxr")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
client = pytest.importorskip("websockets.sync.client")
exceptions = pytest.importorskip("websockets.exceptions")
THRESHOLD = 0.5


def load(task):
    return tflite.load(DEFAULTS[task], streaming=True)


def make_session():
    return Session(Detector(load("kws"), None, THRESHOLD), load("se"))


@contextlib.contextmanager
def serving():
    """The address of a server in a thread."""
    server, run, address = live.open_server(make_session, 0)
    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield address
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


@pytest.fixture
def address():
    with serving() as found:
        yield found


def connect(address, origin=None, **options):
    return client.connect(
        f"{address.replace('http', 'ws')}/stream",
        origin=origin or address,
        **options,
    )


class Visitor:
    """A page without a browser."""

    def __init__(self, address, rate, kind):
        self.socket, self.kind = connect(address), kind
        self.about = json.loads(self.socket.recv(60))
        self.socket.send(json.dumps({"rate": rate, "format": kind}))
        self.reports, self.pairs = [], []

    def send(self, samples):
        self.socket.send(samples.astype(self.kind).tobytes())

    def receive(self, samples):
        """Takes what comes until so many pairs are there."""
        while sum(map(len, self.pairs)) < samples:
            answer = self.socket.recv(60)
            if isinstance(answer, str):
                self.reports.append(json.loads(answer))
            else:
                self.pairs.append(np.frombuffer(answer, "<f4").reshape(-1, 2))

    def events(self):
        return [e for report in self.reports for e in report["events"]]


@pytest.fixture(scope="module")
def spoken():
    """Words that the preset knows, and their times, in 48 kHz sound."""
    pytest.importorskip("espeakng_loader")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "recipes")
        from datasets.espeak import Espeak
        from datasets.synthesis import trim

    speaker, runner = Espeak(), load("kws")

    def is_sure(audio, words):
        """Whether they are heard at other thresholds and offsets, too."""
        for threshold, offset in itertools.product((0.4, 0.5, 0.6), (0, 99)):
            detector = Detector(runner, None, threshold)
            detector.reset()
            heard = detector.push(audio[offset:], 48000)
            if [event.word for event in heard] != words:
                return False
        return True

    audio, words = np.zeros(24000), []
    for word in ("yes", "stop", "no", "left", "on", "up", "off", "right"):
        said = speaker.say(word, "en-us", rate=140)
        said = 0.5 * trim(soxr.resample(said, speaker.sample_rate, 48000))
        more = np.concatenate([audio, said, np.zeros(76800 - len(said))])
        if len(words) < 4 and is_sure(more, [w for w, _, _ in words] + [word]):
            start = len(audio) / 48000
            words.append((word, start, start + len(said) / 48000))
            audio = more
    assert len(words) >= 2, "the preset does not know the synthesizer's words"
    return audio, words


def events_of(audio, rate):
    return Detector(load("kws"), None, THRESHOLD).push(audio, rate)


def test_answers_are_those_of_the_models(address, rng, spoken):
    """Two visitors at once, in pieces of any size, each with its own sound."""
    sound, _ = spoken
    noisy = sound + 0.01 * rng.normal(size=len(sound))
    given = {
        ("int16", 44100): np.round(
            32767 * soxr.resample(noisy, 48000, 44100)
        ).astype("int16"),
        ("float32", 48000): noisy[::-1].astype("float32"),
    }
    visitors = [Visitor(address, rate, kind) for kind, rate in given]
    expected = []
    for (_, rate), samples in given.items():
        chunks = np.concatenate(Incoming(256, 16000)(samples, rate))
        enhancer = load("se")
        enhanced = np.concatenate(enhancer.push(chunks))[enhancer.delay :]
        expected.append((chunks[: len(enhanced)], enhanced))
    pieces = [
        np.split(x, np.sort(rng.integers(0, len(x), 60)))
        for x in given.values()
    ]
    for parts in itertools.zip_longest(*pieces):
        for visitor, part in zip(visitors, parts):
            while len(part):  # no message may be longer
                visitor.send(part[:10000])
                part = part[10000:]
    for visitor, sounds in zip(visitors, expected):
        visitor.receive(len(sounds[0]))
        np.testing.assert_array_equal(np.concatenate(visitor.pairs).T, sounds)
    for visitor, ((_, rate), samples) in zip(visitors, given.items()):
        heard = [vars(event) for event in events_of(samples, rate)]
        assert visitor.events() == heard
        times = [report["seconds"] for report in visitor.reports]
        assert times == sorted(times) and times[-1] > len(samples) / rate - 0.3
        for model in ("words", "enhanced"):
            assert all(
                r["models"][model]["microseconds"] for r in visitor.reports
            )
    assert visitors[0].events() and "yes" in visitors[0].about["words"]
    assert visitors[0].about["frames"] == {"words": 16.0, "enhanced": 1.0}


def test_occupancy_of_each_report(rng):
    """That of the sound since the last report, layer by layer."""
    session, runner = make_session(), load("kws")
    session.begin({"rate": 16000, "format": "float32"})
    for _ in range(3):
        block = rng.normal(0, 0.1, 4096).astype("<f4")
        report, _ = session.push(block.tobytes())
        runner.reset_counters()
        runner.push(block)
        layers = {x.name: x.occupancy for x in runner.profile().layers}
        found = report["models"]["words"]["layers"]
        assert list(found) == ["recurrent_1", "recurrent_2"]
        assert found == {name: layers[name] for name in found}
        assert len(report["models"]["enhanced"]["layers"]) == 4


def test_strangers_are_refused(address):
    for origin in ("http://example.com", "null", address + "0", "http://a.b:1"):
        with pytest.raises(exceptions.InvalidStatus) as error:
            connect(address, origin)
        assert error.value.response.status_code == 403
    with pytest.raises(exceptions.InvalidStatus):  # no page at all
        client.connect(f"{address.replace('http', 'ws')}/stream")
    with connect(address, address.replace("127.0.0.1", "localhost")) as other:
        assert json.loads(other.recv(60))["rate"] == 16000
    # A name of another that leads here.
    request = urllib.request.Request(address, headers={"Host": "example.com"})
    with pytest.raises(urllib.error.HTTPError, match="400"):
        urllib.request.urlopen(request)
    with urllib.request.urlopen(address) as answer:
        assert (
            "frame-ancestors 'none'"
            in answer.headers["Content-Security-Policy"]
        )


GOOD = {"rate": 16000, "format": "int16"}


@pytest.mark.parametrize(
    "messages, code, reason",
    [
        ([bytes(live.MESSAGE + 1)], 1009, ""),
        (["x" * (live.MESSAGE + 1)], 1009, ""),
        (["{"], 1008, "Expecting"),
        (["[1]"], 1008, "`settings` must be a dictionary"),
        ([{**GOOD, "rate": 7999}], 1008, "`rate` must be an integer from 8000"),
        ([{**GOOD, "rate": True}], 1008, "`rate` must be an integer from 8000"),
        ([{**GOOD, "format": "int8"}], 1008, "`format` must be one of"),
        ([b"1234"], 1008, "`rate` and `format` must come before sound"),
        ([GOOD, b"123"], 1008, "`data` must be whole int16 samples"),
    ],
)
def test_bad_messages(address, messages, code, reason):
    with connect(address) as visitor:
        visitor.recv(60)
        for message in messages:
            if isinstance(message, dict):
                message = json.dumps(message)
            visitor.send(message)
        with pytest.raises(exceptions.ConnectionClosed) as error:
            visitor.recv(60)
        assert error.value.rcvd.code == code
        assert reason in error.value.rcvd.reason


def test_who_does_not_read(monkeypatch):
    """Fills its own connection and nothing else, and is sent away."""
    monkeypatch.setattr(live, "PATIENCE", 1.0)
    monkeypatch.setattr(live, "VISITORS", 1)
    with serving() as address:
        slow = connect(address, max_queue=1)
        slow.send(json.dumps({"rate": 8000, "format": "int16"}))
        sent = 0

        def talk():
            nonlocal sent
            with contextlib.suppress(exceptions.ConnectionClosed, OSError):
                for _ in range(10000):  # 655 MB
                    slow.send(bytes(live.MESSAGE))
                    sent += live.MESSAGE

        thread = threading.Thread(target=talk, daemon=True)
        thread.start()
        refused = 0
        while True:  # until there is room for another visitor
            with connect(address) as other:
                try:
                    other.recv(60)
                    break
                except exceptions.ConnectionClosed as error:
                    assert error.rcvd.code == 1013
                    refused += 1
            thread.join(0.1)
        assert refused and sent < 1 << 25  # what the system's buffers hold
        slow.socket.shutdown(socket.SHUT_RDWR)
        thread.join(30)
        assert not thread.is_alive()


def test_hundreds_of_connections(address, rng):
    """They say nothing, or half of a request: others are answered."""
    port = int(address.rsplit(":", 1)[1])
    beginnings = (
        b"",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ",
        b"GET /stream HTTP/1.1\r\nUpgrade: websocket\r\n",
        bytes(range(256)),
    )
    with contextlib.ExitStack() as stack:
        for i in range(400):
            other = socket.create_connection(("127.0.0.1", port), 60)
            stack.enter_context(other)
            with contextlib.suppress(OSError):
                other.sendall(beginnings[i % len(beginnings)])
        with urllib.request.urlopen(address, timeout=60) as answer:
            assert answer.status == 200
        visitor = Visitor(address, 16000, "float32")
        visitor.send(rng.normal(0, 0.1, 8000).astype("float32"))
        visitor.receive(4000)
        visitor.socket.close()
    with urllib.request.urlopen(address, timeout=60) as answer:
        assert answer.status == 200


def page_events(page):
    """Words and times in the page's list, in the order of time."""
    text = page.run("document.getElementById('events').innerText")
    found = re.findall(r"(\w+), \d+ %, at ([\d.]+) s", text)
    return [(word, float(time)) for word, time in reversed(found)]


def test_in_a_browser(address, spoken, tmp_path):
    """The right words at the right times, by ear and from a file."""
    audio, words = spoken
    path = write_wav(tmp_path / "words.wav", audio, 48000)
    expected = events_of(audio, 48000)
    assert [e.word for e in expected] == [word for word, _, _ in words]
    for event, (_, start, end) in zip(expected, words):
        assert start < event.end < end + 1.1
    seconds = len(audio) / 48000
    with open_page(address, tmp_path, f"{path}%noloop") as page:
        page.press("m")
        page.wait(f"document.body.dataset.seconds > {seconds + 1.2}")
        heard = page_events(page)
        assert [word for word, _ in heard] == [e.word for e in expected]
        # The microphone may have begun a little earlier or later.
        late = [time - e.end for (_, time), e in zip(heard, expected)]
        assert max(late) - min(late) < 0.5 and abs(np.median(late)) < 1
        live_list = page.run("document.getElementById('events').ariaLive")
        assert live_list == "polite"
        assert page.run("document.querySelectorAll('#layers td').length") == 12
        assert "µs" in page.run(
            "document.getElementById('time-words').innerText"
        )
        # What is seen changes with the key, and nothing else.
        picture = (
            "document.getElementById('spectrogram').getContext('2d')"
            ".getImageData(40, 60, 300, 100).data.reduce((a, b) => a + b)"
        )
        page.press("s")
        page.wait("document.getElementById('state').innerText === 'stopped'")
        sums = []
        for shown in ("enhanced", "original", "enhanced"):
            text = page.run("document.getElementById('shown').innerText")
            assert text == f"{shown} sound"
            page.run("new Promise((done) => requestAnimationFrame(() => "
                     "requestAnimationFrame(done)))")  # fmt: skip
            sums.append(page.run(picture))
            page.press("e")
        assert sums[0] == sums[2] != sums[1]
        encoded = base64.b64encode(path.read_bytes()).decode()
        # A file that is dropped: no microphone, so the times are those.
        page.run(
            "(() => {"
            f"const bytes = Uint8Array.from(atob('{encoded}'), "
            "(c) => c.charCodeAt(0));"
            "const data = new DataTransfer();"
            "data.items.add(new File([bytes], 'words.wav'));"
            "document.dispatchEvent("
            "new DragEvent('drop', { dataTransfer: data }));"
            "})()"
        )
        page.wait("document.getElementById('state').innerText.includes('over')")
        heard = page_events(page)
        assert [word for word, _ in heard] == [e.word for e in expected]
        for (_, time), event in zip(heard, expected):
            assert time == pytest.approx(event.end, abs=0.15)


def test_command(capsys, tmp_path):
    with pytest.raises(SystemExit):
        cli.main(["live", "--port", "70000"])
    assert "70000 is not from 0 to 65535" in capsys.readouterr().err
    for arguments, message in [
        (["--model", DEFAULTS["se"]], "enhances speech"),
        (["--enhancer", DEFAULTS["kws"]], "spots words"),
        (["--enhancer", "nobody"], "`--enhancer` must be a preset"),
    ]:
        assert cli.main(["live", "--port", "0", *arguments]) == 2
        assert message in capsys.readouterr().err
    with serving() as address:
        port = address.rpartition(":")[2]
        assert cli.main(["live", "--port", port]) == 2
        assert f"`--port` {port} cannot be used" in capsys.readouterr().err
