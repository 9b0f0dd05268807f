"""Host and device time of one process by operator, by module and by annotation; the executions behind each number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from smprof.profile.schema import HOST_KINDS, LOST_NAME, SIDES
from smprof_desktop.analysis import claims, names, operators
from smprof_desktop.analysis.causes import NO_THREAD, causing_threads
from smprof_desktop.analysis.claims import NOBODY, Beneath, Claimants, Moments
from smprof_desktop.analysis.executions import Part, part
from smprof_desktop.analysis.intervals import Int64s, greatest_so_far, overlapping
from smprof_desktop.analysis.linked import MODULE_PREFIX
from smprof_desktop.analysis.operators import OperatorTree
from smprof_desktop.analysis.statistics import exact_sum, sums
from smprof_desktop.analysis.steps import operators_of

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile

OPERATOR, MODULE, ANNOTATION = "operator", "module", "annotation"
_PYTHON = HOST_KINDS.index("python")


@dataclass
class ClaimTotal:
    """All slices of one name. Device times are plain sums over executions, trimmed to the range."""

    count: int = 0
    host_total_ns: int = 0
    host_self_ns: int = 0
    device_ns: int = 0
    """Of what was launched inside any of them, each execution once."""
    own_ns: int = 0
    """Of what was launched inside one of them and in no other slice of the kind inside it."""
    backward_ns: int = 0
    """Of what backward operators launched whose forward operator ran inside any of them, each execution once."""

    def add(self, other: ClaimTotal) -> None:
        """Take in the slices of the same name from elsewhere."""
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(frozen=True)
class Claimed:
    """By exact name what slices of one kind claim, and the device time that none of them does."""

    totals: dict[str, ClaimTotal]
    outside_ns: int
    """Launched outside of any."""
    unlinked_ns: int
    """Of executions whose launch is not known."""


@dataclass(frozen=True)
class OnGpuPieces:
    """What annotations were on the GPU: of each the executions, by start, with the part that no earlier one of the same
    annotation covers, which add up to busy; and from its first start to its last end, which add up to span."""

    row: Int64s
    begin_ns: Int64s
    end_ns: Int64s
    first_ns: Int64s
    last_ns: Int64s


class Claims:
    """What operators, modules and annotations of a process claim of the executions that overlap a range."""

    def __init__(self, process: ProcessProfile, begin_ns: int | None = None, end_ns: int | None = None) -> None:
        self._process = process
        self._begin_ns, self._end_ns = begin_ns, end_ns
        self._host = process.table("host")
        self._texts = names.exact_texts(process)
        self.device: Part = part(process.table("device"), begin_ns, end_ns)
        launch = self.device.column("launch")
        self.linked: Int64s = np.flatnonzero(launch >= 0)
        """Places in `device` of the executions with a launch: what all others are numbered by."""
        self._launch = launch[self.linked]
        self._duration_ns = self.device.duration_ns[self.linked]

    def of(self, kind: str) -> Claimed:
        """What one kind of slices claims."""
        whole_ns, linked_ns = exact_sum(self.device.duration_ns), exact_sum(self._duration_ns)
        own = self.owners(kind)
        claimed_ns = exact_sum(self._duration_ns[own != NOBODY])
        totals = self._by_operator(own) if kind == OPERATOR else self._by_claimant(kind, own)
        return Claimed(totals, linked_ns - claimed_ns, whole_ns - linked_ns)

    def owners(self, kind: str) -> Int64s:
        """For each linked execution the innermost slice of the kind, as an operator or claimant; NOBODY for none."""
        if kind == OPERATOR:
            return self._operator
        claimants = self.claimants(kind)
        found = claims.innermost(claimants, self._launch_thread, self._launch_ns)
        left = np.flatnonzero(found == NOBODY)
        if kind == ANNOTATION:
            causing = self._causing[left]
            left, causing = left[causing != NO_THREAD], causing[causing != NO_THREAD]
            found[left] = claims.innermost(claimants, causing, self._launch_ns[left])
        else:
            left = left[self._forward[left] != NOBODY]
            forward = self._tree.first + self._forward[left]
            found[left] = claims.innermost(claimants, self._host["thread"][forward], self._host["start_ns"][forward])
        return found

    def claimants(self, kind: str) -> Claimants:
        """The modules or annotations."""
        return self._modules if kind == MODULE else self._annotations

    def executions(self, kind: str, wanted: frozenset[str], backward: bool = False) -> Int64s:
        """Places in `device` of the executions beneath slices of some exact names, or of their backward operators."""
        is_wanted = np.array([text in wanted for text in (*self._texts, LOST_NAME)])
        if kind == OPERATOR:
            of = self._forward if backward else self._operator
            named = np.where(is_wanted[self._operator_groups], 0, NOBODY)
            inside = claims.inherited(self._tree, named) != NOBODY
            mine = (of != NOBODY) & inside[of] if len(inside) else np.zeros(len(of), bool)
            return np.asarray(self.linked[mine], np.int64)
        claimants = self.claimants(kind)
        moments = self._backward_moments if backward else self._moments(kind)
        held = claims.executions_by_group(claims.beneath(claimants, moments), claimants.group, is_wanted)
        return np.asarray(self.linked[held], np.int64)

    def owned(self, kind: str, wanted: frozenset[str]) -> Int64s:
        """Places in `device` of the executions whose innermost slice has one of some exact names."""
        own = self.owners(kind)
        groups = self._operator_groups if kind == OPERATOR else self.claimants(kind).group
        is_wanted = np.array([text in wanted for text in (*self._texts, LOST_NAME)])
        mine = (own != NOBODY) & is_wanted[groups[own]] if len(groups) else np.zeros(len(own), bool)
        return np.asarray(self.linked[mine], np.int64)

    def unclaimed(self, kind: str) -> Int64s:
        """Places in `device` of the executions launched outside of any slice of the kind."""
        return np.asarray(self.linked[self.owners(kind) == NOBODY], np.int64)

    def unlinked(self) -> Int64s:
        """Places in `device` of the executions whose launch is not known."""
        return np.flatnonzero(self.device.column("launch") < 0)

    def on_gpu(self, wanted: frozenset[str]) -> OnGpuPieces:
        """What annotations of some exact names were on the GPU, each by itself: see `steps.on_gpu`."""
        claimants = self._annotations
        is_wanted = np.array([text in wanted for text in (*self._texts, LOST_NAME)])
        inside = self._trimmed(claimants)[2]
        found = claims.beneath(claimants, self._moments(ANNOTATION))
        mine = np.flatnonzero(is_wanted[claimants.group] & inside & (found.high > found.low))
        if not len(mine):
            return OnGpuPieces(*np.zeros((5, 0), np.int64))
        places = self.linked[found.moments.execution[claims.expanded(found.low[mine], found.high[mine])]]
        of = np.repeat(mine, (found.high - found.low)[mine])
        starts_ns, ends_ns = self.device.start_ns[places], self.device.end_ns[places]
        order = np.lexsort((starts_ns, of))
        places, of, starts_ns, ends_ns = places[order], of[order], starts_ns[order], ends_ns[order]
        fresh = np.append(True, of[1:] != of[:-1])
        reached_ns = greatest_so_far(ends_ns, fresh)
        first = np.flatnonzero(fresh)
        span_ends_ns = reached_ns[np.append(first[1:], len(of)) - 1]
        covered_ns = np.where(fresh, starts_ns, np.append(0, reached_ns[:-1]))
        begin_ns = np.minimum(np.maximum(starts_ns, covered_ns), ends_ns)
        return OnGpuPieces(self.device.positions()[places], begin_ns, ends_ns, starts_ns[first], span_ends_ns)

    @cached_property
    def _launch_ns(self) -> Int64s:
        return np.asarray(self._host["start_ns"][self._launch], np.int64)

    @cached_property
    def _launch_thread(self) -> Int64s:
        return np.asarray(self._host["thread"][self._launch], np.int64)

    @cached_property
    def _tree(self) -> OperatorTree:
        return operators.tree(self._host)

    @cached_property
    def _operator_groups(self) -> Int64s:
        first = self._tree.first
        return claims.names_to_groups(self._host["name_id"][first : first + len(self._tree.parent)], self._texts)

    @cached_property
    def _operator(self) -> Int64s:
        """The innermost operator around the launch of each linked execution."""
        count = len(self._tree.parent)
        found = self._host["op"][self._launch].astype(np.int64) - self._tree.first
        return np.where((found >= 0) & (found < count), found, NOBODY)

    @cached_property
    def _forward(self) -> Int64s:
        """The forward operator of what launched each linked execution, where that was a backward one."""
        if not len(self._tree.parent):
            return np.full(len(self.linked), NOBODY, np.int64)
        rows = slice(self._tree.first, self._tree.first + len(self._tree.parent))
        columns = (self._host[name][rows] for name in ("thread", "depth", "start_ns", "sequence", "forward_thread"))
        forward = claims.forward_operators(*columns)
        if (forward == NOBODY).all():
            return np.full(len(self.linked), NOBODY, np.int64)
        forward = claims.inherited(self._tree, forward)
        return np.where(self._operator == NOBODY, NOBODY, forward[self._operator])

    @cached_property
    def _causing(self) -> Int64s:
        threads = self._annotations.thread.astype(np.int64)
        return causing_threads(operators_of(self._host), self._launch_thread, self._launch_ns, threads)

    @cached_property
    def _modules(self) -> Claimants:
        kinds = self._host["kind"]
        first, behind = int(np.searchsorted(kinds, _PYTHON, "left")), int(np.searchsorted(kinds, _PYTHON, "right"))
        is_module = np.array([text.startswith(MODULE_PREFIX) for text in (*self._texts, "")])
        groups = claims.names_to_groups(self._host["name_id"][first:behind], self._texts)
        return self._of_rows("host", first + np.flatnonzero(is_module[groups]))

    @cached_property
    def _annotations(self) -> Claimants:
        is_host = self._process.table("annotation")["side"] == SIDES.index("host")
        return self._of_rows("annotation", np.flatnonzero(is_host))

    def _of_rows(self, table: str, rows: Int64s) -> Claimants:
        columns = self._process.table(table)
        groups = claims.names_to_groups(columns["name_id"][rows], self._texts)
        return Claimants.of(
            rows, columns["thread"][rows], columns["start_ns"][rows], columns["duration_ns"][rows], groups
        )

    def _moments(self, kind: str) -> Moments:
        """When and where each linked execution was launched, and on whose behalf where that is another thread."""
        caused = np.flatnonzero(self._causing != NO_THREAD) if kind == ANNOTATION else np.zeros(0, np.int64)
        if not len(caused):
            return self._own_moments
        execution = np.arange(len(self.linked))
        return Moments.of(
            np.concatenate((execution, caused)),
            np.concatenate((self._launch_thread, self._causing[caused])),
            np.concatenate((self._launch_ns, self._launch_ns[caused])),
        )

    @cached_property
    def _own_moments(self) -> Moments:
        return Moments.of(np.arange(len(self.linked)), self._launch_thread, self._launch_ns)

    @cached_property
    def _backward_moments(self) -> Moments:
        """What backward operators launched, at the start of their forward operator."""
        backward = np.flatnonzero(self._forward != NOBODY)
        rows = self._tree.first + self._forward[backward]
        return Moments.of(backward, self._host["thread"][rows], self._host["start_ns"][rows])

    def _by_operator(self, own: Int64s) -> dict[str, ClaimTotal]:
        """Without what the report tells of operators: their number, host times and device time beneath."""
        tree, groups, size = self._tree, self._operator_groups, len(self._texts) + 1
        if not len(groups):
            return {}
        claimed = own != NOBODY
        own_ns = sums(groups[own[claimed]], self._duration_ns[claimed], size)
        backward = self._forward != NOBODY
        backward_ns = sums(self._forward[backward], self._duration_ns[backward], len(groups))
        if backward.any():
            for rows in reversed(tree.levels[1:]):
                np.add.at(backward_ns, tree.parent[rows], backward_ns[rows])
        caused = backward_ns > 0
        outermost = np.flatnonzero(caused & ~operators.within_same_name(tree, groups, caused))
        backward_by_name = sums(groups[outermost], backward_ns[outermost], size)
        return self._named(
            {
                group: ClaimTotal(own_ns=int(own_ns[group]), backward_ns=int(backward_by_name[group]))
                for group in np.flatnonzero((own_ns > 0) | (backward_by_name > 0)).tolist()
            }
        )

    def _by_claimant(self, kind: str, own: Int64s) -> dict[str, ClaimTotal]:
        claimants, size = self.claimants(kind), len(self._texts) + 1
        if not len(claimants):
            return {}
        starts_ns, ends_ns, inside = self._trimmed(claimants)
        groups = claimants.group
        counts = np.bincount(groups[inside], minlength=size)
        host_total_ns = sums(groups, ends_ns - starts_ns, size)
        host_self_ns = sums(groups, operators.self_times(claimants.tree, starts_ns, ends_ns), size)
        claimed = own != NOBODY
        own_ns = sums(groups[own[claimed]], self._duration_ns[claimed], size)
        device_ns, backward_ns = (
            claims.times_by_group(found, groups, size, self._duration_ns)
            for found in self._beneath_both(kind, claimants)
        )
        return self._named(
            {
                group: ClaimTotal(
                    int(counts[group]),
                    int(host_total_ns[group]),
                    int(host_self_ns[group]),
                    device_ns[group],
                    int(own_ns[group]),
                    backward_ns[group],
                )
                for group in range(size)
                if counts[group] or device_ns[group] or backward_ns[group]
            }
        )

    def _beneath_both(self, kind: str, claimants: Claimants) -> tuple[Beneath, Beneath]:
        return (
            claims.beneath(claimants, self._moments(kind)),
            claims.beneath(claimants, self._backward_moments),
        )

    def _trimmed(self, claimants: Claimants) -> tuple[Int64s, Int64s, NDArray[np.bool_]]:
        """Starts and ends inside the range, and which overlap it; what does not has no length."""
        starts_ns, ends_ns = claimants.start_ns, claimants.end_ns
        if self._begin_ns is None and self._end_ns is None:
            return starts_ns, ends_ns, np.ones(len(claimants), bool)
        bounds = np.iinfo(np.int64)
        begin_ns = int(bounds.min) if self._begin_ns is None else self._begin_ns
        limit_ns = int(bounds.max) if self._end_ns is None else self._end_ns
        inside = overlapping(starts_ns, ends_ns, begin_ns, self._end_ns)
        return np.clip(starts_ns, begin_ns, limit_ns), np.clip(ends_ns, begin_ns, limit_ns), inside

    def _named(self, by_group: dict[int, ClaimTotal]) -> dict[str, ClaimTotal]:
        found: dict[str, ClaimTotal] = {}
        for group, total in by_group.items():
            name = self._texts[group] if group < len(self._texts) else LOST_NAME
            found.setdefault(name, ClaimTotal()).add(total)
        return found


def merged(found: list[Claimed]) -> Claimed:
    """What several processes claim, one entry a name."""
    totals: dict[str, ClaimTotal] = {}
    for one in found:
        for name, total in one.totals.items():
            totals.setdefault(name, ClaimTotal()).add(total)
    return Claimed(totals, sum(one.outside_ns for one in found), sum(one.unlinked_ns for one in found))


def all_kinds(process: ProcessProfile, begin_ns: int | None, end_ns: int | None) -> dict[str, Claimed]:
    """What each kind of slices claims."""
    found = Claims(process, begin_ns, end_ns)
    return {kind: found.of(kind) for kind in (OPERATOR, MODULE, ANNOTATION)}
