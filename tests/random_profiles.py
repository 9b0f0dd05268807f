"""Random tiny profiles for twins: what a panel says of them is worked out a second time, slowly and obviously."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import strategies as st

from smprof.profile.reader import Profile
from tests.make_profile import make_profile

NAMES = ("gemm", "reduce<float>", "ampere_bf16_s16816gemm_bf16_128x64", "relu", "volta_sgemm_128x32_nt")
COPIES = ("HtoD", "DtoH", "DtoD", "Other", None)


@dataclass(frozen=True)
class Execution:
    """One slice of a device."""

    process: int
    kind: str
    device: int
    stream: int
    start_ns: int
    end_ns: int
    name: str
    copy_kind: str | None = None
    bytes: int | None = None
    grid: int | None = None

    def within(self, begin_ns: int | None, end_ns: int | None) -> Execution | None:
        """The slice trimmed to a range; None where it is outside."""
        begin_ns = -(1 << 62) if begin_ns is None else begin_ns
        end_ns = 1 << 62 if end_ns is None else end_ns
        if not (self.end_ns > begin_ns or self.start_ns >= begin_ns) or self.start_ns >= end_ns:
            return None
        start_ns = max(self.start_ns, begin_ns)
        return Execution(
            self.process, self.kind, self.device, self.stream, start_ns, max(min(self.end_ns, end_ns), start_ns),
            self.name, self.copy_kind, self.bytes, self.grid,
        )  # fmt: skip


@dataclass(frozen=True)
class Named:
    """A host call or an annotation."""

    process: int
    name: str
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class Made:
    """A profile as text and what it holds."""

    windows: tuple[tuple[tuple[int, int], ...], ...]
    executions: tuple[Execution, ...]
    calls: tuple[Named, ...] = ()
    annotations: tuple[Named, ...] = ()
    more: tuple[tuple[int, str], ...] = field(default=())
    """(process, line) of anything else."""

    def text(self) -> str:
        """The lines for `make_profile`."""
        lines = []
        for process, windows in enumerate(self.windows):
            lines.append(f"host algo-{process % 2 + 1}")
            lines.append(f"process {process} windows={','.join(f'{begin}:{end}' for begin, end in windows)}")
            for one in self.executions:
                if one.process == process:
                    options = f" copy={one.copy_kind}" if one.copy_kind else ""
                    options += f" bytes={one.bytes}" if one.bytes is not None else ""
                    options += f" grid={one.grid},1,1 block=32,1,1" if one.grid is not None else ""
                    when = f"{one.start_ns}+{one.end_ns - one.start_ns}"
                    lines.append(f'{one.kind} {one.device}/{one.stream} {when} "{one.name}"{options}')
            for what, named in (("api", self.calls), ("annotation", self.annotations)):
                lines += [
                    f'{what} 1 {one.start_ns}+{one.end_ns - one.start_ns} "{one.name}"'
                    for one in named
                    if one.process == process
                ]
            lines += [line for of, line in self.more if of == process]
        return "\n".join(lines)

    @contextmanager
    def opened(self) -> Iterator[Profile]:
        """The profile, in a folder for as long as it is in use."""
        with tempfile.TemporaryDirectory() as folder:
            yield make_profile(Path(folder) / "p", self.text())


_TIMES = st.integers(0, 120)


@st.composite
def executions(draw: st.DrawFn, processes: int) -> Execution:
    """Any slice of a device."""
    kind = draw(st.sampled_from(("kernel", "kernel", "memcpy", "memset")))
    start_ns = draw(_TIMES)
    return Execution(
        draw(st.integers(0, processes - 1)),
        kind,
        draw(st.integers(0, 1)),
        draw(st.integers(7, 8)),
        start_ns,
        start_ns + draw(st.integers(0, 40)),
        draw(st.sampled_from(NAMES)) if kind == "kernel" else kind,
        draw(st.sampled_from(COPIES)) if kind == "memcpy" else None,
        draw(st.none() | st.integers(0, 10_000)) if kind != "kernel" else None,
        draw(st.none() | st.integers(1, 3)) if kind == "kernel" else None,
    )


@st.composite
def named(draw: st.DrawFn, processes: int, names: tuple[str, ...]) -> Named:
    """Any call or annotation of these names."""
    start_ns = draw(_TIMES)
    return Named(
        draw(st.integers(0, processes - 1)),
        draw(st.sampled_from(names)),
        start_ns,
        start_ns + draw(st.integers(0, 40)),
    )


@st.composite
def profiles(draw: st.DrawFn) -> Made:
    """Any profile of one or two processes with windows, device slices, host calls and annotations."""
    processes = draw(st.integers(1, 2))
    windows = []
    for _ in range(processes):
        edges = sorted(draw(st.sets(st.integers(-10, 150), min_size=2, max_size=4)))
        windows.append(tuple(zip(edges[::2], edges[1::2], strict=False)))
    return Made(
        tuple(windows),
        tuple(draw(st.lists(executions(processes), max_size=14))),
        tuple(draw(st.lists(named(processes, ("cudaDeviceSynchronize", "cudaMalloc")), max_size=4))),
        tuple(draw(st.lists(named(processes, ("step_1", "step_2", "forward", "Step 3")), max_size=6))),
    )


ranges = st.none() | st.tuples(st.integers(-20, 140), st.integers(1, 120)).map(lambda pair: (pair[0], sum(pair)))
"""The whole profile, or a range [begin_ns, end_ns)."""
