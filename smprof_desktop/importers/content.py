"""The bytes of a trace file, decompressed where they are gzip under whatever name, as UTF-8."""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from isal import isal_zlib

from smprof.profile.manifest import ProfileError

GZIP_MAGIC = b"\x1f\x8b"
MAX_BYTES = 64 << 30
"""More than this, decompressed, is refused: a small file can unpack to anything."""
MAX_RATIO = 200
"""So many times its size, decompressed, no trace has: even events that are all alike pack to a fiftieth at best."""

_UNSUSPECTED_BYTES = 256 << 20

MAX_UTF16_BYTES = 1 << 30
"""Longer texts of UTF-16, which stand in memory as a whole, are refused."""

_READ_BYTES = 256 << 10
_UNPACK_BYTES = 4 << 20
_SALVAGE_BYTES = 4096
_SEARCH_BYTES = 64 << 10
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Text:
    """A JSON text as UTF-8 without byte-order mark, read forward: only a window of it is in memory.

    Positions are bytes of the whole text.
    """

    def __init__(self, data: bytes | bytearray = b"", cut: str = "") -> None:
        """A text that is there already. `cut`: why it ends early, as plain words; empty where it does not."""
        self.cut = cut
        self._whole = data
        self._data = bytearray()
        self._begin = 0
        self._blocks: Iterator[bytes] = iter(())
        self.restart()

    @property
    def begin(self) -> int:
        """Where the window begins: nothing before it is there any more."""
        return self._begin

    @property
    def share(self) -> float:
        """The share of the text that was read."""
        return 1.0

    def restart(self) -> None:
        """Begin again."""
        self._begin = 0
        self._data = bytearray()
        self._blocks = self._read()
        self.reaches(len(codecs.BOM_UTF8))
        if self._data.startswith(_UTF16_MARKS):
            # A character may be cut by any block, and nobody writes long traces so.
            while self._more():
                if len(self._data) > MAX_UTF16_BYTES:
                    raise ProfileError(
                        f"its text is UTF-16, and longer than {MAX_UTF16_BYTES >> 20} MiB; save it as UTF-8."
                    )
        _to_utf8(self._data)

    def size(self, at_least: int) -> int:
        """How long the text is, as far as it matters: exact where it ends before `at_least`."""
        self.reaches(at_least)
        return self._begin + len(self._data)

    def reaches(self, position: int) -> bool:
        """Whether the text is so long."""
        while self._begin + len(self._data) < position:
            if not self._more():
                return False
        return True

    def drop(self, position: int) -> None:
        """Let go of what stands before."""
        if position > self._begin:
            del self._data[: position - self._begin]
            self._begin = position

    def part(self, begin: int, end: int, before: bytes = b"", behind: bytes = b"") -> bytes:
        """The text from `begin` to before `end`, between two others."""
        self.reaches(end)
        with memoryview(self._data) as view, view[begin - self._begin : end - self._begin] as part:
            return b"".join((before, part, behind))

    def search(
        self, pattern: re.Pattern[bytes], at: int, group: int = 0, limit: int = MAX_BYTES
    ) -> tuple[int, int] | None:
        """Where a pattern first matches from `at` on, in about `limit` bytes, or a group of it: begin and end."""
        step = min(_SEARCH_BYTES, limit)
        while True:
            grown = self.reaches(at + step)
            end = at + step - self._begin
            found = pattern.search(self._data, at - self._begin, end)
            # A match that reaches so far might be longer, or another, with more of the text.
            if found is not None and (not grown or found.end() < end):
                return self._begin + found.start(group), self._begin + found.end(group)
            if not grown or step >= limit:
                return None
            step = min(step * 2, limit)

    def find_all(self, pattern: re.Pattern[bytes], begin: int, end: int, group: int) -> Iterator[int]:
        """Where a group of each match between `begin` and `end` begins."""
        self.reaches(end)
        for found in pattern.finditer(self._data, max(begin - self._begin, 0), end - self._begin):
            yield self._begin + found.start(group)

    def rest(self, begin: int, limit: int = MAX_BYTES) -> bytes:
        """Everything from `begin` on, `limit` bytes at most."""
        return self.part(begin, min(self.size(begin + limit), begin + limit))

    def _more(self) -> bool:
        block = next(self._blocks, None)
        if block is None:
            return False
        self._data += block
        return True

    def _read(self) -> Iterator[bytes]:
        """The text in blocks of any size."""
        yield bytes(self._whole)


