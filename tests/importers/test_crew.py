"""A trace that several processes read is the same as one that a single process read, and theirs is no other fate."""

from __future__ import annotations

import gc
import gzip
import json
import multiprocessing
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from msgspec import Raw

from smprof.profile.manifest import ProfileError
from smprof_desktop.importers import convert, crew, document
from smprof_desktop.importers.document import Event
from smprof_desktop.importers.pieces import Piece, PieceReader, TimedEvents


@contextmanager
def helpers(count: int) -> Iterator[list[Connection]]:
    """Processes that read pieces, by their connections; none is left behind."""
    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe() for _ in range(count)]
    processes = [context.Process(target=crew.work, args=(theirs,), daemon=True) for _ours, theirs in pipes]
    for process in processes:
        process.start()
    for _ours, theirs in pipes:
        theirs.close()
    try:
        yield [ours for ours, _theirs in pipes]
    finally:
        for ours, _theirs in pipes:
            ours.close()
        for process in processes:
            process.join(10)
            assert process.exitcode is not None, "a process outlives its pipe"


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def all_alike(path: Path, tmp_path: Path, counts: Sequence[int], shift_ns: int = 0) -> None:
    convert.import_file(path, tmp_path / "alone", shift_ns)
    alone = files_of(tmp_path / "alone")
    for count in counts:
        with helpers(count) as ends:
            convert.import_file(path, tmp_path / f"with-{count}", shift_ns, helpers=ends)
            assert all(end.closed for end in ends)
        assert files_of(tmp_path / f"with-{count}") == alone


