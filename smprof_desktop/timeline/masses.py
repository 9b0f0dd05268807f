"""The masses of a frame: from the pictures of its rows to rectangles and labels in pixels. No Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smprof.profile.schema import SLICE_TABLES
from smprof_desktop.timeline.colours import DIMMED
from smprof_desktop.timeline.draw_list import Label, Rects
from smprof_desktop.timeline.labels import MIN_LABEL_PX, Elider
from smprof_desktop.timeline.layout import Frame, Metrics
from smprof_desktop.timeline.maker import Names, RowPicture
from smprof_desktop.timeline.shown_names import ShownNames

MIN_COLUMN_SHARE = 0.25
"""Height of the emptiest column, as a share of the row: a lone short slice must stay visible."""
DEVICE_TABLE = SLICE_TABLES.index("device")
GAP_FROM_PX = 3.0
"""Slices from this width on leave a pixel to the next."""

Matches = tuple[NDArray[np.bool_], ...]


@dataclass
class Parts:
    """What the visible rows contribute, before it becomes pixels."""

    pictures: list[tuple[RowPicture, float, int]]
    curves: list[Rects]
    scrolled_px: float
    """Where the scrolled lanes begin in the widget, below the pinned ones."""


class Masses:
    """Makes them; labels are elided once and kept."""

    def __init__(self, names: Sequence[Names], elider: Elider, metrics: Metrics, shown_names: ShownNames) -> None:
        self._names = names
        self._elider = elider
        self._metrics = metrics
        self._shown_names = shown_names

    def of(
        self, parts: Parts, frame: Frame, top_px: float, matches: Matches | None
    ) -> tuple[Rects, Rects, Rects, tuple[Label, ...]]:
        """Columns, slices, slices of no length, and labels, in widget pixels, cut to the view.

        Lanes begin at `top_px`; names that a search has found are in `matches`, as `Scene.matches` has them.
        """
        view, row_px = frame.view, self._metrics.row_px - 1
        pictures = [p for p, _, _ in parts.pictures]
        if not pictures:
            return Rects.empty(), Rects.empty(), Rects.empty(), ()
        tops = np.array([y for _, y, _ in parts.pictures])

        begin = np.concatenate([p.bin_ns for p in pictures])
        bins = [len(p.bin_ns) for p in pictures]
        y_px = np.repeat(tops, bins)
        x0 = np.floor(view.xs_px(begin))
        x1 = np.floor(view.xs_px(begin + np.repeat([np.int64(1 << max(p.window.level, 0)) for p in pictures], bins)))
        seen = (x1 >= 0) & (x0 < view.width_px)
        x0, x1 = np.maximum(x0[seen], 0.0), np.minimum(x1[seen], view.width_px)
        share = np.concatenate([p.share for p in pictures])[seen]
        height = np.round(row_px * (MIN_COLUMN_SHARE + (1 - MIN_COLUMN_SHARE) * np.minimum(share, 1.0)))
        columns = Rects(
            x0 + frame.header_px, y_px[seen] + row_px - height, np.maximum(x1 - x0, 1.0), height,
            self._colours(parts, matches, [p.bin_colour for p in pictures], [p.bin_name_id for p in pictures])[seen],
        )  # fmt: skip

        start = np.concatenate([p.start_ns for p in pictures])
        end = np.concatenate([p.end_ns for p in pictures])
        counts = [len(p.start_ns) for p in pictures]
        owner = np.repeat(np.arange(len(pictures)), counts)
        x0, x1 = view.xs_px(start), view.xs_px(end)
        at = np.flatnonzero((x1 >= 0) & (x0 < view.width_px))
        x0, x1, owner = np.maximum(x0[at], -GAP_FROM_PX), np.minimum(x1[at], view.width_px + GAP_FROM_PX), owner[at]
        colour = self._colours(parts, matches, [p.colour for p in pictures], [p.name_id for p in pictures])[at]
        is_instant = start[at] == end[at]
        width = x1 - x0
        width = np.where(width >= GAP_FROM_PX, width - 1.0, np.maximum(width, 1.0))
        full = np.full(len(at), row_px)
        every = Rects(x0 + frame.header_px, tops[owner], width, full, colour)
        of_device = (np.concatenate([p.table for p in pictures]) == DEVICE_TABLE)[at]
        labels = self._labels(
            parts, frame, np.concatenate([p.name_id for p in pictures])[at], every, owner, ~is_instant, of_device
        )
        slices, instants = _masked(every, ~is_instant), _masked(every, is_instant)
        is_cut = (tops < parts.scrolled_px) & (tops + self._metrics.row_px > parts.scrolled_px)
        if parts.scrolled_px > top_px and is_cut.any():
            cut = is_cut[owner]
            columns = below(columns, np.repeat(is_cut, bins)[seen], parts.scrolled_px)
            slices = below(slices, cut[~is_instant], parts.scrolled_px)
            instants = below(instants, cut[is_instant], parts.scrolled_px)
        return columns, slices, instants, labels

    def _colours(
        self, parts: Parts, matches: Matches | None, colours: list[NDArray[np.uint8]], name_ids: list[NDArray[np.int32]]
    ) -> NDArray[np.uint8]:
        """The colours of all pictures, those dimmed that a search has not found."""
        if matches is not None:
            known_of = [matches[process] for _, _, process in parts.pictures]
            colours = [
                np.where(known[ids], colour, np.uint8(DIMMED))
                for known, ids, colour in zip(known_of, name_ids, colours, strict=True)
            ]
        return np.concatenate(colours)

    def _labels(
        self,
        parts: Parts,
        frame: Frame,
        name_id: NDArray[np.int32],
        rects: Rects,
        owner: NDArray[np.int64],
        wanted: NDArray[np.bool_],
        of_device: NDArray[np.bool_],
    ) -> tuple[Label, ...]:
        left = np.maximum(rects.x_px, frame.header_px)
        room = np.minimum(rects.x_px + rects.width_px, frame.header_px + frame.view.width_px) - left
        wide = np.flatnonzero(wanted & (room >= MIN_LABEL_PX))
        names = [self._names[process] for _, _, process in parts.pictures]
        height = self._metrics.row_px - 1
        labels = []
        rows = zip(
            left[wide].tolist(),
            rects.y_px[wide].tolist(),
            room[wide].tolist(),
            name_id[wide].tolist(),
            owner[wide].tolist(),
            (rects.colour[wide] == DIMMED).tolist(),
            of_device[wide].tolist(),
            strict=True,
        )
        shown = self._shown_names
        shown.begin_frame()
        for x_px, y_px, width_px, name, index, is_dimmed, is_of_device in rows:
            full = names[index].text(name)
            text = self._elider.elided(shown.text(full) if is_of_device else full, width_px - 8)
            if text:
                labels.append(Label(x_px + 4, y_px, height, text, is_dimmed))
        return tuple(labels)


def _masked(rects: Rects, mask: NDArray[np.bool_]) -> Rects:
    if mask.all():
        return rects
    return Rects(rects.x_px[mask], rects.y_px[mask], rects.width_px[mask], rects.height_px[mask], rects.colour[mask])


def below(rects: Rects, wanted: NDArray[np.bool_], top_px: float) -> Rects:
    """The rectangles, those that are `wanted` cut off at `top_px` and left out where they lie above it."""
    cut_px = np.where(wanted, np.clip(top_px - rects.y_px, 0.0, rects.height_px), 0.0)
    cut = Rects(rects.x_px, rects.y_px + cut_px, rects.width_px, rects.height_px - cut_px, rects.colour)
    return _masked(cut, cut.height_px > 0)
