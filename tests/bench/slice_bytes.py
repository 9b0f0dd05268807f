"""What a device or API slice costs on disk, from the sizes that the Parquet files state of their column chunks.

    slice_bytes.py PROFILE

Row groups hold one kind of host slice each, so those of kind `api` can be told apart. Footers are shared out by rows.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow.parquet as pq


def main(folder: Path) -> None:
    """Sum over all processes."""
    slices, size = 0, 0.0
    for path in folder.rglob("*.parquet"):
        if path.name.startswith(("device-", "host-")):
            file = pq.ParquetFile(path)
            metadata = file.metadata
            footer_each = metadata.serialized_size / max(metadata.num_rows, 1)
            for number in range(metadata.num_row_groups):
                group = metadata.row_group(number)
                kinds = file.read_row_group(number, ["kind"])["kind"].unique().to_pylist()
                if path.name.startswith("host-") and kinds != ["api"]:
                    continue
                slices += group.num_rows
                size += footer_each * group.num_rows
                size += sum(group.column(column).total_compressed_size for column in range(group.num_columns))
    print(json.dumps({"slices": slices, "bytes_each": size / slices}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
