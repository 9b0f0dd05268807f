"""The report's figures by another road: SQL on the Parquet files of a profile. What ours are held against.

    figures_duckdb.py PROFILE

The report's questions as far as plain SQL answers them well: slices by kind, active time by device, sums by stream,
kernels by name, memory operations, synchronising calls, launch latencies, annotations, operators with their device
time. It is not asked for the GPU time of annotations and for operators' own time, which the report works out as well.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import duckdb

QUERIES = {
    "slices": """
        SELECT 'device', count(*) FROM device UNION ALL SELECT kind::VARCHAR, count(*) FROM host GROUP BY kind
        UNION ALL SELECT 'annotation', count(*) FROM annotation""",
    "active": """
        WITH ordered AS (
          SELECT process, device, start_ns, start_ns + duration_ns AS end_ns,
            max(start_ns + duration_ns) OVER (PARTITION BY process, device ORDER BY start_ns
              ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns
          FROM device)
        SELECT process, device, sum(greatest(end_ns - greatest(start_ns, coalesce(before_ns, start_ns)), 0))
        FROM ordered GROUP BY process, device""",
    "kinds": "SELECT process, device, stream, kind, count(*), sum(duration_ns) FROM device GROUP BY ALL",
    "kernels": """
        SELECT n.name, count(*), sum(duration_ns), min(duration_ns), max(duration_ns)
        FROM device d JOIN shapes s ON d.process = s.process AND d.shape_id = s.id
        JOIN names n ON n.process = s.process AND n.id = s.name_id
        WHERE d.kind = 'kernel' GROUP BY n.name ORDER BY 3 DESC, 1""",
    "memory": """
        SELECT kind, copy_kind, count(*), sum(duration_ns), sum(bytes)
        FROM device WHERE kind <> 'kernel' GROUP BY ALL""",
    "syncs": """
        SELECT n.name, count(*), sum(duration_ns) FROM host h JOIN names n ON h.process = n.process AND h.name_id = n.id
        WHERE h.kind = 'api' AND n.name LIKE '%Synchronize%' GROUP BY n.name""",
    "latency": """
        SELECT count(*), min(l), quantile_cont(l, 0.5), quantile_cont(l, 0.99), max(l), count(*) FILTER (l < 0) FROM (
          SELECT d.start_ns - h.start_ns AS l FROM device d JOIN host h ON d.process = h.process AND d.launch = h.id
          WHERE d.kind = 'kernel')""",
    "annotations": """
        SELECT n.name, count(*), sum(duration_ns), median(duration_ns), max(duration_ns)
        FROM annotation a JOIN names n ON a.process = n.process AND a.name_id = n.id
        WHERE side = 'host' GROUP BY n.name""",
    "ops": """
        SELECT n.name, count(*), sum(h.duration_ns)
        FROM host h JOIN names n ON h.process = n.process AND h.name_id = n.id WHERE h.kind = 'op' GROUP BY n.name""",
    "ops_device": """
        WITH by_op AS (
          SELECT d.process, h.op, sum(d.duration_ns) AS ns
          FROM device d JOIN host h ON d.process = h.process AND d.launch = h.id WHERE h.op IS NOT NULL GROUP BY ALL)
        SELECT o.name_id, o.process, sum(ns) FROM by_op JOIN host o ON o.process = by_op.process AND o.id = by_op.op
        GROUP BY ALL""",
}


def main(folder: Path) -> None:
    """Run every query once, all columns in the file cache."""
    connection = duckdb.connect()
    folders = sorted({path.parent for path in folder.rglob("device-*.parquet")})
    for table in ("device", "host", "annotation", "names", "shapes"):
        parts = []
        for number, process in enumerate(folders):
            pattern = str(process / f"{table}-*.parquet").replace("'", "''")
            parts.append(f"SELECT *, {number} AS process FROM read_parquet('{pattern}')")
        connection.execute(f"CREATE VIEW {table} AS {' UNION ALL '.join(parts)}")
    begin_ns = time.monotonic_ns()
    took: dict[str, float] = {}
    for name, query in QUERIES.items():
        before_ns = time.monotonic_ns()
        connection.execute(query).fetchall()
        took[name] = (time.monotonic_ns() - before_ns) / 1e9
    print(json.dumps({"seconds": (time.monotonic_ns() - begin_ns) / 1e9, **took}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
