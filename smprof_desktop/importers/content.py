"""The bytes of a trace file, decompressed where they are gzip under whatever name, as UTF-8."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from isal import isal_zlib

from smprof.profile.manifest import ProfileError

GZIP_MAGIC = b"\x1f\x8b"
MAX_BYTES = 64 << 30
"""More than this, decompressed, is refused: a small file can unpack to anything."""

_READ_BYTES = 256 << 10


@dataclass
class Content:
    """`data`: what could be read. `cut`: why it ends early, as plain text; empty where it does not."""

    data: bytearray
    cut: str = ""


def read(path: Path, advance: Callable[[float], None] = lambda share: None) -> Content:
    """The whole content of `path` as UTF-8 text without byte-order mark. `advance` is told the share read.

    A gzip stream that ends early or is damaged gives what stood before. Raises ProfileError.
    """
    try:
        size = max(path.stat().st_size, 1)
        with path.open("rb") as stream:
            head = stream.read(2)
            stream.seek(0)
            if head == GZIP_MAGIC:
                content = _unpack(path, iter(lambda: stream.read(_READ_BYTES), b""), size, advance)
            else:
                content = Content(bytearray(stream.read()))
    except OSError as error:
        raise ProfileError(
            f"{path} cannot be read: {error.strerror or error}; check the path and its permissions."
        ) from None
    _to_utf8(content)
    return content


def head(path: Path, limit_bytes: int) -> bytes:
    """The first bytes of the content, decompressed, as UTF-8; about `limit_bytes` of them. Raises OSError."""
    with path.open("rb") as stream:
        raw = stream.read(limit_bytes)
    if raw[:2] == GZIP_MAGIC:
        try:
            raw = isal_zlib.decompressobj(wbits=31).decompress(raw, max_length=limit_bytes)
        except isal_zlib.IsalError:  # type: ignore[misc]  # its stub forgets the base class
            raw = b""
    content = Content(bytearray(raw))
    _to_utf8(content)
    return bytes(content.data)


def is_gzip(path: Path) -> bool:
    """Whether a file begins as gzip data does. Raises OSError."""
    with path.open("rb") as stream:
        return stream.read(len(GZIP_MAGIC)) == GZIP_MAGIC


def is_whole_gzip(path: Path) -> bool:
    """Whether gzip data that unpacks to nothing is so on purpose. Raises OSError."""
    unpacker = isal_zlib.decompressobj(wbits=31)
    with path.open("rb") as stream:
        try:
            unpacker.decompress(stream.read(_READ_BYTES), max_length=1)
        except isal_zlib.IsalError:  # type: ignore[misc]
            return False
    return bool(unpacker.eof)


def _unpack(path: Path, blocks: Iterator[bytes], size: int, advance: Callable[[float], None]) -> Content:
    """Every gzip member of the stream, one after the other."""
    content, read_bytes = Content(bytearray()), 0
    unpacker = isal_zlib.decompressobj(wbits=31)
    for block in blocks:
        read_bytes += len(block)
        while block:
            if unpacker.eof:
                block = block.lstrip(b"\0")
                if block and block[:1] != GZIP_MAGIC[:1]:
                    content.cut = "what follows the end of the gzip data is not gzip"
                    return content
                unpacker = isal_zlib.decompressobj(wbits=31)
            try:
                content.data += unpacker.decompress(block)
            except isal_zlib.IsalError as error:  # type: ignore[misc]
                content.cut = f"the gzip data is damaged ({error})"
                return content
            if len(content.data) > MAX_BYTES:
                raise ProfileError(f"{path} unpacks to more than {MAX_BYTES >> 30} GiB; record a shorter trace.")
            block = unpacker.unused_data if unpacker.eof else b""
        advance(read_bytes / size)
    if not unpacker.eof:
        content.cut = "the gzip data ends early"
    return content


def _to_utf8(content: Content) -> None:
    data = content.data
    if data.startswith(codecs.BOM_UTF8):
        del data[: len(codecs.BOM_UTF8)]
        return
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if data.startswith(mark):
            even = data[2 : len(data) & ~1]
            content.data = bytearray(even.decode(encoding, "replace").encode())
