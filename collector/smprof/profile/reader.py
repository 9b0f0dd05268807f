"""Opens profiles: lazily, column by column, and tolerantly, counting what could not be read."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from smprof.profile import columns as cols
from smprof.profile.assemble import assemble
from smprof.profile.contents import check_bytes, list_process, one_line, open_parquet, read_column, salvage
from smprof.profile.guard import Guard
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
from smprof.profile.schema import LANE_KEYS, LOST_NAME, NONE, SLICE_TABLES, TABLES, VERSION, Column, column
from smprof.profile.upgrade import upgrade_document, version_of


class Names:
    """The names of one process, by id. An id that is not among them reads as "(name lost)"."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._texts: list[str] | None = None

    def __len__(self) -> int:
        return len(self._table)

    @property
    def texts(self) -> list[str]:
        """All names; position = id."""
        if self._texts is None:
            self._texts = self._table.arrow("name").to_pylist()
        return self._texts

    def text(self, name_id: int) -> str:
        """The name of that id, as readable text."""
        return self.texts[name_id] if 0 <= name_id < len(self) else LOST_NAME

    def raw(self, name_id: int) -> bytes:
        """The name's bytes exactly as recorded."""
        if not 0 <= name_id < len(self):
            return b""
        kept = self._table.arrow("raw")[name_id].as_py()
        return kept if kept is not None else self.text(name_id).encode()

    def id_of(self, text: str) -> int:
        """The id of exactly that name, NONE where there is none."""
        try:
            return self.texts.index(text)
        except ValueError:
            return NONE


class Table:
    """One table of one process: columns are read when first asked for, and kept. Safe to read from several threads."""

    def __init__(
        self,
        name: str,
        rows: int,
        load: Callable[[Column], Any],
        load_piece: Callable[[Column, int], Any] | None = None,
        piece_ends: Sequence[int] = (),
    ) -> None:
        """`load_piece` reads one of the pieces whose ends are `piece_ends`, where less than a column can be read."""
        self.name = name
        self._rows = rows
        self._load = load
        self._load_piece = load_piece
        self._piece_ends = np.array(piece_ends, np.int64)
        self._pieces: dict[tuple[str, int], NDArray[Any]] = {}
        self._columns: dict[str, Any] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, name: str) -> NDArray[Any]:
        """A column as a read-only numpy array; absent integers are NONE, enumerations positions in the choices."""
        values = self._get(name)
        if not isinstance(values, np.ndarray):
            raise TypeError(f"{self.name}.{name} is text: use arrow() or texts()")
        return values

    def part(self, name: str, begin: int, end: int) -> NDArray[Any]:
        """Rows [begin, end) of a column; reads no more than the row groups they stand in."""
        begin, end = max(begin, 0), min(end, self._rows)
        first = int(np.searchsorted(self._piece_ends, begin, "right"))
        last = int(np.searchsorted(self._piece_ends, end, "left"))
        if name in self._columns or self._load_piece is None or 2 * (last - first + 1) > len(self._piece_ends):
            return self[name][begin:end]
        if end <= begin:
            return np.zeros(0, cols.dtype_of(column(self.name, name)))
        origin = int(self._piece_ends[first - 1]) if first else 0
        pieces = [self._piece(name, index) for index in range(first, last + 1)]
        return (pieces[0] if len(pieces) == 1 else np.concatenate(pieces))[begin - origin : end - origin]

    def at(self, name: str, rows: NDArray[np.int64]) -> NDArray[Any]:
        """The values of a column at some rows; reads no more than the row groups they stand in."""
        if name in self._columns or self._load_piece is None or len(rows) == 0:
            return self[name][rows]
        owners = np.searchsorted(self._piece_ends, rows, "right")
        touched = np.unique(owners)
        if 2 * len(touched) > len(self._piece_ends):
            return self[name][rows]
        values = np.empty(len(rows), cols.dtype_of(column(self.name, name)))
        for index in touched.tolist():
            mine = np.flatnonzero(owners == index)
            origin = int(self._piece_ends[index - 1]) if index else 0
            values[mine] = self._piece(name, index)[rows[mine] - origin]
        return values

    def _piece(self, name: str, index: int) -> NDArray[Any]:
        with self._lock:
            found = self._pieces.get((name, index))
            if found is None:
                assert self._load_piece is not None
                found = self._pieces[name, index] = self._load_piece(column(self.name, name), index)
            return found

    def arrow(self, name: str) -> Any:
        """A text column as an Arrow array."""
        return self._get(name)

    def texts(self, name: str) -> list[str | None]:
        """A text column as Python texts."""
        values: list[str | None] = self._get(name).to_pylist()
        return values

    def _get(self, name: str) -> Any:
        with self._lock:
            if name not in self._columns:
                wanted = column(self.name, name)
                values = self._load(wanted) if self._rows else cols.normal(wanted, None, 0)
                if isinstance(values, np.ndarray):
                    values.flags.writeable = False
                self._columns[name] = values
                for key in [key for key in self._pieces if key[0] == name]:
                    del self._pieces[key]
            return self._columns[name]


