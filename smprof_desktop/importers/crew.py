"""Processes that read pieces of a trace beside the one that imports it.

A piece of text goes to one of them over a pipe, and what it says comes back: as JSON, with columns as they lie in
memory behind it. Nothing is pickled. A process ends by itself when its pipe does.
"""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterable, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, Self

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import Raw

from smprof.profile.manifest import ProfileError
from smprof_desktop.importers.document import Event, decode
from smprof_desktop.importers.pieces import Piece, PieceReader, TimedEvents

_RAW_FIELDS = ("name", "ts", "dur", "id", "args")
_PLAIN_FIELDS = ("ph", "cat", "pid", "tid", "s", "bp")


class Said(msgspec.Struct):
    """What a process answers. `fault`: why it could not; `piece`: None where the text is damaged."""

    piece: Piece | None = None
    close: int | None = None
    fault: str = ""


class PieceCrew:
    """Gives texts to processes by their connections, one each at a time, and hears what they say."""

    def __init__(self, connections: Sequence[Connection], shift_ns: int) -> None:
        self._free = list(connections)
        self._busy: dict[Connection, int] = {}
        self._said: dict[int, Said] = {}
        self._unwanted: set[int] = set()
        for connection in connections:
            self._tell(connection, b"%d" % shift_ns)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.dismiss()

    def full(self) -> bool:
        """Whether none of them is free."""
        return not self._free

    def give(self, number: int, text: bytes) -> None:
        """Have a text read."""
        connection = self._free.pop()
        self._busy[connection] = number
        self._tell(connection, text)

    def take(self, number: int) -> tuple[bool, Any, int | None]:
        """See `document.Crew`. Raises ProfileError where a process has ended."""
        if number not in self._said:
            for connection in wait(list(self._busy)):
                assert isinstance(connection, Connection)
                self._hear(connection)
        said = self._said.pop(number, None)
        return (False, None, None) if said is None else (True, said.piece, said.close)

    def forget(self, numbers: Iterable[int]) -> None:
        """What these texts say is not wanted."""
        for number in numbers:
            if self._said.pop(number, None) is None:
                self._unwanted.add(number)

    def dismiss(self) -> None:
        """Let the processes end: there is nothing more to read."""
        for connection in (*self._free, *self._busy):
            connection.close()
        self._free.clear()
        self._busy.clear()

    def _hear(self, connection: Connection) -> None:
        try:
            said = _received(connection)
        except (EOFError, OSError):
            raise _ended() from None
        number = self._busy.pop(connection)
        self._free.append(connection)
        if said.fault:
            raise ProfileError(said.fault)
        if number in self._unwanted:
            self._unwanted.remove(number)
        else:
            self._said[number] = said

    def _tell(self, connection: Connection, text: bytes) -> None:
        try:
            connection.send_bytes(text)
        except OSError:
            raise _ended() from None


def work(connection: Connection) -> None:
    """What such a process does: read texts until the pipe ends."""
    # Ctrl-C reaches the whole group; the import decides what becomes of its processes.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()
    try:
        reader = PieceReader(int(connection.recv_bytes()))
        while True:
            _send(connection, _read(reader, connection.recv_bytes()))
    except (EOFError, OSError):
        return


def packed(said: Said) -> tuple[bytes, list[Any]]:
    """An answer as JSON, and the buffers that it counts from 0."""
    packer = _Packer()
    return msgspec.json.encode(said, enc_hook=packer.form), packer.buffers


class _Packer:
    """Sets aside the buffers of what is encoded. No closure: one that calls itself is freed by the collector alone,
    which is off."""

    def __init__(self) -> None:
        self.buffers: list[Any] = []

    def form(self, value: Any) -> Any:
        """What stands for a value in the JSON."""
        if isinstance(value, np.ndarray):
            if len(value) and value.strides == (0,):
                return [value.dtype.str, len(value), value[0].item()]
            return [value.dtype.str, self._number_of(np.ascontiguousarray(value).view(np.uint8))]
        if isinstance(value, pa.Array):
            whole = pa.array(value.to_pylist(), pa.large_string()) if value.offset else value
            return [len(whole), *(self._number_of(b"" if part is None else part) for part in whole.buffers())]
        if isinstance(value, TimedEvents):
            events = value.events
            plain = [[getattr(event, name) for event in events] for name in _PLAIN_FIELDS]
            raws = [[getattr(event, name) for event in events] for name in _RAW_FIELDS]
            lengths = [self.form(np.fromiter(map(len, raw), np.int64, len(raw))) for raw in raws]
            joined = [self._number_of(b"".join(raw)) for raw in raws]
            return [plain, lengths, joined, value.times_ns, value.durations_ns]
        raise TypeError(f"{type(value).__name__} cannot be sent")

    def _number_of(self, buffer: Any) -> int:
        self.buffers.append(buffer)
        return len(self.buffers) - 1


def unpacked(head: bytes, buffers: Sequence[Any]) -> Said:
    """The answer that `packed` took apart."""

    def array(form: Any) -> Any:
        if len(form) == 3:
            return np.broadcast_to(np.array(form[2], form[0]), (form[1],))
        return np.frombuffer(buffers[form[1]], form[0]) if len(buffers[form[1]]) else np.zeros(0, form[0])

    def unpack(kind: Any, form: Any) -> Any:
        if kind is TimedEvents:
            plain, lengths, joined, times_ns, durations_ns = form
            raws = [_cut(bytes(buffers[at]), array(each)) for at, each in zip(joined, lengths, strict=True)]
            rows = zip(*plain, *raws, strict=True)
            fields = (*_PLAIN_FIELDS, *_RAW_FIELDS)
            return TimedEvents([Event(**dict(zip(fields, row, strict=True))) for row in rows], times_ns, durations_ns)
        if kind is pa.LargeStringArray:
            length, validity, *texts = form
            present = pa.py_buffer(buffers[validity]) if len(buffers[validity]) else None
            return pa.LargeStringArray.from_buffers(length, *(pa.py_buffer(buffers[at]) for at in texts), present)
        return array(form)

    return msgspec.json.decode(head, type=Said, dec_hook=unpack)


def _read(reader: PieceReader, text: bytes) -> Said:
    try:
        decoded = decode(text)
        return Said() if decoded is None else Said(reader.read(decoded[0]), decoded[1])
    except MemoryError:
        return Said(fault="it does not fit into memory; close other programs or record a shorter trace.")
    except Exception as error:
        return Said(fault=f"a piece of it cannot be read ({type(error).__name__}: {error}); please report this fault.")


def _send(connection: Connection, said: Said) -> None:
    head, buffers = packed(said)
    connection.send_bytes(msgspec.json.encode([len(buffer) for buffer in buffers]))
    connection.send_bytes(head)
    for buffer in buffers:
        if len(buffer):
            connection.send_bytes(buffer)


def _received(connection: Connection) -> Said:
    sizes = msgspec.json.decode(connection.recv_bytes(), type=list[int])
    head = connection.recv_bytes()
    buffers = [np.empty(size, np.uint8) for size in sizes]
    for buffer in buffers:
        if len(buffer):
            connection.recv_bytes_into(buffer)
    return unpacked(head, buffers)


def _cut(joined: bytes, lengths: Any) -> list[Raw]:
    ends = np.cumsum(lengths).tolist()
    return [Raw(joined[end - length : end]) for end, length in zip(ends, lengths.tolist(), strict=True)]


def _ended() -> ProfileError:
    return ProfileError(
        "a process that read a part of it ended unexpectedly, perhaps for lack of memory; "
        "close other programs and try again."
    )
