"""Fly over a profile's timeline as a hand on the mouse would, and print how long its frames take, as JSON.

    flight.py PROFILE [PASSES]

The views stand in flight.json. Each frame shows 64 rows, 1,500 px of lanes and their headers; a row is one line of a
lane, of slices or a curve, and the headers of groups between them come on top. A pass begins with nothing in memory. Of
several passes each figure is the least, since others may use the machine.

`median_ms`, `p99_ms` (of the worst quarter): what the thread that draws spends on a frame of the flight, from layout to
painted image. It draws what is in memory 60 times a second while a thread beside it reads, as the widget does. A frame
that is not final yet shows coarser columns in some rows; `final_share` is the share of those that are. `own_median_ms`
and `own_p99_ms` are the same of that thread's own processor time: what can be compared on a machine that others use.
`frames_to_final` and `ms_to_final` (mean, and most): how long a view has to stand until its picture is final.
`waiting_median_ms`, `waiting_p99_ms`: the same flight where each frame waits for all it shows.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QFont, QFontMetricsF, QGuiApplication, QImage, QPainter

from smprof.profile.reader import Profile
from smprof_desktop.timeline import pictures
from smprof_desktop.timeline.colours import LIGHT
from smprof_desktop.timeline.lanes import CURVES, SLICE_LANES
from smprof_desktop.timeline.layout import Frame, Metrics
from smprof_desktop.timeline.paint_raster import RasterPainter
from smprof_desktop.timeline.scene import Opened, Scene
from smprof_desktop.timeline.viewport import Viewport

FLIGHT = Path(__file__).resolve().parent / "flight.json"
ROWS = 64
LANES_PX = 1500.0
HEADER_PX = 290.0
KERNEL_NS = 100_000
"""The narrowest view of the flight."""
MOVING_BUDGET_S = 0.006
"""What the widget allows a frame while it moves."""
FRAME_S = 1 / 60
QUARTERS = 4


class Flight:
    """One profile with nothing in memory, and the frames of the flight over it."""

    def __init__(self, folder: Path, waits: bool) -> None:
        self.profile = Profile.open(folder)
        self.opened = Opened.read(self.profile)
        font = QFont("DejaVu Sans")
        self._raster = RasterPainter(LIGHT, font)
        metrics = Metrics(float(round(QFontMetricsF(font).height())))
        text_width = QFontMetricsF(self._raster.small).horizontalAdvance
        self.scene = Scene(self.opened, text_width, metrics, waits)
        # What runs on a CPU has no rows: its 96 curves of one kind would only fill the height.
        self._expanded = frozenset(lane.key for lane in self.opened.tree.walk() if lane.kind not in ("cpu", "counter"))
        self._tops_px = self._row_tops_px(Scene(self.opened, text_width, metrics, waits=False))
        self._image = QImage(int(HEADER_PX + LANES_PX), 4000, QImage.Format.Format_RGB32)

    def frames(self) -> Iterator[Frame]:
        """The stored flight over this profile."""
        limits = self.scene.limits
        span_ns = float(limits.end_ns - limits.begin_ns)
        view = Viewport(limits.begin_ns, limits.end_ns, LANES_PX)
        for depth, x_px, pan_px, scroll in json.loads(FLIGHT.read_text())["views"]:
            wide_ns = span_ns * 0.01 ** min(depth, 1.0)
            width_ns = wide_ns * (KERNEL_NS / wide_ns) ** max(depth - 1.0, 0.0)
            view = view.zoomed(width_ns / view.span_ns, x_px, limits).panned(pan_px, limits)
            first = round(scroll * (len(self._tops_px) - ROWS))
            scroll_px = self._tops_px[first] if first else 0.0
            last_px = self._tops_px[first + ROWS - 1] + self.scene.metrics.row_px
            height_px = self.scene.top_px + last_px - scroll_px
            yield Frame(view, self._expanded, float(math.ceil(height_px)), HEADER_PX, scroll_px)

    def draw(self, frame: Frame, budget_s: float | None = None) -> bool:
        """One frame, from layout to painted image; whether it is final."""
        drawing = self.scene.draw(frame, budget_s)
        painter = QPainter(self._image)
        self._raster.paint(drawing, painter)
        painter.end()
        self.scene.painted()
        return drawing.is_final

    def close(self) -> None:
        """Let go of the profile."""
        self.profile.close()

    def _row_tops_px(self, scene: Scene) -> list[float]:
        """The top of every row in the scrolled area, from top to bottom, by a scene that reads nothing."""
        whole = Viewport(scene.limits.begin_ns, scene.limits.end_ns, LANES_PX)
        tops_px = []
        for header in scene.draw(Frame(whole, self._expanded, 1e6, HEADER_PX)).headers:
            lane = self.opened.tree.by_key[header.key]
            top_px = header.y_px - scene.top_px
            if lane.kind in SLICE_LANES:
                top_px += scene.metrics.gap_px / 2
                tops_px += [top_px + row * scene.metrics.row_px for row in range(len(lane.rows))]
            elif lane.kind in CURVES:
                tops_px.append(top_px)
        return tops_px


class Fetcher:
    """Makes beside the frames what they miss, one answer at a time, as the widget's tasks do."""

    def __init__(self, flight: Flight) -> None:
        self._flight = flight
        self._pool = ThreadPoolExecutor(1)
        self._running: Future[Any] | None = None

    def install(self) -> None:
        """Take over what has been made."""
        if self._running is not None and self._running.done():
            self._flight.scene.install(self._running.result())
            self._running = None

    def start(self) -> None:
        """Have made what the last frame missed, unless something is being made."""
        scene = self._flight.scene
        if self._running is None and scene.wanted:
            wants = sorted(scene.wanted, key=lambda want: isinstance(want.key, str))
            self._running = self._pool.submit(pictures.fetch, self._flight.opened.maker, wants, lambda: False)

    def close(self) -> None:
        """Wait for what is being made."""
        self._pool.shutdown()