class FileText(Text):
    """The content of a trace file, decompressed where it is gzip."""

    def __init__(self, path: Path) -> None:
        """Raises ProfileError where it cannot be read, as does everything that reads on."""
        self._path = path
        self._read_bytes = 0
        self._size = 1
        super().__init__()

    @property
    def share(self) -> float:
        """The share of the file that was read."""
        return min(self._read_bytes / self._size, 1.0)

    def _read(self) -> Iterator[bytes]:
        self.cut, self._read_bytes, length = "", 0, 0
        try:
            self._size = max(self._path.stat().st_size, 1)
            with self._path.open("rb") as stream:
                packed = stream.read(2) == GZIP_MAGIC
                stream.seek(0)
                blocks = iter(lambda: stream.read(_READ_BYTES), b"")
                for block in self._unpacked(self._counted(blocks)) if packed else self._counted(blocks):
                    length += len(block)
                    if packed:
                        _refuse_excess(length, self._read_bytes)
                    yield block
        except OSError as error:
            raise ProfileError(f"{error.strerror or error}; check the path and its permissions.") from None

    def _counted(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        for block in blocks:
            self._read_bytes += len(block)
            yield block

    def _unpacked(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """Every gzip member, one after the other. What is damaged or ends early gives what stood before."""
        unpacker = isal_zlib.decompressobj(wbits=31)
        member_at, given = 0, 0
        for block in blocks:
            while block:
                if unpacker.eof:
                    block = block.lstrip(b"\0")
                    if block and block[:1] != GZIP_MAGIC[:1]:
                        self.cut = "what follows the end of the gzip data is not gzip"
                        return
                    unpacker = isal_zlib.decompressobj(wbits=31)
                    member_at, given = self._read_bytes - len(block), 0
                try:
                    unpacked = unpacker.decompress(block, _UNPACK_BYTES)
                    while unpacked:
                        given += len(unpacked)
                        yield unpacked
                        unpacked = b"" if unpacker.eof else unpacker.decompress(unpacker.unconsumed_tail, _UNPACK_BYTES)
                except isal_zlib.IsalError as error:  # type: ignore[misc]  # its stub forgets the base class
                    self.cut = f"the gzip data is damaged ({error})"
                    with self._path.open("rb") as stream:
                        stream.seek(member_at)
                        yield from _salvaged(iter(lambda: stream.read(_READ_BYTES), b""), given)
                    return
                block = unpacker.unused_data if unpacker.eof else b""
        if not unpacker.eof:
            self.cut = "the gzip data ends early"


def _salvaged(blocks: Iterable[bytes], begin: int) -> Iterator[bytes]:
    """What a damaged gzip member holds from position `begin` of its text on, up to the damage."""
    unpacker = zlib.decompressobj(wbits=31)
    for block in blocks:
        for at in range(0, len(block), _SALVAGE_BYTES):
            part, before = block[at : at + _SALVAGE_BYTES], unpacker.copy()
            damaged = False
            try:
                texts = [unpacker.decompress(part)]
            except zlib.error:
                texts, damaged = _byte_by_byte(before, part), True
            for text in texts:
                if len(text) > begin:
                    yield text[begin:]
                begin = max(begin - len(text), 0)
            if damaged or unpacker.eof:
                return


def _byte_by_byte(unpacker: Any, part: bytes) -> list[bytes]:
    """What gzip data holds before the byte at which it is found to be damaged."""
    texts: list[bytes] = []
    for at in range(len(part)):
        try:
            texts.append(unpacker.decompress(part[at : at + 1]))
        except zlib.error:
            break
    return texts


def likely_bytes(path: Path) -> int:
    """About how long the text of a trace file is. Raises OSError."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        if stream.read(2) != GZIP_MAGIC or size < 18:
            return size
        stream.seek(-4, 2)
        length = int.from_bytes(stream.read(4), "little")
    # The last four bytes count modulo 4 GiB, and only the last of several members.
    while length < size * 2:
        length += 1 << 32
    return length


def _refuse_excess(unpacked_bytes: int, packed_bytes: int) -> None:
    """Raise ProfileError where gzip data unpacks to more than a trace would."""
    if unpacked_bytes > MAX_BYTES:
        raise ProfileError(f"it unpacks to more than {MAX_BYTES >> 30} GiB; record a shorter trace.")
    if unpacked_bytes > max(_UNSUSPECTED_BYTES, packed_bytes * MAX_RATIO):
        raise ProfileError(
            f"it unpacks to more than {MAX_RATIO} times its size, as no trace does; export or download it again."
        )


def head(path: Path, limit_bytes: int) -> bytes:
    """The first bytes of the content, decompressed, as UTF-8; about `limit_bytes` of them. Raises OSError."""
    with path.open("rb") as stream:
        raw = stream.read(limit_bytes)
    if raw[:2] == GZIP_MAGIC:
        try:
            raw = isal_zlib.decompressobj(wbits=31).decompress(raw, max_length=limit_bytes)
        except isal_zlib.IsalError:  # type: ignore[misc]
            raw = b"".join(_salvaged([raw], 0))[:limit_bytes]
    data = bytearray(raw)
    _to_utf8(data)
    return bytes(data)


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


def _to_utf8(data: bytearray) -> None:
    """Take off the byte-order mark, and bring UTF-16 to UTF-8, in place."""
    if data.startswith(codecs.BOM_UTF8):
        del data[: len(codecs.BOM_UTF8)]
        return
    for mark, encoding in zip(_UTF16_MARKS, ("utf-16-le", "utf-16-be"), strict=True):
        if data.startswith(mark):
            data[:] = data[2 : len(data) & ~1].decode(encoding, "replace").encode()
