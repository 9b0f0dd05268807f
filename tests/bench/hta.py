"""HolisticTraceAnalysis and ours on the same traces, as JSON lines; hta.md explains the differences.

hta.py PYTHON TRACE...     PYTHON is that of an environment with HolisticTraceAnalysis; says so and ends well without it
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from smprof_desktop.analysis import overlap
from smprof_desktop.dashboard import activity, idle_panels
from smprof_desktop.dashboard.figures import Pie
from smprof_desktop.dashboard.scope import Scope
from smprof_desktop.targets import open_targets

_THEIRS = """
import gzip, json, pathlib, sys, tempfile, warnings
warnings.filterwarnings("ignore")
from hta.trace_analysis import TraceAnalysis
with tempfile.TemporaryDirectory() as folder:
    trace = json.load(gzip.open(sys.argv[1]))
    told = trace.setdefault("distributedInfo", {"rank": 0, "world_size": 1})
    rank, path = told.get("rank", 0), pathlib.Path(folder) / "trace.json.gz"
    with gzip.open(path, "wt") as stream:
        json.dump(trace, stream)
    hta = TraceAnalysis(trace_files={rank: str(path)}, trace_dir=folder, include_last_profiler_step=True)
    idle, _ = hta.get_idle_time_breakdown(ranks=[rank], visualize=False)
    found = {
        "temporal": hta.get_temporal_breakdown(visualize=False).to_dict("records"),
        "overlap": hta.get_comm_comp_overlap(visualize=False).to_dict("records"),
        "idle_us": idle.groupby("idle_category").idle_time.sum().to_dict(),
    }
print(json.dumps(found, default=str))
"""


def ours(path: Path) -> dict[str, object]:
    """The same figures, in ns."""
    profile = open_targets([str(path)])
    scope = Scope(profile)
    why = idle_panels.idle_by_cause(scope)
    (device, *_) = activity.of_scope(scope).devices
    result: dict[str, object] = {
        "parts_ns": dict(zip(idle_panels.PART_NAMES, device.parts_ns, strict=True)),
        "overlap_percent": overlap.overlap_percent(device.parts_ns),
        "idle_ns": {share.name: share.value for share in why.shares} if isinstance(why, Pie) else {},
    }
    profile.close()
    return result


def theirs(python: str, path: Path) -> dict[str, object] | None:
    """What HTA says; None where it is not installed there."""
    done = subprocess.run([python, "-c", _THEIRS, str(path)], capture_output=True, text=True, check=False)
    if "ModuleNotFoundError" in done.stderr and "'hta'" in done.stderr:
        return None
    done.check_returncode()
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    for trace in sys.argv[2:]:
        compared = theirs(sys.argv[1], Path(trace))
        if compared is None:
            print(f"HolisticTraceAnalysis is not installed for {sys.argv[1]}: nothing to compare.")
            break
        print(json.dumps({"trace": Path(trace).name, "hta": compared, "ours": ours(Path(trace))}))
