"""Opens profiles: lazily, column by column, and tolerantly, counting what could not be read."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smprof.profile import columns as cols
from smprof.profile.assemble import assemble
from smprof.profile.clock import Course, align, course_of
from smprof.profile.contents import (
    bounds_of,
    check_bytes,
    list_process,
    one_line,
    open_parquet,
    read_column,
    refuse_shortage,
    salvage,
)
from smprof.profile.guard import Guard
from smprof.profile.lane_rows import lanes_of
from smprof.profile.layout import group_bounds
from smprof.profile.manifest import (
    MANIFEST_NAME,
    MAX_MANIFEST_BYTES,
    Host,
    Loss,
    Manifest,
    Process,
    ProfileError,
    parse_manifest,
)
from smprof.profile.schema import LANE_KEYS, NONE, SLICE_TABLES, TABLES, VERSION, Column, column
from smprof.profile.storage import TableFile
from smprof.profile.table import Names, Table
from smprof.profile.upgrade import upgrade_document, version_of

_TIMES = ("start_ns", "time_ns", "begin_ns", "end_ns")
_POINTS_TO = {
    ("", "name_id"): "names",
    ("", "shape_id"): "shapes",
    ("device", "launch"): "host",
    ("host", "op"): "host",
}
"""What the positions in a column point to; an empty table stands for every table."""


@dataclass(frozen=True)
class Arguments:
    """One argument of many rows: `id` ascends. Where it is an integer, it stands in `integer` and `code` is NONE;
    otherwise `code` is its position in `values`."""

    id: NDArray[np.int64]
    integer: NDArray[np.int64]
    code: NDArray[np.int64]
    values: list[Any]


class ProcessProfile:
    """One process of a profile and its tables. Safe to read from several threads."""

    def __init__(self, folder: Path, info: Process, version: int, guard: Guard | None = None) -> None:
        self.folder = folder
        self.info = info
        self.guard = guard
        self._version = version
        self._listing = list_process(folder)
        self.losses: list[Loss] = list(self._listing.losses)
        self._where = "/".join(folder.parts[-2:])
        self._tables: dict[str, Table] | None = None
        self._names: Names | None = None
        self._course: Course | None = None
        self._counted: set[str] = set()
        self._arguments: list[tuple[int, str, int, int]] | None = None
        self._lock = threading.RLock()

    @property
    def names(self) -> Names:
        """The names of this process."""
        if self._names is None:
            self._names = Names(self.table("names"))
        return self._names

    def table(self, name: str) -> Table:
        """A table in merged order, whether its segments are merged on disk or only here."""
        with self._lock:
            if self._tables is None:
                self._tables = self._open_merged() or self._open_raw()
            return self._tables[name]

    def args_of(self, table: str, row: int) -> dict[str, Any]:
        """The free-form arguments of one row, as JSON values; those that do not parse as their text."""
        args = self.table("args")
        code = column("args", "table").choices.index(table)
        found: dict[str, Any] = {}
        for owner, key, begin, end in self._argument_runs():
            if owner != code:
                continue
            # Several values of one key stand side by side; the last one is the one that JSON readers keep.
            at = begin + int(np.searchsorted(args["id"][begin:end], row, "right")) - 1
            if at >= begin and int(args["id"][at]) == row:
                found[key] = _value(args.arrow("text")[at].as_py(), int(args["integer"][at]))
        return found

    def arguments(self, table: str, key: str) -> Arguments:
        """One argument of all rows of a table that have it."""
        args, code = self.table("args"), column("args", "table").choices.index(table)
        for owner, word, begin, end in self._argument_runs():
            if owner == code and word == key:
                words = args.arrow_part("text", begin, end).combine_chunks().dictionary_encode()
                words = words.combine_chunks() if isinstance(words, pa.ChunkedArray) else words
                return Arguments(
                    args.part("id", begin, end),
                    args.part("integer", begin, end),
                    words.indices.fill_null(NONE).to_numpy(zero_copy_only=False).astype(np.int64),
                    [_value(text, NONE) for text in words.dictionary.to_pylist()],
                )
        none = np.zeros(0, np.int64)
        return Arguments(none, none, none, [])

    def forget(self) -> None:
        """Let go of all columns in memory; they are read again when asked for."""
        # Not under the lock: who reads a column holds the table's, and may ask for another table meanwhile.
        for table in list((self._tables or {}).values()):
            table.forget()

    def trim(self, most_bytes: int, but: Collection[str] = ()) -> None:
        """Let go of row groups of all columns but some, until those of each table are that small together."""
        for table in list((self._tables or {}).values()):
            table.trim(most_bytes, but)

    def unread(self) -> ProcessProfile:
        """The same process with nothing in memory yet: what is read of it goes with it."""
        fresh = ProcessProfile(self.folder, self.info, self._version, self.guard)
        fresh._course = self._course
        return fresh

    def retime(self, course: Course) -> None:
        """Count time by another clock, against which this one takes `course`. Before any table is read, and once."""
        if self._tables is not None or self._course is not None:
            raise ValueError("tables have been read already")
        self._course = course
        windows = [[course.time(begin), course.time(end)] for begin, end in self.info.windows_ns]
        self.info = replace(self.info, windows_ns=windows)

    def was_checked(self, guard: Guard) -> bool:
        """Whether the guard knows every file of this process, so that it can be opened without asking its child."""
        listing = self._listing
        if not listing.merged or listing.losses or self._version != VERSION:
            return False
        try:
            return all(
                guard.knows(self.folder / files[0].name, listing.journal[files[0].name].crc32)
                for files in listing.files.values()
            )
        except OSError:
            return False

    def _argument_runs(self) -> list[tuple[int, str, int, int]]:
        """(table, key, begin, end) of each run of arguments: the table is sorted by table, key and id."""
        if self._arguments is None:
            args = self.table("args")
            keys = args.arrow("key")
            keys = keys if pa.types.is_dictionary(keys.type) else keys.dictionary_encode()
            codes = keys.indices.to_numpy(zero_copy_only=False)
            bounds = group_bounds(args["table"], codes).tolist() if len(args) else []
            words = keys.dictionary.to_pylist()
            self._arguments = [
                (int(args["table"][begin]), words[codes[begin]], begin, end) for begin, end in pairwise(bounds)
            ]
        return self._arguments

    def _open_merged(self) -> dict[str, Table] | None:
        """Tables read lazily from merged files, or None where anything is damaged or not merged."""
        listing = self._listing
        if not listing.merged or listing.losses or self._version != VERSION:
            return None
        tables: dict[str, Table] = {}
        for name in TABLES:
            files = listing.files.get(name, ())
            if not files:
                tables[name] = Table(name, 0, lambda wanted: cols.normal(wanted, None, 0))
                continue
            line = listing.journal.get(files[0].name)
            try:
                if check_bytes(self.folder, files[0], line) is not None:
                    return None
                if self.guard is not None and self._refusal(self.guard, files[0], "id", ()):
                    return None
                with open_parquet(self.folder, files[0]) as file:
                    metadata = file.metadata
            except (pa.ArrowException, OSError, ValueError, KeyError, ProfileError) as error:
                refuse_shortage(error)
                return None
            if line is not None and line.rows != metadata.num_rows:
                return None
            tables[name] = self._lazy_table(files[0], metadata)
        if any(len(tables[name]) for name in SLICE_TABLES) and not len(tables["lane_rows"]):
            return None
        return self._with_lanes(tables)

    def _lazy_table(self, named: TableFile, metadata: Any) -> Table:
        """A table whose columns, and row groups of columns, are read when they are asked for."""
        name, rows, groups = named.table, metadata.num_rows, range(metadata.num_row_groups)

        def read(wanted: Column, groups: Sequence[int], counted: bool) -> Any:
            values = self._checked(name, wanted, self._read(named, metadata, wanted, groups), counted)
            return self._retimed(name, wanted, values, lambda start: self._read(named, metadata, start, groups))

        def load(wanted: Column) -> Any:
            if wanted.name == "id" and name != "args":
                return np.arange(rows, dtype=cols.dtype_of(wanted))
            if wanted.name in LANE_KEYS.get(name, ()):
                repeated = self._from_lane_rows(name, wanted, rows)
                if repeated is not None:
                    return repeated
            values = read(wanted, groups, counted=True)
            if wanted.name == "start_ns" and name in SLICE_TABLES:
                self._check_order(name, values)
            return values

        def load_piece(wanted: Column, group: int) -> Any:
            if wanted.name in LANE_KEYS.get(name, ()):
                begin = ends[group - 1] if group else 0
                repeated = self._from_lane_rows(name, wanted, rows, begin, ends[group])
                if repeated is not None:
                    return repeated
            return read(wanted, (group,), counted=False)

        ends = np.cumsum([metadata.row_group(group).num_rows for group in groups]).tolist()

        def bounds(wanted: Column) -> Any:
            return None if self._course is not None and wanted.name in _TIMES else bounds_of(metadata, wanted)

        return Table(name, rows, load, load_piece if len(ends) > 1 else None, ends, bounds)

    def _read(self, named: TableFile, metadata: Any, wanted: Column, groups: Sequence[int]) -> Any:
        """A column, or some row groups of it, from its file, which is open only meanwhile."""
        try:
            if self.guard is not None:
                why = self._refusal(self.guard, named, wanted.name, groups)
                if why is not None:
                    raise ValueError(why)
            with open_parquet(self.folder, named, metadata) as file:
                return read_column(file, wanted, groups)
        except (pa.ArrowException, OSError, ValueError) as error:
            refuse_shortage(error)
            raise ProfileError(
                f"{self._where}/{named.name}: column {wanted.name} cannot be read ({one_line(error)}); "
                "load the profile again."
            ) from None

    def _refusal(self, guard: Guard, named: TableFile, name: str, groups: Sequence[int]) -> str | None:
        """Why the guard cannot read a column of a file whose bytes are those that were journaled, or None."""
        line = self._listing.journal.get(named.name)
        return guard.check(self.folder / named.name, (name,), groups, None if line is None else line.crc32)

    def _from_lane_rows(self, name: str, wanted: Column, rows: int, begin: int = 0, end: int | None = None) -> Any:
        """Rows [begin, end) of a lane key of a merged table of `rows`, from `lane_rows`, where it stands once a row.

        None where they do not fit. Repeating takes a tenth of the time that decoding does.
        """
        lanes = self.table("lane_rows")
        mine = np.flatnonzero((lanes["table"] == SLICE_TABLES.index(name)) & (lanes["row"] != NONE))  # no unions
        begins, ends = lanes["begin_row"][mine], lanes["end_row"][mine]
        if not (len(mine) and begins[0] == 0 and ends[-1] == rows and bool((begins[1:] == ends[:-1]).all())):
            return None
        if not bool((begins <= ends).all()):
            return None
        if wanted.choices:
            choice = {text: code for code, text in enumerate(wanted.choices)}
            texts = lanes.arrow("kind").take(pa.array(mine)).to_pylist()
            if not all(text in choice for text in texts):
                return None
            values = np.array([choice[text] for text in texts], np.int8)
        else:
            stored = "row" if wanted.name == "depth" else wanted.name
            values = lanes[stored][mine].astype(cols.dtype_of(wanted))
        end = rows if end is None else end
        return np.repeat(values, np.clip(ends, begin, end) - np.clip(begins, begin, end))

    def _checked(self, name: str, wanted: Column, values: Any, counted: bool) -> Any:
        """Values that cannot be true made harmless, and counted where the whole column is read."""
        target = _POINTS_TO.get((name, wanted.name)) or _POINTS_TO.get(("", wanted.name))
        if target is not None:
            wrong = (values >= len(self.table(target))) | (values < (NONE if wanted.nullable else 0))
            kind = "missing_names" if target in ("names", "shapes") else "damaged_segment"
            values = self._replaced(kind, values, wrong, NONE, f"{name}.{wanted.name}", counted)
        elif wanted.name == "duration_ns":
            wrong = values < 0
            values = self._replaced("damaged_segment", values, wrong, 0, f"{name}.{wanted.name}", counted)
        return values

    def _retimed(self, name: str, wanted: Column, values: Any, starts_of: Callable[[Column], Any]) -> Any:
        """Times and durations by the clock that is asked for; `starts_of` reads the starts as they are stored."""
        if self._course is None:
            return values
        if wanted.name == "duration_ns" and name in SLICE_TABLES and not self._course.is_constant:
            return self._course.durations(starts_of(column(name, "start_ns")), values)
        return self._course.times(values) if wanted.name in _TIMES else values

    def _replaced(self, kind: str, values: Any, wrong: Any, by: int, what: str, counted: bool) -> Any:
        if not wrong.any():
            return values
        if counted and what not in self._counted:
            self._counted.add(what)
            self.losses.append(Loss(kind, int(wrong.sum()), f"{self._where}: {what} out of range"))
        return np.where(wrong, by, values).astype(values.dtype)

    def _check_order(self, name: str, start_ns: Any) -> None:
        """Raise ProfileError where starts do not ascend within lane rows: searches would silently miss slices."""
        lanes = self.table("lane_rows")
        falls = np.flatnonzero(start_ns[1:] < start_ns[:-1]) + 1
        begins = lanes["begin_row"][lanes["table"] == SLICE_TABLES.index(name)]
        if not np.isin(falls, begins).all():
            raise ProfileError(f"{self._where}: {name} is not in the order that the format demands; load it again.")

    def _open_raw(self) -> dict[str, Table]:
        """Everything that can be read, assembled in memory, or by the guard in a copy."""
        if self.guard is not None:
            copy, self.losses = self.guard.merged_copy(self.folder, self._version)
            inner = ProcessProfile(copy, self.info, VERSION)
            inner._course = self._course
            # Whatever is found missing in the copy was missing here.
            inner.losses, inner._where = self.losses, self._where
            return {name: inner.table(name) for name in TABLES}
        raw, losses, _ = salvage(self.folder, self._version)
        self.losses = losses
        tables: dict[str, Table] = {}
        for name, columns in assemble(raw).items():

            def load(wanted: Column, table: str = name, kept: Mapping[str, Any] = columns) -> Any:
                values = self._checked(table, wanted, kept[wanted.name], counted=True)
                return self._retimed(table, wanted, values, lambda start: kept[start.name])

            tables[name] = Table(name, cols.length_of(columns), load)
        return self._with_lanes(tables)

    def _with_lanes(self, tables: dict[str, Table]) -> dict[str, Table]:
        """The tables with lane rows and a ladder that fit times by another clock: both are made anew from the slices.

        Stored bins lie on a grid of the stored times.
        """
        if self._course is not None:
            self._tables = tables
            lane_rows, ladder = lanes_of(tables)
            tables["ladder"] = _in_memory("ladder", ladder)
            if not self._course.is_constant:
                tables["lane_rows"] = _in_memory("lane_rows", lane_rows)
        return tables


def _in_memory(name: str, columns: cols.Columns) -> Table:
    return Table(name, cols.length_of(columns), lambda wanted: columns[wanted.name])


def _value(text: str | None, integer: int) -> Any:
    if text is None:
        return integer
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


class Profile:
    """An open profile: its manifest and its processes. Times are ns of the manifest's clock."""

    def __init__(self, manifest: Manifest, processes: Sequence[ProcessProfile]) -> None:
        self.manifest = manifest
        self.processes = tuple(processes)
        self._span: tuple[int, int] | None = None

    @staticmethod
    def open(folder: Path, guard: Guard | None = None) -> Profile:
        """Open the profile in `folder`. Reads the manifest only. Raises ProfileError: one sentence.

        With a `guard`, whatever is read is read by it first: for profiles that others wrote.
        """
        folder = Path(folder)
        path = folder / MANIFEST_NAME
        try:
            size = path.stat().st_size
            if size > MAX_MANIFEST_BYTES:
                raise ProfileError(f"{path} is too large for a manifest ({size} bytes); load the profile again.")
            document = json.loads(path.read_bytes())
        except FileNotFoundError:
            raise ProfileError(f"{folder} holds no profile (no {MANIFEST_NAME}); choose a profile's folder.") from None
        except OSError as error:
            raise ProfileError(f"{path} cannot be read ({error.strerror}); check the permissions.") from None
        except (ValueError, RecursionError):
            raise ProfileError(f"{path} is damaged: it is not JSON; load the profile again.") from None
        version = version_of(document)
        manifest = parse_manifest(upgrade_document(document))
        processes = [ProcessProfile(folder / p.folder, p, version, guard) for p in manifest.processes]
        if guard is not None and not all(process.was_checked(guard) for process in processes):
            guard.start()  # it will be asked soon
        return Profile(manifest, processes)

    @staticmethod
    def combine(profiles: Sequence[Profile], name: str = "") -> Profile:
        """Several profiles, just opened, as one; their times are those of the first one's clock.

        Where a clock is known to drift, times are those of a clock that does not and agrees with the first one's where
        its offset was taken.
        A GPU that another profile's process used already on a host of the same `algo-1` kind is one of the next host.
        Where none says what its clock counts, times stand as recorded and a loss says so. Raises ProfileError where
        some do and some do not.
        """
        if len(profiles) == 1:
            return profiles[0]
        names = [profile.manifest.name for profile in profiles]
        clocks = [profile.manifest.clock for profile in profiles]
        first = profiles[0].manifest
        unknown = [text for text, clock in zip(names, clocks, strict=True) if course_of(clock) is None]
        if 0 < len(unknown) < len(profiles):
            raise ProfileError(
                f"{unknown[0]} does not say from which moment it counts time, as the others do; open them one by one."
            )
        clock, courses = align(clocks, names)
        manifest = replace(
            first,
            clock=clock,
            name=name or " + ".join(names[:3]) + (" + …" if len(profiles) > 3 else ""),
            synthetic=any(p.manifest.synthetic for p in profiles),
            complete=all(p.manifest.complete for p in profiles),
            hosts=[],
            processes=[],
            losses=[replace(loss) for p in profiles for loss in p.manifest.losses],
            sources=[source for p in profiles for source in p.manifest.sources],
        )
        if unknown:
            manifest.lose("unaligned_clock", len(unknown), ", ".join(unknown[:3]) + (", …" if len(unknown) > 3 else ""))
        processes: list[ProcessProfile] = []
        for profile, course in zip(profiles, courses, strict=True):
            renamed = _free_hosts(profile, manifest)
            hosts = {host.name: host for host in profile.manifest.hosts}
            for old, new in renamed.items():
                if new not in {host.name for host in manifest.hosts}:
                    manifest.hosts.append(replace(hosts.get(old, Host(old)), name=new))
            taken = {(process.host, process.process) for process in manifest.processes}
            for process in profile.processes:
                host, number, text = renamed[process.info.host], 1, process.info.process
                while (host, text) in taken:
                    number += 1
                    text = f"{process.info.process}-{number}"
                if number > 1:
                    manifest.lose("duplicate_process", 1, f"{host}, process {process.info.process}")
                process.info = replace(process.info, host=host, process=text)
                if course is not None:
                    process.retime(course)
                taken.add((host, text))
                manifest.processes.append(process.info)
                processes.append(process)
        return Profile(manifest, processes)

    @property
    def losses(self) -> list[Loss]:
        """The ledger: what the manifest says was lost, and what has been found missing while reading so far."""
        return [*self.manifest.losses, *(loss for process in self.processes for loss in process.losses)]

    @property
    def begin_ns(self) -> int:
        """First start over all slices; 0 where there are none."""
        return self._bounds()[0]

    @property
    def end_ns(self) -> int:
        """Last end over all slices; 0 where there are none."""
        return self._bounds()[1]

    def close(self) -> None:
        """Let go of the guard and of what it made, and of all columns."""
        for process in self.processes:
            if process.guard is not None:  # first: a table that waits for its answer could not forget anything
                process.guard.close()
        for process in self.processes:
            process.forget()

    def _bounds(self) -> tuple[int, int]:
        if self._span is None:
            rows = [process.table("lane_rows") for process in self.processes]
            rows = [table for table in rows if len(table)]
            begin = min((int(table["begin_ns"].min()) for table in rows), default=0)
            self._span = begin, max((int(table["end_ns"].max()) for table in rows), default=0)
        return self._span


def _free_hosts(profile: Profile, manifest: Manifest) -> dict[str, str]:
    """What each host of a profile is called among those of `manifest`."""
    used = {(p.host, d.index) for p in manifest.processes for d in p.devices if d.used}
    names = {process.info.host for process in profile.processes}
    result: dict[str, str] = {}
    for name in sorted(names, key=lambda host: (len(host), host)):
        mine = {d.index for p in profile.processes if p.info.host == name for d in p.info.devices if d.used}
        match = re.fullmatch(r"(algo-)(\d+)", name)
        new = name
        while match and (any((new, device) in used for device in mine) or new in result.values()):
            new = f"{match[1]}{int(new[len(match[1]) :]) + 1}"
        result[name] = new
    return result
