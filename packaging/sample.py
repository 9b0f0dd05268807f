"""Make the sample profile in resources/ anew: two hosts × eight GPUs, twenty seconds, always the same contents.

make sample
"""

from __future__ import annotations

import shutil
from pathlib import Path

from smprof_desktop.synthesize import SAMPLE, synthesize

TARGET = Path(__file__).resolve().parent.parent / "resources" / "sample"

if __name__ == "__main__":
    shutil.rmtree(TARGET, ignore_errors=True)
    synthesize(TARGET, **SAMPLE)
    size = sum(path.stat().st_size for path in TARGET.rglob("*") if path.is_file())
    print(f"{TARGET}: {size / 1e6:.2f} MB")