def fly(folder: Path) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Milliseconds of each frame of one flight, drawn while others are read, of wall clock and of the thread's own
    processor time, and the share that is final."""
    flight = Flight(folder, waits=False)
    fetcher = Fetcher(flight)
    taken_ms, own_ms, final = [], [], 0
    for frame in flight.frames():
        begin_s, own_s = time.perf_counter(), time.thread_time()
        fetcher.install()
        final += flight.draw(frame, MOVING_BUDGET_S)
        fetcher.start()
        end_s = time.perf_counter()
        taken_ms.append((end_s - begin_s) * 1e3)
        own_ms.append((time.thread_time() - own_s) * 1e3)
        time.sleep(max(begin_s + FRAME_S - end_s, 0.001))
    fetcher.close()
    flight.close()
    return np.array(taken_ms), np.array(own_ms), final / len(taken_ms)


def stand(folder: Path) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Frames and milliseconds until each view of a flight is final, where each stands until it is."""
    flight = Flight(folder, waits=False)
    fetcher = Fetcher(flight)
    frames, taken_ms = [], []
    for frame in flight.frames():
        begin_s = time.perf_counter()
        count = 1
        while not flight.draw(frame):
            fetcher.start()
            time.sleep(0.001)
            fetcher.install()
            count += 1
        frames.append(count)
        taken_ms.append((time.perf_counter() - begin_s) * 1e3)
    fetcher.close()
    flight.close()
    return np.array(frames, np.float64), np.array(taken_ms)


def wait(folder: Path) -> NDArray[np.float64]:
    """Milliseconds of each frame of a flight that waits for all that it shows."""
    flight = Flight(folder, waits=True)
    taken_ms = []
    for frame in flight.frames():
        begin_s = time.perf_counter()
        flight.draw(frame)
        taken_ms.append((time.perf_counter() - begin_s) * 1e3)
    flight.close()
    return np.array(taken_ms)


def quarters_p99(taken_ms: NDArray[np.float64]) -> list[float]:
    """The 99th percentile of each quarter of a flight."""
    return [float(np.percentile(part, 99)) for part in np.array_split(taken_ms, QUARTERS)]


def main(folder: Path, passes: int) -> None:
    """Measure one profile."""
    application = QGuiApplication([])
    flown = [fly(folder) for _ in range(passes)]
    waited = [wait(folder) for _ in range(passes)]
    frames, taken_ms = stand(folder)
    quarters = [min(quarter) for quarter in zip(*(quarters_p99(ms) for ms, _, _ in flown), strict=True)]
    numbers = {
        "views": len(frames),
        "median_ms": min(float(np.median(ms)) for ms, _, _ in flown),
        "p99_ms": max(quarters),
        "quarters_p99_ms": quarters,
        "final_share": max(share for _, _, share in flown),
        "own_median_ms": min(float(np.median(ms)) for _, ms, _ in flown),
        "own_p99_ms": max(min(quarter) for quarter in zip(*(quarters_p99(ms) for _, ms, _ in flown), strict=True)),
        "frames_to_final": float(frames.mean()),
        "most_frames_to_final": float(frames.max()),
        "ms_to_final": float(taken_ms.mean()),
        "most_ms_to_final": float(taken_ms.max()),
        "waiting_median_ms": min(float(np.median(ms)) for ms in waited),
        "waiting_p99_ms": min(float(np.percentile(ms, 99)) for ms in waited),
    }
    del application
    print(json.dumps(numbers))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 3)
