"""What the import is held against, and never changed: decompress a Kineto trace and decode it into typed rows.

typed_decode.py TRACE.json.gz
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
from isal import igzip


class Event(msgspec.Struct):
    """The fields that every reader of such a trace needs; arguments as they come."""

    ph: str
    name: str = ""
    cat: str = ""
    pid: int | str = 0
    tid: int | str = 0
    ts: float = 0.0
    dur: float = 0.0
    args: dict[str, Any] = {}


class Trace(msgspec.Struct):
    """A Kineto document."""

    events: list[Event] = msgspec.field(name="traceEvents")


def main(trace: Path) -> None:
    """Time it."""
    begin_ns = time.monotonic_ns()
    with igzip.open(trace, "rb") as stream:
        text = stream.read()
    rows = len(msgspec.json.Decoder(Trace).decode(text).events)
    print(json.dumps({"seconds": (time.monotonic_ns() - begin_ns) / 1e9, "rows": rows, "json_bytes": len(text)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