@pytest.fixture
def short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces so short that a small trace has many."""
    monkeypatch.setattr(convert, "TraceDocument", partial(document.TraceDocument, piece_bytes=20_000))


@pytest.mark.parametrize("name", ["kineto/tl_h100_owlv2.json.gz", "broken/missing_key_quote.json"])
def test_any_number_of_processes_writes_the_same_bytes(
    traces: Path, tmp_path: Path, short_pieces: None, name: str
) -> None:
    all_alike(traces / name, tmp_path, (1, 4))


def some_events(count: int) -> list[dict[str, Any]]:
    """Events of every kind that an import tells apart, with odd ids, names and times."""
    chosen, events = random.Random(5), []
    categories = ("cpu_op", "kernel", "gpu_memcpy", "cuda_runtime", "cuda_sync", "user_annotation", "other thing", "")
    for index in range(count):
        ph = chosen.choice("XXXXXXBEsftbneMCiIQ")
        event: dict[str, Any] = {"ph": ph, "name": f"n{chosen.randrange(50)}", "ts": index + chosen.random()}
        event |= {"pid": chosen.choice([1, 1, 1, 2, "x", 1 << 70]), "tid": chosen.choice([7, 8, "stream 7", -3])}
        args: dict[str, Any] = {f"k{chosen.randrange(4)}": chosen.choice([1, -1, "é", [1], 1.5, None, "2"])}
        if ph == "X":
            event |= {"cat": chosen.choice(categories), "dur": chosen.choice([1, 2.5, 0, -1, "x"])}
            args |= {"correlation": chosen.choice([0, index, index // 9]), "grid": [1, 2, chosen.randrange(3)]}
        elif ph == "M":
            event["name"] = chosen.choice(["thread_name", "process_name", "odd"])
            args = {"name": f"called {index}"}
        else:
            event |= {"cat": chosen.choice(["ac2g", "fwdbwd", "x"]), "id": chosen.choice([1, 2, index, "0x5"])}
        events.append({**event, "args": args})
    return events


@pytest.mark.parametrize("shift_ns", [0, -7])
@pytest.mark.parametrize("damage", [0, 1, 40])
def test_events_of_every_kind_and_damage_are_the_same(
    tmp_path: Path, short_pieces: None, damage: int, shift_ns: int
) -> None:
    text = bytearray(json.dumps({"traceEvents": some_events(3_000), "schemaVersion": 1}).encode())
    chosen = random.Random(damage)
    for _ in range(damage):
        text[chosen.randrange(20, len(text) - 40)] = chosen.choice(b'"{}[],:\\\x00\xff')
    (tmp_path / "trace.json").write_bytes(text)
    all_alike(tmp_path / "trace.json", tmp_path, (1, 4), shift_ns)


def test_a_trace_cut_short_is_the_same(tmp_path: Path, short_pieces: None) -> None:
    packed = gzip.compress(json.dumps(some_events(2_000)).encode())
    (tmp_path / "trace.json.gz").write_bytes(packed[: len(packed) * 2 // 3])
    all_alike(tmp_path / "trace.json.gz", tmp_path, (2,))


def test_what_is_sent_comes_back_as_it_was() -> None:
    events = msgspec.json.decode(
        json.dumps([{**e, "dur": e.get("dur", 0)} for e in some_events(500)]), type=list[Event]
    )
    piece = PieceReader(3).read(events)
    back = crew.unpacked(*crew.packed(crew.Said(piece, 5))).piece
    assert back is not None
    assert same(back, piece)
    assert crew.unpacked(*crew.packed(crew.Said())) == crew.Said()


def same(one: Any, other: Any) -> bool:
    """Whether two values hold the same, arrays by content."""
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, pa.Array):
        return bool(one.equals(other))
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(map(same, one.values(), other.values()))
    if isinstance(one, Raw):
        return bytes(one) == bytes(other)
    if isinstance(one, (Event, TimedEvents, Piece)) or hasattr(one, "__dataclass_fields__"):
        names = getattr(one, "__struct_fields__", None) or vars(one)
        return all(same(getattr(one, name), getattr(other, name)) for name in names)
    return bool(one == other)


def test_packing_leaves_no_garbage_that_only_the_collector_finds() -> None:
    said = crew.Said(PieceReader().read([Event(ph="X", name=Raw(b'"a"'), ts=Raw(b"1"), dur=Raw(b"2"), pid=1, tid=1)]))
    gc.collect()
    gc.disable()
    try:
        crew.unpacked(*crew.packed(said))
        assert gc.collect() == 0
    finally:
        gc.enable()


def long_trace(path: Path) -> Path:
    """A trace so long that an import starts processes to share the work."""
    args = {"text": "x" * 4_000}
    rows = (
        json.dumps({"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": at, "dur": 1, "args": args})
        for at in range(10_000)
    )
    path.write_text('{"schemaVersion": 1, "traceEvents": [' + ",".join(rows) + "]}")
    assert path.stat().st_size > convert._SHARED_BYTES
    return path


@pytest.fixture
def two_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)


def kill_one(which: Callable[[list[int]], int], watched: list[int]) -> None:
    """Kill one of three children once they are there."""
    while not watched or len(watched) < 3:
        watched[:] = sorted(child.pid for child in multiprocessing.active_children() if child.pid is not None)
        time.sleep(0.01)
    time.sleep(0.5)
    os.kill(which(watched), signal.SIGKILL)


@pytest.mark.parametrize("which", [min, max], ids=["the import", "a helper"])
def test_a_process_that_dies_is_one_sentence_and_takes_the_others_along(
    tmp_path: Path, two_cpus: None, which: Callable[[list[int]], int]
) -> None:
    trace = long_trace(tmp_path / "long.json")
    watched: list[int] = []
    killer = threading.Thread(target=kill_one, args=(which, watched))
    killer.start()
    with pytest.raises(ProfileError, match="ended unexpectedly"):
        convert.import_traces([trace], tmp_path / "out")
    killer.join()
    assert not multiprocessing.active_children()
    assert [path.name for path in tmp_path.iterdir()] == ["long.json"]


def test_a_long_trace_is_shared_and_a_short_one_is_not(tmp_path: Path, two_cpus: None) -> None:
    trace = long_trace(tmp_path / "long.json")
    (tmp_path / "short.json").write_text('[{"ph": "X", "cat": "cpu_op", "name": "a", "ts": 0, "dur": 1}]')
    assert convert._helpers_of([trace], 1) == 2
    assert convert._helpers_of([trace, trace], 2) == 0
    assert convert._helpers_of([tmp_path / "short.json"], 1) == 0
    seen: set[int] = set()

    def progress(share: float, what: str) -> None:
        seen.update(child.pid for child in multiprocessing.active_children() if child.pid is not None)

    convert.import_traces([trace], tmp_path / "out", progress)
    assert len(seen) == 3
