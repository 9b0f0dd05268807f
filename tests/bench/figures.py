"""Work out the report of an opened profile and print how long it took.

figures.py PROFILE
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

# First, as in the application: the package chooses Arrow's allocator.
from smprof_desktop import report

# isort: split
from smprof.profile.reader import Profile

if __name__ == "__main__":
    profile = Profile.open(Path(sys.argv[1]))
    begin_ns = time.monotonic_ns()
    built = report.build(profile)
    seconds = (time.monotonic_ns() - begin_ns) / 1e9
    print(json.dumps({"seconds": seconds, "kernels": len(built["kernels"])}))
