"""Make a long Kineto trace out of a short one: its events end to end, each copy with ids of its own.

tile.py SOURCE.json.gz ROWS OUT.json.gz
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from isal import igzip

IDS = ("correlation", "External id", "Ev Idx")


def main(source: Path, rows: int, out: Path) -> None:
    """Repeat until there are at least `rows` events. Metadata events stand once."""
    with igzip.open(source, "rb") as stream:
        document: dict[str, Any] = json.loads(stream.read())
    events: list[dict[str, Any]] = document.pop("traceEvents")
    metadata = [event for event in events if event.get("ph") == "M"]
    timed = [event for event in events if event.get("ph") != "M"]
    begin = min(event["ts"] for event in timed)
    span = max(event["ts"] + event.get("dur", 0) for event in timed) - begin + 100
    ids = [event["args"].get(key) for event in timed if "args" in event for key in IDS]
    step = 1 + max(number for number in ids if isinstance(number, int))
    with igzip.open(out, "wt", compresslevel=1) as text:
        text.write(json.dumps(document)[:-1] + ', "traceEvents": [\n')
        text.write(",\n".join(map(json.dumps, metadata)))
        for copy in range(-(-(rows - len(metadata)) // len(timed))):
            for event in timed:
                args = event.get("args")
                moved = {**event, "ts": round(event["ts"] + copy * span, 3)}
                if args:
                    moved["args"] = {
                        key: value + copy * step if key in IDS and isinstance(value, int) and value > 0 else value
                        for key, value in args.items()
                    }
                if "id" in event and isinstance(event["id"], int):
                    moved["id"] = event["id"] + copy * step
                text.write(",\n" + json.dumps(moved))
        text.write("\n]}\n")
    print(json.dumps({"step": step}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
