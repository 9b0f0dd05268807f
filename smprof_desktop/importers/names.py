"""Names of events: JSON texts, looked at once each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

import msgspec
import numpy as np
from numpy.typing import NDArray

from smprof.profile.writer import ProcessWriter
from smprof_desktop.importers.document import Event

_STEP = re.compile(r"ProfilerStep#\d+")


class Names:
    """The names of one process, as they are met."""

    def __init__(self, process: ProcessWriter) -> None:
        self.steps: list[int] = []
        """Ids of names that the profiler gives its steps."""
        self._process = process
        self._ids: dict[bytes, int] = {}
        self._texts: dict[int, str] = {}

    def ids(self, events: Iterable[Event]) -> NDArray[np.int64]:
        """The name id of each event."""
        known, ids = self._ids, []
        for event in events:
            raw = bytes(event.name)
            found = known.get(raw)
            if found is None:
                text = name_of(raw)
                found = known[raw] = self._process.name_id(text)
                if isinstance(text, str) and _STEP.fullmatch(text):
                    self.steps.append(found)
                self._texts[found] = text if isinstance(text, str) else text.decode(errors="replace")
            ids.append(found)
        return np.array(ids, dtype=np.int64)

    def text(self, name_id: int) -> str:
        """The text of an id that `ids` gave."""
        return self._texts[name_id]


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
