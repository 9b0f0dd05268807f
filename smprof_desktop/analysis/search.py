"""Searching the names of a whole profile: which match, how many slices carry them, the next one and the one before.

Names are few beside slices. So a search compares each distinct name once, and what it needs of the slices is read once
for all searches: how many carry each name, and which stretches of the tables hold which names at which times.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from smprof.profile.manifest import ProfileError
from smprof.profile.schema import LOST_NAME, SLICE_TABLES
from smprof_desktop.analysis.names import FORMS, base, demangled
from smprof_desktop.analysis.quantities import elide_middle
from smprof_desktop.progress import CancelCheck, Cancelled, Progress, never, silent
from smprof_desktop.slice_ref import SliceRef

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile, Profile
    from smprof.profile.table import Table

MAX_PATTERN = 1_000
"""Characters of a search; longer ones are refused."""
_MANGLED = ("_Z", "__Z")
_CHUNK_NAMES = 1 << 16
_THREADS = 2
_BUCKETS = 1 << 15
"""Names that a stretch holds are noted by their number modulo this: 4 KiB a stretch."""
_MAX_KEPT_ROWS = 2_000_000
_EXACT = 1 << 53
"""Up to here a float64 counts without rounding."""

I64 = NDArray[np.int64]
Mask = NDArray[np.bool_]
Place = tuple[int, int, int, int]
"""Start in ns, process, position in SLICE_TABLES, row: in this order slices follow each other."""


@dataclass(frozen=True)
class Query:
    """What is searched for: a text, or a regular expression of RE2, whose time is linear whatever the pattern.

    Capitals count where the query has any.
    """

    text: str
    is_regex: bool = False

    @property
    def ignores_case(self) -> bool:
        """Whether capitals do not count. Those of an escape such as `\\S` ask for nothing."""
        text = re.sub(r"\\[pP]\{[^}]*\}|\\.", "", self.text) if self.is_regex else self.text
        return text == text.lower()

    @property
    def expression(self) -> str:
        """The query as a regular expression."""
        if self.is_regex:
            return self.text
        return "".join(f"\\{c}" if c.isascii() and not c.isalnum() and c != "_" else c for c in self.text)

    def check(self) -> None:
        """Raises ProfileError, one sentence, where nothing can be searched by it."""
        if len(self.text) > MAX_PATTERN:
            raise ProfileError(f"The search is longer than {MAX_PATTERN:,} characters; search for a part of it.")
        self.compare(pa.array([""]))

    def compare(self, texts: Any) -> Any:
        """Which of an Arrow array of texts match, as an Arrow array."""
        try:
            return pc.match_substring_regex(texts, self.expression, ignore_case=self.ignores_case)
        except (pa.ArrowInvalid, UnicodeEncodeError) as error:
            why = elide_middle(str(error).removeprefix("Invalid regular expression: ").split("\n")[0], 60)
            raise ProfileError(f"This is no regular expression ({why}): mend it, or search for plain text.") from None


class NameList:
    """The distinct names of a profile, by a number of its own; the last one stands for names that were lost."""

    def __init__(self, texts: Any, of_process: tuple[NDArray[np.int32], ...]) -> None:
        self._texts = texts
        self._of_process = of_process
        self._readable: tuple[I64, Any] | None = None

    def __len__(self) -> int:
        return len(self._texts) + 1

    @staticmethod
    def read(profile: Profile) -> NameList:
        """Read them. For a task."""
        columns = [_texts(process) for process in profile.processes]
        if len(columns) == 1:
            return NameList(columns[0], (np.arange(len(columns[0]), dtype=np.int32),))
        joined = pa.chunked_array(columns, pa.large_string()).dictionary_encode().unify_dictionaries()
        texts = joined.chunk(0).dictionary if joined.num_chunks else pa.array([], pa.large_string())
        numbers = joined.combine_chunks().indices.to_numpy(zero_copy_only=False) if len(joined) else np.zeros(0)
        ends = np.cumsum([len(column) for column in columns])[:-1]
        return NameList(texts, tuple(part.astype(np.int32) for part in np.split(numbers, ends)))

    def text(self, number: int) -> str:
        """A name as recorded."""
        return str(self._texts[number].as_py()) if number < len(self._texts) else LOST_NAME

    def text_in(self, number: int, form: str) -> str:
        """A name in one of names.FORMS. Mangled ones are made readable by the first search."""
        text = self.text(number)
        if form == FORMS[0]:
            return text
        if self._readable is not None and text.startswith(_MANGLED):
            at = int(np.searchsorted(self._readable[0], number))
            text = str(self._readable[1][at].as_py())
        return base(text) if form == "base" else text

    def numbers(self, process: int, name_ids: NDArray[Any]) -> NDArray[np.int32]:
        """The numbers of names of a process by their ids there."""
        known = _known(name_ids, len(self._of_process[process]))
        return np.asarray(self._numbers_with_lost(process)[known], np.int32)

    def mask_of(self, process: int, mask: Mask) -> Mask:
        """A mask over all names as one over the names of a process by their ids there, and one more for lost ones."""
        return mask[self._numbers_with_lost(process)]

    def matching(self, query: Query, progress: Progress = silent, cancelled: CancelCheck = never) -> Mask:
        """Which names match, as recorded or with C++ symbols made readable. Raises ProfileError, Cancelled.

        The first time, a profile of many mangled names takes long.
        """
        query.check()
        found = np.zeros(len(self), bool)
        chunks = [(begin, self._texts.slice(begin, _CHUNK_NAMES)) for begin in range(0, len(self._texts), _CHUNK_NAMES)]

        def compare(chunk: tuple[int, Any]) -> None:
            if not cancelled():
                begin, texts = chunk
                found[begin : begin + len(texts)] = query.compare(texts).to_numpy(zero_copy_only=False)

        if len(chunks) < 2 * _THREADS:
            for chunk in chunks:
                compare(chunk)
        else:
            with ThreadPoolExecutor(_THREADS) as pool:  # Arrow lets go of the interpreter while it compares
                list(pool.map(compare, chunks))
        found[-1] = query.compare(pa.array([LOST_NAME]))[0].as_py()
        numbers, texts = self._read_readable(progress, cancelled)
        if len(numbers):
            found[numbers] |= query.compare(texts).to_numpy(zero_copy_only=False)
        _stop_if(cancelled)
        return found

    def _numbers_with_lost(self, process: int) -> NDArray[np.int32]:
        return np.append(self._of_process[process], np.int32(len(self._texts)))

    def _read_readable(self, progress: Progress, cancelled: CancelCheck) -> tuple[I64, Any]:
        """Numbers of mangled names and those names made readable; worked out once."""
        if self._readable is None:
            is_mangled = np.zeros(len(self._texts), bool)
            for prefix in _MANGLED:
                is_mangled |= pc.starts_with(self._texts, prefix).to_numpy(zero_copy_only=False)
            numbers = np.flatnonzero(is_mangled)
            texts = []
            for at, number in enumerate(numbers.tolist()):
                if at % 256 == 0:
                    _stop_if(cancelled)
                    progress(at / len(numbers), "Making C++ symbols readable")
                texts.append(demangled(self.text(number)))
            self._readable = numbers, pa.array(texts, pa.large_string())
        return self._readable


class SliceIndex:
    """How many slices carry each name, and which stretches of the tables hold which names at which times.

    About 4 KiB a stretch of 250,000 slices, and 16 bytes a name.
    """

    def __init__(self, profile: Profile, names: NameList) -> None:
        self.profile = profile
        self.names = names
        self.counts = np.zeros(len(names), np.int64)
        """Slices of each name."""
        self.total_ns = np.zeros(len(names), np.int64)
        """The sum of their durations."""
        self.on_device = np.zeros(len(names), bool)
        """Whether some of them ran on a device: kernels and what else is there."""
        self.stretches: list[tuple[int, int, int, int]] = []
        """(process, position in SLICE_TABLES, begin, end)."""
        self.first_ns = np.zeros(0, np.int64)
        self.last_ns = np.zeros(0, np.int64)
        """The least and the greatest start in each stretch."""
        self._holds = np.zeros((0, _BUCKETS // 8), np.uint8)

    @staticmethod
    def read(
        profile: Profile, names: NameList, progress: Progress = silent, cancelled: CancelCheck = never
    ) -> SliceIndex:
        """Read names, starts and durations of all slices once, and keep none of it. For a task. Raises Cancelled."""
        made = SliceIndex(profile, names)
        tables = [
            (number, process, place, process.table(name))
            for number, process in enumerate(profile.processes)
            for place, name in enumerate(SLICE_TABLES)
        ]
        all_rows = sum(len(table) for *_, table in tables)
        done_rows = 0
        bounds, holds = [], []
        for number, process, place, table in tables:
            numbers = made.numbers_in(number, process, place)
            for begin, end in table.pieces():
                _stop_if(cancelled)
                progress(done_rows / all_rows, "Counting the slices of each name")
                found = numbers(begin, end)
                starts_ns, durations_ns = (
                    table.passing("start_ns", begin, end),
                    table.passing("duration_ns", begin, end),
                )
                counts = np.bincount(found, minlength=len(names))
                made.counts += counts
                if SLICE_TABLES[place] == "device":
                    made.on_device |= counts > 0
                made.total_ns += _sums(found, durations_ns, len(names))
                held = np.zeros(_BUCKETS, bool)
                held[np.flatnonzero(counts) % _BUCKETS] = True
                holds.append(np.packbits(held))
                bounds.append((int(starts_ns.min()), int(starts_ns.max())))
                made.stretches.append((number, place, begin, end))
                done_rows += end - begin
        if bounds:
            made.first_ns, made.last_ns = np.array(bounds, np.int64).T
            made._holds = np.stack(holds)
        return made

    def numbers_in(self, number: int, process: ProcessProfile, place: int) -> _Numbers:
        """The names of the slices of a table, by position."""
        table = process.table(SLICE_TABLES[place])
        if SLICE_TABLES[place] != "device":
            return _Numbers(table, "name_id", partial(self.names.numbers, number))
        of_shapes = self.names.numbers(number, process.table("shapes")["name_id"])
        of_shapes = np.append(of_shapes, np.int32(len(self.names) - 1))
        return _Numbers(table, "shape_id", lambda shapes: of_shapes[_known(shapes, len(of_shapes) - 1)])

    def may_hold(self, mask: Mask) -> Mask:
        """Which stretches may hold slices of these names; all others do not."""
        wanted = np.zeros(_BUCKETS, bool)
        wanted[np.flatnonzero(mask) % _BUCKETS] = True
        return np.asarray((self._holds & np.packbits(wanted)).any(axis=1), bool)


@dataclass(frozen=True)
class MatchedNames:
    """The names that a search has found, most time first; equal ones in the order of their numbers."""

    numbers: I64
    counts: I64
    total_ns: I64
    on_device: Mask


class Search:
    """The slices of some names, in the order of their starts over all processes."""

    def __init__(self, index: SliceIndex, mask: Mask) -> None:
        self._index = index
        self.mask = mask
        self._holding = np.flatnonzero(index.may_hold(mask))
        self._kept: dict[int, tuple[I64, I64]] = {}

    @property
    def profile(self) -> Profile:
        """The profile that is searched."""
        return self._index.profile

    @cached_property
    def slices(self) -> int:
        """How many slices there are."""
        return int(self._index.counts[self.mask].sum())

    @cached_property
    def names(self) -> MatchedNames:
        """The names that at least one slice carries."""
        counts, total_ns = self._index.counts, self._index.total_ns
        numbers = np.flatnonzero(self.mask & (counts > 0))
        numbers = numbers[np.argsort(-total_ns[numbers], kind="stable")]
        return MatchedNames(numbers, counts[numbers], total_ns[numbers], self._index.on_device[numbers])

    def only(self, number: int) -> Search:
        """The slices of one name."""
        mask = np.zeros_like(self.mask)
        mask[number] = True
        return Search(self._index, mask)

    def place_of(self, ref: SliceRef) -> Place:
        """Where a slice stands in the order."""
        start_ns = self._index.profile.processes[ref.process].table(ref.table).value("start_ns", ref.row)
        return start_ns, ref.process, SLICE_TABLES.index(ref.table), ref.row

    def walk(self, origin: Place | int, step: int, cancelled: CancelCheck = never) -> SliceRef | None:
        """The first match behind `origin` (`step` 1), or the last one before it (-1); None where there is none.

        `origin` is the place of a slice, which itself does not count, or a time, at which slices count that start then.
        """
        if not isinstance(origin, tuple):
            origin = (origin, -1, -1, -1) if step > 0 else (origin, len(self._index.profile.processes), 0, 0)
        index, best = self._index, None
        first_ns, last_ns = index.first_ns[self._holding], index.last_ns[self._holding]
        if step > 0:
            at = np.flatnonzero(last_ns >= origin[0])
            at = at[np.argsort(first_ns[at], kind="stable")]
        else:
            at = np.flatnonzero(first_ns <= origin[0])
            at = at[np.argsort(-last_ns[at], kind="stable")]
        for stretch in self._holding[at].tolist():
            _stop_if(cancelled)
            if best is not None and (
                index.first_ns[stretch] > best[0] if step > 0 else index.last_ns[stretch] < best[0]
            ):
                break
            found = self._next_in(stretch, origin, step)
            if found is not None and (best is None or (found < best if step > 0 else found > best)):
                best = found
        return None if best is None else SliceRef(best[1], SLICE_TABLES[best[2]], best[3])

    def _next_in(self, stretch: int, origin: Place, step: int) -> Place | None:
        """`walk` in one stretch."""
        process, place, _, _ = self._index.stretches[stretch]
        starts_ns, rows = self._matched(stretch)
        low, high = (int(at) for at in (np.searchsorted(starts_ns, origin[0], side) for side in ("left", "right")))
        if (process, place) == origin[1:3]:
            # Those that start together stand by row.
            at = low + int(np.searchsorted(rows[low:high], origin[3], "right" if step > 0 else "left"))
        else:
            at = low if (process, place) > origin[1:3] else high
        at = at if step > 0 else at - 1
        if not 0 <= at < len(rows):
            return None
        return int(starts_ns[at]), process, place, int(rows[at])

    def _matched(self, stretch: int) -> tuple[I64, I64]:
        """Starts and rows of the matches in a stretch, by start, then row. The latest are kept."""
        found = self._kept.pop(stretch, None)
        if found is None:
            number, place, begin, end = self._index.stretches[stretch]
            process = self._index.profile.processes[number]
            names = self._index.numbers_in(number, process, place)(begin, end)
            at = np.flatnonzero(self.mask[names])
            starts_ns = process.table(SLICE_TABLES[place]).passing("start_ns", begin, end)[at]
            order = np.argsort(starts_ns, kind="stable")
            found = starts_ns[order], at[order] + begin
        self._kept[stretch] = found
        while len(self._kept) > 1 and sum(len(rows) for _, rows in list(self._kept.values())) > _MAX_KEPT_ROWS:
            self._kept.pop(next(iter(self._kept)), None)
        return found


@dataclass(frozen=True)
class _Numbers:
    """Numbers of the names of a table's slices."""

    table: Table
    column: str
    convert: Any

    def __call__(self, begin: int, end: int) -> NDArray[np.int32]:
        numbers: NDArray[np.int32] = self.convert(self.table.passing(self.column, begin, end))
        return numbers


def _texts(process: ProcessProfile) -> Any:
    texts = process.table("names").arrow("name")
    texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    return texts.cast(pa.large_string())


def _known(ids: NDArray[Any], names: int) -> NDArray[Any]:
    """Ids, those of names that were lost as the number of names."""
    is_known = (ids >= 0) & (ids < names)
    return ids if is_known.all() else np.where(is_known, ids, names)


def _sums(numbers: NDArray[np.int32], durations_ns: I64, names: int) -> I64:
    """Sums of durations by name, without rounding."""
    whole = np.zeros(names, np.int64)
    durations_ns = np.maximum(durations_ns, 0)
    shift = 0
    while durations_ns.any():
        # As many bits at a time as float64 sums exactly, which is what bincount counts in.
        bits = max((_EXACT // max(len(durations_ns), 1)).bit_length() - 1, 1)
        low = durations_ns & ((1 << bits) - 1)
        whole += np.bincount(numbers, low, names).astype(np.int64) << shift
        durations_ns, shift = durations_ns >> bits, shift + bits
    return whole


def _stop_if(cancelled: CancelCheck) -> None:
    if cancelled():
        raise Cancelled
