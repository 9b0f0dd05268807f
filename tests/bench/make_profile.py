"""Write the synthetic profile that others measure.

make_profile.py OUT SLICES
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from smprof_desktop.synthesize import synthesize

if __name__ == "__main__":
    begin_ns = time.monotonic_ns()
    synthesize(Path(sys.argv[1]), hosts=1, devices=8, steps=100, slices=int(sys.argv[2]), seed=1)
    print(json.dumps({"seconds": (time.monotonic_ns() - begin_ns) / 1e9}))
