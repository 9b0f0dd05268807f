"""Names of events: JSON texts, looked at once each."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from operator import attrgetter

import msgspec
import numpy as np
from numpy.typing import NDArray

from smprof_desktop.importers.document import Event
from smprof_desktop.importers.rows import Sink

_STEP = re.compile(r"ProfilerStep#\d+")
_NAME = attrgetter("name")
_MOST_TEXTS = 200_000


class Names:
    """The names of one piece, as they are met."""

    def __init__(self, process: Sink, texts: dict[bytes, str | bytes]) -> None:
        """`texts`: the names that JSON texts were found to hold; kept from piece to piece, and added to here."""
        self.steps: list[int] = []
        """Ids of names that the profiler gives its steps."""
        self._process = process
        self._known_texts = texts
        self._ids: dict[bytes, int] = {}
        self._texts: dict[int, str] = {}

    def ids(self, events: Sequence[Event]) -> NDArray[np.int64]:
        """The name id of each event."""
        raws = list(map(bytes, map(_NAME, events)))
        ids = list(map(self._ids.get, raws))
        if None in ids:
            for raw in dict.fromkeys(raws):
                if raw not in self._ids:
                    self._ids[raw] = self._met(raw)
            ids = list(map(self._ids.__getitem__, raws))
        return np.array(ids, dtype=np.int64)

    def text(self, name_id: int) -> str:
        """The text of an id that `ids` gave."""
        return self._texts[name_id]

    def _met(self, raw: bytes) -> int:
        text = self._known_texts.get(raw)
        if text is None:
            if len(self._known_texts) >= _MOST_TEXTS:
                self._known_texts.clear()
            text = self._known_texts[raw] = name_of(raw)
        found = self._process.name_id(text)
        if isinstance(text, str) and _STEP.fullmatch(text):
            self.steps.append(found)
        self._texts[found] = text if isinstance(text, str) else text.decode(errors="replace")
        return found


def name_of(raw: bytes) -> str | bytes:
    """The name that a JSON text holds; its bytes where they are not valid Unicode."""
    if not raw:
        return ""
    try:
        value = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        try:
            value = json.loads(raw.decode("utf-8", "surrogateescape"), strict=False)
        except ValueError:
            return raw
    if not isinstance(value, str):
        return raw
    try:
        value.encode()
    except UnicodeEncodeError:
        try:
            return value.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            return value.encode("utf-8", "surrogatepass")
    return value


def text_of(raw: bytes) -> str:
    """The name that a JSON text holds, readable in any case."""
    name = name_of(raw)
    return name if isinstance(name, str) else name.decode(errors="replace")