class ProcessProfile:
    """One process of a profile and its tables."""

    def __init__(self, folder: Path, info: Process, version: int, guard: Guard | None = None) -> None:
        self.folder = folder
        self.info = info
        self._version = version
        self.guard = guard
        self._listing = list_process(folder)
        self.losses: list[Loss] = list(self._listing.losses)
        self._files: dict[str, pq.ParquetFile] = {}
        self._tables: dict[str, Table] | None = None
        self._names: Names | None = None
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
        if len(args) == 0:
            return {}
        code = column("args", "table").choices.index(table)
        hits = np.flatnonzero((args["id"] == row) & (args["table"] == code))
        found: dict[str, Any] = {}
        for hit in hits.tolist():
            text = args.arrow("text")[hit].as_py()
            if text is None:
                value: Any = int(args["integer"][hit])
            else:
                try:
                    value = json.loads(text)
                except (ValueError, RecursionError):
                    value = text
            found[args.arrow("key")[hit].as_py()] = value
        return found

    def close(self) -> None:
        """Let go of the files."""
        with self._lock:
            for file in self._files.values():
                file.close()
            self._files.clear()

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
                if check_bytes(self.folder, files[0], line) is not None or self._refused(files[0].name, ("id",)):
                    return None
                file = self._files[name] = open_parquet(self.folder, files[0])
            except (pa.ArrowException, OSError, ValueError, KeyError, ProfileError):
                return None
            if line is not None and line.rows != file.metadata.num_rows:
                return None
            tables[name] = self._lazy_table(name, file, files[0].name)
        if any(len(tables[name]) for name in ("device", "host", "annotation")) and not len(tables["lane_rows"]):
            return None
        return tables

    def _refused(self, file_name: str, columns: Sequence[str]) -> str | None:
        """Why the guard could not read these columns, or None."""
        return None if self.guard is None else self.guard.check(self.folder / file_name, columns)

    def _lazy_table(self, name: str, file: pq.ParquetFile, file_name: str) -> Table:
        """A table whose columns, and row groups of columns, are read when they are asked for."""
        rows = file.metadata.num_rows
        ends = np.cumsum([file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]).tolist()

        def load(wanted: Column) -> Any:
            if wanted.name == "id" and name != "args":
                return np.arange(rows, dtype=cols.dtype_of(wanted))
            if wanted.name in LANE_KEYS.get(name, ()):
                repeated = self._from_lane_rows(name, wanted, rows)
                if repeated is not None:
                    return repeated
            return self._checked(wanted, self._read(name, file, file_name, wanted, range(file.num_row_groups)))

        def load_piece(wanted: Column, group: int) -> Any:
            return self._checked(wanted, self._read(name, file, file_name, wanted, (group,)), counted=False)

        return Table(name, rows, load, load_piece if len(ends) > 1 else None, ends)

    def _read(self, name: str, file: pq.ParquetFile, file_name: str, wanted: Column, groups: Sequence[int]) -> Any:
        why = self._refused(file_name, (wanted.name,))
        try:
            if why is not None:
                raise ValueError(why)
            with self._lock:
                return read_column(file, wanted, groups)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise ProfileError(
                f"{self.folder.name}/{name}: column {wanted.name} cannot be read ({one_line(error)}); "
                "load the profile again."
            ) from None

    def _from_lane_rows(self, name: str, wanted: Column, rows: int) -> Any:
        """A lane key of a merged table from `lane_rows`, which hold it once per lane row; None where they do not fit.

        Repeating takes a tenth of the time that decoding does.
        """
        lanes = self.table("lane_rows")
        mine = np.flatnonzero(lanes["table"] == SLICE_TABLES.index(name))
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
        return np.repeat(values, ends - begins)

    def _checked(self, wanted: Column, values: Any, counted: bool = True) -> Any:
        """Ids that name nothing become NONE, and are counted where the whole column is read."""
        if wanted.name not in ("name_id", "shape_id"):
            return values
        limit = len(self.table("names" if wanted.name == "name_id" else "shapes"))
        wrong = (values < 0) | (values >= limit)
        if wrong.any() and counted:
            self.losses.append(Loss("missing_names", int(wrong.sum()), "/".join(self.folder.parts[-2:])))
        return np.where(wrong, NONE, values).astype(values.dtype) if wrong.any() else values

    def _open_raw(self) -> dict[str, Table]:
        """Everything that can be read, assembled in memory, or by the guard in a copy."""
        self.close()
        if self.guard is not None:
            copy, self.losses = self.guard.merged_copy(self.folder, self._version)
            inner = ProcessProfile(copy, self.info, VERSION)
            self._files = inner._files
            return {name: inner.table(name) for name in TABLES}
        raw, losses, _ = salvage(self.folder, self._version)
        self.losses = losses
        merged = assemble(raw)
        tables: dict[str, Table] = {}
        for name, columns in merged.items():

            def load(wanted: Column, kept: Mapping[str, Any] = columns) -> Any:
                return self._checked(wanted, kept[wanted.name])

            tables[name] = Table(name, cols.length_of(columns), load)
        return tables


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
        return Profile(manifest, [ProcessProfile(folder / p.folder, p, version, guard) for p in manifest.processes])

    @staticmethod
    def combine(profiles: Sequence[Profile], name: str = "") -> Profile:
        """Several profiles as one. Raises ProfileError where their clocks cannot be compared."""
        if len(profiles) == 1:
            return profiles[0]
        clocks = {(p.manifest.clock.kind, p.manifest.clock.unix_offset_ns) for p in profiles}
        if len(clocks) > 1:
            raise ProfileError(
                "These profiles count time from different moments and cannot be shown as one; open them one by one."
            )
        first = profiles[0].manifest
        manifest = replace(
            first,
            name=name or " + ".join(p.manifest.name for p in profiles[:3]) + (" + …" if len(profiles) > 3 else ""),
            synthetic=any(p.manifest.synthetic for p in profiles),
            complete=all(p.manifest.complete for p in profiles),
            hosts=_unique_hosts(profiles),
            processes=[],
            losses=[replace(loss) for p in profiles for loss in p.manifest.losses],
            sources=[source for p in profiles for source in p.manifest.sources],
        )
        taken: set[tuple[str, str]] = set()
        processes = []
        for profile in profiles:
            for process in profile.processes:
                info, number = process.info, 1
                while (info.host, info.process) in taken:
                    number += 1
                    info = replace(process.info, process=f"{process.info.process}-{number}")
                if number > 1:
                    manifest.lose("duplicate_process", 1, f"{info.host}, process {process.info.process}")
                process.info = info
                taken.add((info.host, info.process))
                manifest.processes.append(info)
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
        """Let go of the files, and of the guard."""
        for process in self.processes:
            process.close()
            if process.guard is not None:
                process.guard.close()

    def _bounds(self) -> tuple[int, int]:
        if self._span is None:
            rows = [process.table("lane_rows") for process in self.processes]
            rows = [table for table in rows if len(table)]
            begin = min((int(table["begin_ns"].min()) for table in rows), default=0)
            self._span = begin, max((int(table["end_ns"].max()) for table in rows), default=0)
        return self._span


def _unique_hosts(profiles: Sequence[Profile]) -> list[Host]:
    hosts: dict[str, Host] = {}
    for profile in profiles:
        for host in profile.manifest.hosts:
            hosts.setdefault(host.name, host)
    return list(hosts.values())
