"""Foreign traces → one profile folder. Each file is decoded in a child process, so that a crash takes nothing down."""

from __future__ import annotations

import gc
import hashlib
import json
import multiprocessing
import os
import re
import shutil
import signal
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from importlib import metadata
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from smprof.profile.manifest import (
    MANIFEST_NAME,
    Clock,
    Host,
    Manifest,
    Process,
    ProfileError,
    parse_manifest,
)
from smprof.profile.writer import ProfileWriter, free_folder
from smprof_desktop.atomic import new_folder
from smprof_desktop.importers import content, crew, nsight_report
from smprof_desktop.importers.chrome import import_events
from smprof_desktop.importers.detect import detect
from smprof_desktop.importers.document import TraceDocument
from smprof_desktop.importers.facts import describe
from smprof_desktop.importers.kineto import TraceImport
from smprof_desktop.importers.nsight import import_database
from smprof_desktop.importers.placing import Placed, place_processes
from smprof_desktop.progress import CancelCheck, Cancelled, Progress, never, silent

VERSION = 3
"""Of what the importers write: kept imports of another version are not used again."""

READABLE = ("kineto", "chrome", "nsight", "nsys-rep")
_NOT_YET = {
    "xplane": "a TensorFlow or JAX trace (XPlane), which this version cannot read yet; open a PyTorch trace instead.",
    "profile": "a profile already; open it as it is.",
}
_UNPLACED = "unplaced"
_UNPLACED_AS = f"{_UNPLACED}, process {_UNPLACED}"
_EVENTS_SHARE = 0.7
_MOST_HELPERS = 4
_SHARED_BYTES = 32 << 20
"""Of shorter texts starting processes to share the work takes longer than they save."""
_POLL_SECONDS = 0.1


def import_traces(
    paths: Sequence[Path], out: Path, progress: Progress = silent, cancelled: CancelCheck = never
) -> Path:
    """Make one profile of trace files, one process each, in the new or empty folder `out`; gives `out`.

    Everything is written beside `out` and renamed at the end. Raises ProfileError; Cancelled once nothing half-written
    is left.
    """
    if not paths:
        raise ProfileError("There is no trace to import; name at least one file.")
    for path in paths:
        readable(path)
    with new_folder(out) as work:
        parts = [work.aside / f"part-{index}" for index in range(len(paths))]
        _import_all(list(zip(paths, parts, [0] * len(paths), strict=True)), progress, cancelled)
        manifests = [_manifest_of(part) for part in parts]
        clock, shifts = common_clock([manifest.clock for manifest in manifests])
        again = [index for index, shift in enumerate(shifts) if shift]
        if again:
            for index in again:
                shutil.rmtree(parts[index])
            _import_all([(paths[index], parts[index], shifts[index]) for index in again], progress, cancelled)
            manifests = [_manifest_of(part) for part in parts]
        if cancelled():
            raise Cancelled
        _assemble(parts, manifests, clock, work.whole, profile_name(paths))
    progress(1.0, "imported")
    return out


def readable(path: Path) -> str:
    """What kind of trace a file is. Raises ProfileError where it is none that can be imported."""
    kind = detect(path)
    if kind not in READABLE:
        raise ProfileError(f"{path} is {_NOT_YET[kind]}")
    return kind


def import_file(
    path: Path,
    out: Path,
    shift_ns: int = 0,
    advance: Callable[[float], None] = lambda share: None,
    helpers: Sequence[Connection] = (),
) -> None:
    """Make a profile of one trace file, in this process. `shift_ns` is added to every time. Raises ProfileError.

    `helpers`: connections to processes that run `crew.work`; they end once there is nothing more for them to read.
    """
    kind = readable(path)
    if kind in ("nsight", "nsys-rep"):
        _import_nsight(path, kind, out, shift_ns, advance)
        return
    manifest = _new_manifest()
    writer = ProfileWriter(out, manifest, segment_rows=None)
    try:
        _import_events(path, kind, writer, shift_ns, advance, helpers)
    except ProfileError as error:
        raise ProfileError(f"{path} cannot be imported: {error}") from None
    manifest.sources = [_source(path, kind)]
    writer.finish()
    advance(1.0)


def _import_events(
    path: Path,
    kind: str,
    writer: ProfileWriter,
    shift_ns: int,
    advance: Callable[[float], None],
    helpers: Sequence[Connection],
) -> None:
    """The processes of a JSON text. What is needed on the way is as large as what is written, and ends with this."""
    manifest = writer.manifest
    document = TraceDocument(content.FileText(path), manifest.lose)
    read = _events_of(advance)
    if kind == "chrome":
        manifest.clock = import_events(document, writer, _new_process, shift_ns, path.name, manifest.lose, read)
        return
    process = writer.process(_new_process())
    trace = TraceImport(process, manifest.lose, shift_ns)
    with crew.PieceCrew(helpers, shift_ns) if helpers else nullcontext() as readers:
        keys = trace.run(document, read, readers)
    manifest.clock = describe(process.info, trace, keys, path.name)


