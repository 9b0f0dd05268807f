"""SMProf Desktop: GPU training profiles, browsed, shown and explained."""

import os

# Read once, when pyarrow is first imported. Its own allocator keeps touching fresh pages: a report of 10 M slices took
# 1.0 s of which 0.1 s went there, and an import no less memory.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
