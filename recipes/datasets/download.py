"""Fetching large archives: resumed, verified, unpacked safely."""

import gzip
import hashlib
import http.client
import os
import pathlib
import shutil
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
import zlib

from datasets import progress as bars
from datasets.base import DataError

BLOCK = 1 << 18


def fetch(url, path, sha256, retries=5, progress=True, pause=1.0):
    """Downloads `url` to `path`, unless the right file is there already.

    What has arrived is kept in `<path>.part`, also when the download fails,
    and a later call asks only for the rest.

    Args:
        url: String.
        path: The file to write.
        sha256: String, the checksum that the file must have.
        retries: Integer, how often a broken transfer is taken up again.
            Default: 5.
        progress: Boolean, whether to show a progress bar. Default: `True`.
        pause: Float, seconds before the first retry; it doubles with every
            further one. Default: 1.

    Returns:
        `path`, as a `pathlib.Path`.
    """
    path = pathlib.Path(path)
    if path.is_file():
        found = _checksum(path, progress)
        if found != sha256:
            raise DataError(
                f"{path} is there already, but has the SHA-256 checksum "
                f"{found} instead of {sha256}. Remove it to download it."
            )
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    for attempt in range(retries + 1):
        if attempt:
            time.sleep(pause * 2 ** (attempt - 1))
        try:
            if _transfer(url, part, progress):
                break
            reason = "the connection ended early"
        except urllib.error.HTTPError as e:
            if e.code < 500 and e.code not in (408, 429):
                raise DataError(
                    f"`url` cannot be downloaded: the server answers {e.code} "
                    f"{e.reason}. Received: url={url!r}. Check the address."
                ) from e
            reason = f"the server answers {e.code} {e.reason}"
        except (
            urllib.error.URLError,
            http.client.HTTPException,
            ConnectionError,
            TimeoutError,
        ) as e:
            reason = str(getattr(e, "reason", None) or e)
    else:
        size = part.stat().st_size if part.exists() else 0
        raise DataError(
            f"Download of {url} failed after {retries + 1} attempts: "
            f"{reason}. {size} bytes are kept in {part}; start again to get "
            "the rest."
        )
    found = _checksum(part, progress)
    if found != sha256:
        part.unlink()
        raise DataError(
            f"The download of {url} has the SHA-256 checksum {found} instead "
            f"of {sha256}; it has been removed. Start again; if it happens "
            "again, the file at that address has changed."
        )
    os.replace(part, path)
    return path


def _transfer(url, part, progress):
    """Appends what is missing to `part`; returns whether it is whole."""
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url)
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        response = urllib.request.urlopen(request, timeout=60)
    except urllib.error.HTTPError as e:
        if e.code == 416 and have:
            # Nothing lies behind what we have: whole, or from another file.
            total = (e.headers.get("Content-Range") or "").rpartition("/")[2]
            if total.isdigit() and int(total) != have:
                part.unlink()
                return False
            return True
        raise
    with response:
        if response.status != 206:
            have = 0  # the server sends all of it again
        length = response.headers.get("Content-Length")
        total = None if length is None else have + int(length)
        free = shutil.disk_usage(part.parent).free
        if total is not None and total - have > free:
            raise DataError(
                f"{part.parent} has {free / 1e9:.1f} GB left; the download "
                f"needs {(total - have) / 1e9:.1f} GB. Choose another folder."
            )
        with (
            open(part, "ab" if have else "wb") as file,
            bars.bar(
                f"Downloading {part.stem}", total, progress, size=True
            ) as advance,
        ):
            advance(have)
            while block := response.read(BLOCK):
                file.write(block)
                advance(len(block))
        return total is None or part.stat().st_size == total


def _checksum(path, progress):
    digest = hashlib.sha256()
    size = path.stat().st_size
    with (
        open(path, "rb") as file,
        bars.bar("Verifying it", size, progress, size=True) as advance,
    ):
        while block := file.read(1 << 20):
            digest.update(block)
            advance(len(block))
    return digest.hexdigest()


def unpack(archive, folder, progress=True):
    """Unpacks a tar archive; `folder` appears whole or not at all.

    Archives with members that would lie outside of the folder, or that are
    links or devices, are refused.

    Args:
        archive: Path of the archive.
        folder: The folder to make.
        progress: Boolean, whether to show a progress bar. Default: `True`.
    """
    archive, folder = pathlib.Path(archive), pathlib.Path(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = pathlib.Path(
        tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent)
    )
    try:
        size = archive.stat().st_size
        with (
            open(archive, "rb") as raw,
            tarfile.open(fileobj=raw, mode="r:*") as tar,
            bars.bar(
                f"Unpacking {archive.name}", size, progress, size=True
            ) as advance,
        ):
            before = 0
            for member in tar:
                _check_member(archive, member)
                member.mode = 0o755 if member.isdir() else 0o644
                tar.extract(member, partial, set_attrs=False)
                advance(raw.tell() - before)
                before = raw.tell()
        if folder.is_dir():
            folder.rmdir()  # only an empty one
        partial.chmod(0o755)  # temporary folders are private
        os.rename(partial, folder)
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as e:
        raise DataError(
            f"{archive} cannot be unpacked ({e}). Remove it and download it "
            "again."
        ) from e
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _check_member(archive, member):
    parts = pathlib.PurePosixPath(member.name).parts
    windows = pathlib.PureWindowsPath(member.name)
    inside = (
        not member.name.startswith("/")
        and ".." not in parts
        and ".." not in windows.parts
        and not windows.drive
    )
    if not inside or not (member.isfile() or member.isdir()):
        raise DataError(
            f"{archive} holds {member.name!r}, which does not belong into an "
            "archive of recordings. Nothing was unpacked. Check where the "
            "archive comes from."
        )