def _events_of(advance: Callable[[float], None]) -> Callable[[float], None]:
    """Progress of reading events, behind which comes writing."""
    return lambda share: advance(share * _EVENTS_SHARE)


def _new_process() -> Process:
    return Process(host=_UNPLACED, process=_UNPLACED)


def _import_nsight(path: Path, kind: str, out: Path, shift_ns: int, advance: Callable[[float], None]) -> None:
    """An Nsight Systems export, or a report that is exported first: all its processes."""
    with nsight_report.exported(path, out) if kind == "nsys-rep" else nullcontext(path) as database:
        manifest = _new_manifest()
        writer = ProfileWriter(out, manifest, segment_rows=None)
        try:
            manifest.clock = import_database(database, writer, shift_ns, lambda share: advance(share * 0.6))
        except ProfileError as error:
            raise ProfileError(f"{path} cannot be imported: {error}") from None
    manifest.sources = [_source(path, kind)]
    writer.finish()
    advance(1.0)


def _new_manifest() -> Manifest:
    return Manifest(created_by=f"SMProf Desktop {metadata.version('smprof-desktop')}")


def _source(path: Path, kind: str) -> dict[str, Any]:
    with path.open("rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"name": path.name, "bytes": path.stat().st_size, "sha256": sha256, "format": kind}


def common_clock(clocks: Sequence[Clock]) -> tuple[Clock, list[int]]:
    """One clock for several traces, and what to add to the times of each.

    Where one has no known distance from Unix time, nothing can be aligned: times stay as recorded.
    """
    offsets = [clock.unix_offset_ns for clock in clocks]
    known = [offset for offset in offsets if offset is not None]
    if len(known) < len(offsets):
        return Clock("relative", None), [0] * len(clocks)
    # The latest: times then are the smallest, and all of them still fit.
    reference = max(known)
    kind = "unix" if reference == 0 else "relative"
    return Clock(kind, reference), [offset - reference for offset in known]


def _import_all(tasks: list[tuple[Path, Path, int]], progress: Progress, cancelled: CancelCheck) -> None:
    """Run tasks (trace, folder, shift) in child processes, as many at once as there are CPUs."""
    sizes = [max(path.stat().st_size, 1) for path, _out, _shift in tasks]
    shares = [0.0] * len(tasks)
    # The largest first: the smaller ones fill up the time beside it.
    waiting = sorted(range(len(tasks)), key=lambda index: sizes[index])
    at_once = min(len(tasks), os.cpu_count() or 1)
    helpers = _helpers_of([path for path, _out, _shift in tasks], at_once)
    workers: list[_Worker] = []
    try:
        for _ in range(at_once):
            workers.append(_Worker(helpers))
        while True:
            for worker in workers:
                if worker.task is None and waiting:
                    worker.give(waiting.pop(), tasks)
            busy = {worker.connection: worker for worker in workers if worker.task is not None}
            if not busy:
                return
            for connection in wait(list(busy), _POLL_SECONDS):
                assert isinstance(connection, Connection)
                busy[connection].hear(tasks, shares)
            if cancelled():
                raise Cancelled
            done = sum(share * size for share, size in zip(shares, sizes, strict=True)) / sum(sizes)
            progress(done * 0.99, f"reading {len(tasks)} traces" if len(tasks) > 1 else f"reading {tasks[0][0].name}")
    finally:
        for worker in workers:
            worker.stop()


def _helpers_of(paths: Sequence[Path], at_once: int) -> int:
    """How many processes share the work of each that imports: none where the files do that themselves, or are short."""
    helpers = min((os.cpu_count() or 1) // at_once, _MOST_HELPERS)
    long = (content.likely_bytes(path) >= _SHARED_BYTES and detect(path) == "kineto" for path in paths)
    return helpers if helpers > 1 and any(long) else 0


class _Worker:
    """A child process that imports one file after the other, and the index of the one it is at.

    Its helpers are children of this process too: each is connected with it, and ends when either does.
    """

    def __init__(self, helpers: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.task: int | None = None
        self.connection, theirs = context.Pipe()
        pipes = [context.Pipe() for _ in range(helpers)]
        self._helpers = [context.Process(target=crew.work, args=(end,), daemon=True) for _, end in pipes]
        arguments = (theirs, [end for end, _ in pipes])
        self._process: SpawnProcess = context.Process(target=_work, args=arguments, daemon=True)
        for process in (self._process, *self._helpers):
            process.start()
        for end in (theirs, *(end for pipe in pipes for end in pipe)):
            end.close()

    def give(self, index: int, tasks: list[tuple[Path, Path, int]]) -> None:
        """Start a task."""
        path, out, shift_ns = tasks[index]
        self.task = index
        try:
            self.connection.send_bytes(json.dumps([os.fspath(path), os.fspath(out), shift_ns]).encode())
        except OSError:
            raise self._crashed(tasks) from None

    def hear(self, tasks: list[tuple[Path, Path, int]], shares: list[float]) -> None:
        """Take one message: a share done, the end, or an error, which is raised as ProfileError."""
        assert self.task is not None
        try:
            message = json.loads(self.connection.recv_bytes())
        except (EOFError, OSError):
            raise self._crashed(tasks) from None
        if isinstance(message, str):
            raise ProfileError(message)
        shares[self.task] = message
        if message >= 1:
            self.task = None

    def stop(self) -> None:
        """End the child: by itself where it waits, otherwise at once."""
        self.connection.close()
        if self.task is not None:
            self._process.terminate()
        for process in (self._process, *self._helpers):
            process.join(2)
            if process.is_alive():
                process.kill()
                process.join()
            process.close()

    def _crashed(self, tasks: list[tuple[Path, Path, int]]) -> ProfileError:
        assert self.task is not None
        self._process.join(2)
        return ProfileError(
            f"The import of {tasks[self.task][0]} ended unexpectedly (exit status {self._process.exitcode}), "
            "perhaps for lack of memory; close other programs and try again."
        )


def _work(connection: Connection, helpers: list[Connection]) -> None:
    """What a child does: import what it is told until there is no more."""
    # Ctrl-C reaches the whole group; the parent decides what becomes of the children.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Millions of events at once make no cycles; looking for them costs a tenth of the time.
    gc.disable()
    told = [0.0]

    def advance(share: float) -> None:
        if share - told[0] >= 0.01 and share < 1:
            told[0] = share
            connection.send_bytes(json.dumps(share).encode())

    try:
        while True:
            path, out, shift_ns = json.loads(connection.recv_bytes())
            told[0] = 0.0
            answer: float | str = 1.0
            try:
                long = content.likely_bytes(Path(path)) >= _SHARED_BYTES
                still = [end for end in helpers if long and not end.closed]
                import_file(Path(path), Path(out), shift_ns, advance, still)
            except ProfileError as error:
                answer = str(error)
            except MemoryError:
                answer = f"{path} does not fit into memory; close other programs or record a shorter trace."
            except BrokenPipeError:
                return
            except OSError as error:
                why = error.strerror or error
                answer = f"{path} cannot be imported: {why}; make room, or choose another place for it."
            except Exception as error:
                answer = f"{path} cannot be imported ({type(error).__name__}: {error}); please report this fault."
            connection.send_bytes(json.dumps(answer).encode())
    except (EOFError, OSError):
        return


def _manifest_of(part: Path) -> Manifest:
    return parse_manifest(json.loads((part / MANIFEST_NAME).read_bytes()))


def _assemble(parts: Sequence[Path], manifests: Sequence[Manifest], clock: Clock, out: Path, name: str) -> None:
    """Move the processes of the parts into one folder under one manifest."""
    owners: dict[int, int] = {}
    placed: list[Placed] = []
    for index, part in enumerate(manifests):
        for process in part.processes:
            owners[id(process)] = index
            placed.append(Placed(process, part.sources[0]["sha256"], part.sources[0]["name"]))
    manifest = Manifest(name=name, created_by=manifests[0].created_by, clock=clock)
    unknown = [source.sources[0]["name"] for source in manifests if source.clock.unix_offset_ns is None]
    if unknown and len(manifests) > 1:
        manifest.lose("unaligned_clock", len(unknown), f"{', '.join(unknown[:3])}{', …' if len(unknown) > 3 else ''}")
    done: set[int] = set()
    for trace in place_processes(placed):
        process = trace.process
        index = owners[id(process)]
        source = manifests[index]
        old, process.folder = process.folder, ""
        process.folder = free_folder(process, {other.folder for other in manifest.processes})
        (out / process.folder).parent.mkdir(parents=True, exist_ok=True)
        os.replace(parts[index] / old, out / process.folder)
        manifest.processes.append(process)
        if process.host not in {host.name for host in manifest.hosts}:
            manifest.hosts.append(Host(process.host))
        if index not in done:
            done.add(index)
            manifest.sources += source.sources
            # What a file of several processes lost, it lost as a whole.
            several = len(source.processes) > 1
            where = trace.file_name if several else f"{process.host}, process {process.process}"
            for loss in source.losses:
                # What the writer itself lost names the process as it was called before it was placed.
                detail = loss.detail.removeprefix(_UNPLACED_AS).removeprefix(": ")
                manifest.lose(loss.kind, loss.count, f"{where}: {detail}" if detail else where)
        manifest.lose("duplicate_process", int(bool(trace.renamed)), trace.renamed)
    manifest.write(out)


def profile_name(paths: Sequence[Path]) -> str:
    """What a profile of these traces is called: after its file, the folder of all, or their number."""
    if len(paths) == 1:
        return re.sub(r"(\.pt\.trace)?(\.json)?(\.gz)?$|\.(sqlite|nsys-rep)$", "", paths[0].name) or paths[0].name
    folders = {path.absolute().parent for path in paths}
    return folders.pop().name if len(folders) == 1 else f"{len(paths)} traces"
