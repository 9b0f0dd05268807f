"""`make soak`: SOAK_SECONDS of damage (600), from case SOAK_FIRST (1) on. Numbers as arguments: only these cases."""

from __future__ import annotations

import itertools
import os
import shutil
import sys

from tests.soak.soak import Soak, work_folder


def main(numbers: list[int]) -> int:
    """Run; 1 where anything does not hold."""
    folder = work_folder()
    shutil.rmtree(folder, ignore_errors=True)
    soak = Soak(folder, lambda text: print(text, flush=True))
    first = int(os.environ.get("SOAK_FIRST") or 1)
    seconds = float(os.environ.get("SOAK_SECONDS") or 600)
    soak.run(numbers or itertools.count(first), seconds)
    print(f"{sum(soak.done.values())} cases: {dict(soak.done)}")
    for failure in soak.failures:
        print(f"FAILED {failure}")
    print(f"{len(soak.failures)} failures" + (f"; their files are in {folder}/failed" if soak.failures else ""))
    return 1 if soak.failures else 0


if __name__ == "__main__":
    sys.exit(main([int(number) for number in sys.argv[1:]]))
