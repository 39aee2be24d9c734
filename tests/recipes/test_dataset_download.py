"""Downloads against a server that breaks off, resumes, fails and lies."""

import hashlib
import http.server
import io
import os
import re
import tarfile
import threading

import pytest

from datasets import base
from datasets import download
from datasets import speech_commands

pytestmark = pytest.mark.any_backend

CONTENT = os.urandom(700_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves `server.content` as `server` is told to."""

    def do_GET(self):
        server = self.server
        asked = self.headers.get("Range")
        server.ranges.append(asked)
        if server.errors:
            self.send_error(server.errors.pop(0))
            return
        start, total = 0, len(server.content)
        if asked and server.resumes:
            start = int(re.fullmatch(r"bytes=(\d+)-", asked)[1])
            if start >= total:
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{total}")
                self.end_headers()
                return
            self.send_response(206)
            last = total - 1
            self.send_header("Content-Range", f"bytes {start}-{last}/{total}")
        else:
            self.send_response(200)
        body = server.content[start:]
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        # Breaks off after so many bytes, as often as there are numbers.
        if server.cuts:
            body = body[: server.cuts.pop(0)]
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.content = CONTENT
    server.resumes = True
    server.ranges, server.cuts, server.errors = [], [], []
    server.url = f"http://127.0.0.1:{server.server_port}/archive.tar.gz"
    thread = threading.Thread(
        target=server.serve_forever, args=(0.02,), daemon=True
    )
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def fetch(server, path, sha256=SHA256, retries=3):
    return download.fetch(
        server.url, path, sha256, retries, progress=False, pause=0.01
    )


def test_a_file_arrives_and_is_not_fetched_twice(server, tmp_path):
    path = fetch(server, tmp_path / "deep" / "a.tar.gz")
    assert path.read_bytes() == CONTENT
    fetch(server, path)
    assert server.ranges == [None]
    assert [p.name for p in path.parent.iterdir()] == ["a.tar.gz"]


def test_a_broken_transfer_goes_on_where_it_stopped(server, tmp_path):
    server.cuts = [300_000, 100_000]
    path = fetch(server, tmp_path / "a")
    assert path.read_bytes() == CONTENT
    assert server.ranges == [None, "bytes=300000-", "bytes=400000-"]


def test_a_later_call_goes_on_too(server, tmp_path):
    server.cuts = [300_000]
    with pytest.raises(base.DataError, match="300000 bytes are kept in"):
        fetch(server, tmp_path / "a", retries=0)
    assert not (tmp_path / "a").exists()
    fetch(server, tmp_path / "a", retries=0)
    assert (tmp_path / "a").read_bytes() == CONTENT
    assert server.ranges[-1] == "bytes=300000-"


def test_a_server_that_cannot_resume_sends_all_again(server, tmp_path):
    server.resumes = False
    server.cuts = [300_000]
    assert fetch(server, tmp_path / "a").read_bytes() == CONTENT


@pytest.mark.parametrize("content", [CONTENT, CONTENT + b"too much"])
def test_a_part_that_is_whole_or_too_long(server, tmp_path, content):
    (tmp_path / "a.part").write_bytes(content)
    assert fetch(server, tmp_path / "a").read_bytes() == CONTENT


def test_a_wrong_checksum_is_refused_and_removed(server, tmp_path):
    with pytest.raises(base.DataError, match=f"{SHA256} instead of 0000"):
        fetch(server, tmp_path / "a", sha256="0000")
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_somebody_else_is_left_alone(server, tmp_path):
    (tmp_path / "a").write_bytes(b"mine")
    with pytest.raises(base.DataError, match="Remove it to download it"):
        fetch(server, tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"mine"


def test_a_part_of_another_file_is_found_out(server, tmp_path):
    (tmp_path / "a.part").write_bytes(b"x" * 1000)
    with pytest.raises(base.DataError, match="it has been removed"):
        fetch(server, tmp_path / "a")
    assert fetch(server, tmp_path / "a").read_bytes() == CONTENT


@pytest.mark.parametrize("code", [404, 403])
def test_a_refusal_is_final(server, tmp_path, code):
    server.errors = [code] * 9
    with pytest.raises(base.DataError, match=f"the server answers {code}"):
        fetch(server, tmp_path / "a")
    assert len(server.ranges) == 1


def test_a_server_in_trouble_is_asked_again(server, tmp_path):
    server.errors = [503, 500]
    assert fetch(server, tmp_path / "a").read_bytes() == CONTENT


def test_no_server(tmp_path):
    with pytest.raises(base.DataError, match="failed after 2 attempts"):
        download.fetch(
            "http://127.0.0.1:9/a", tmp_path / "a", SHA256, 1, False, 0.01
        )


def archive(members):
    """A tar.gz of `{name: bytes or TarInfo}`."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in members.items():
            if isinstance(content, tarfile.TarInfo):
                tar.addfile(content)
                continue
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def test_speech_commands_arrive_unpacked(server, tmp_path):
    server.content = archive(
        {
            "./validation_list.txt": b"yes/a_nohash_0.wav\n",
            "./testing_list.txt": b"no/a_nohash_0.wav\n",
            "./yes/a_nohash_0.wav": b"RIFF",
        }
    )
    server.cuts = [50]
    digest = hashlib.sha256(server.content).hexdigest()
    for _ in range(2):
        folder = speech_commands.download(
            tmp_path / "data" / "gsc",
            url=server.url,
            sha256=digest,
            progress=False,
        )
    assert len(server.ranges) == 2
    assert (folder / "yes" / "a_nohash_0.wav").read_bytes() == b"RIFF"
    assert sorted(p.name for p in folder.parent.iterdir()) == [
        "gsc",
        "speech_commands_v0.02.tar.gz",
    ]


def test_the_published_checksum_is_asked_for(server, tmp_path):
    with pytest.raises(base.DataError, match="instead of af14739ee7dc"):
        speech_commands.download(
            tmp_path / "gsc", url=server.url, progress=False
        )


def link(name, target):
    info = tarfile.TarInfo(name)
    info.type = tarfile.SYMTYPE
    info.linkname = target
    return info


@pytest.mark.parametrize(
    "members",
    [
        {"../evil": b""},
        {"a/../../evil": b""},
        {"/evil": b""},
        {"a\\..\\..\\evil": b""},
        {"C:/evil": b""},
        {"a": link("a", "/etc")},
    ],
)
def test_members_that_would_lie_elsewhere_are_refused(tmp_path, members):
    path = tmp_path / "a.tar.gz"
    path.write_bytes(archive({"fine": b"1", **members}))
    with pytest.raises(base.DataError, match="Nothing was unpacked"):
        download.unpack(path, tmp_path / "out", progress=False)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("content", [b"no archive", archive({"a": CONTENT})])
def test_a_damaged_archive_leaves_nothing_behind(tmp_path, content):
    path = tmp_path / "a.tar.gz"
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(base.DataError, match="cannot be unpacked"):
        download.unpack(path, tmp_path / "out", progress=False)
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_with_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(base.DataError, match="`folder` must be empty"):
        speech_commands.download(tmp_path)
    with pytest.raises(base.DataError, match="`version` must be one of"):
        speech_commands.download(tmp_path / "new", version="0.03")
