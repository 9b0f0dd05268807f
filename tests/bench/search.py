"""Write a profile of a million distinct names where there is none yet, search it, and print what that took.

search.py PROFILE NAMES
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

# First, as in the application: the package chooses Arrow's allocator.
from smprof_desktop.analysis.search import NameList, Query, Search, SliceIndex

# isort: split
from smprof.profile.manifest import Manifest, Process
from smprof.profile.reader import Profile
from smprof.profile.writer import ProfileWriter

SLICES_A_NAME = 4
PATTERN = r"gemm_\d*77_(tn|nt)_tile"


def write(folder: Path, names: int) -> None:
    """A process whose every kernel is called otherwise, as where sizes are written into names."""
    writer = ProfileWriter(folder, Manifest())
    process = writer.process(Process(host="algo-1", process="0"))
    ids = process.name_ids(
        [f"void cutlass::Kernel<gemm_{i}_{'tn' if i % 3 else 'nt'}_tile>(int)" for i in range(names)]
    )
    shapes = np.array([process.shape_id(int(name)) for name in ids], np.int32)
    rng = np.random.default_rng(7)
    for stream in range(SLICES_A_NAME):
        start_ns = np.arange(names, dtype=np.int64) * 1_000 + rng.integers(0, 500, names)
        columns = {
            "start_ns": start_ns,
            "duration_ns": rng.integers(1, 500, names),
            "shape_id": rng.permutation(shapes),
        }
        places = {"device": np.zeros(names, int), "stream": np.full(names, stream), "kind": np.zeros(names, int)}
        process.append("device", {**columns, **places})
    writer.finish()


def main() -> None:
    """Search the profile: best of five, after what is read once for all searches."""
    folder, names = Path(sys.argv[1]), int(sys.argv[2])
    if not (folder / "manifest.json").is_file():
        write(folder, names)
    profile = Profile.open(folder)
    begin_s = time.perf_counter()
    index = SliceIndex.read(profile, NameList.read(profile))
    index_s = time.perf_counter() - begin_s
    seconds = []
    slices, found = 0, 0
    for _ in range(5):
        begin_s = time.perf_counter()
        search = Search(index, index.names.matching(Query(PATTERN, True)))
        slices, found = search.slices, len(search.names.numbers)
        first = search.walk(profile.begin_ns, 1)
        assert first is not None
        assert search.walk(search.place_of(first), 1) is not None
        seconds.append(time.perf_counter() - begin_s)
    print(json.dumps({"seconds": min(seconds), "index_s": index_s, "slices": slices, "found": found}))


if __name__ == "__main__":
    main()
