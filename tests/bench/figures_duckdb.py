"""The report's figures by another road: SQL on the Parquet files of a profile. What ours are held against.

    figures_duckdb.py PROFILE

The same questions as the report answers: per device active and busy time, kernels by name, memory operations,
synchronising calls, launch latencies, annotations with their GPU time, operators with their own and their device time,
losses of
links.
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
          SELECT folder, device, start_ns, start_ns + duration_ns AS end_ns,
            max(start_ns + duration_ns) OVER (PARTITION BY folder, device ORDER BY start_ns
              ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns
          FROM device)
        SELECT folder, device, sum(greatest(end_ns - greatest(start_ns, coalesce(before_ns, start_ns)), 0))
        FROM ordered GROUP BY folder, device""",
    "kinds": "SELECT folder, device, stream, kind, count(*), sum(duration_ns) FROM device GROUP BY ALL",
    "kernels": """
        SELECT n.name, count(*), sum(duration_ns), min(duration_ns), max(duration_ns)
        FROM device d JOIN shapes s ON d.folder = s.folder AND d.shape_id = s.id
        JOIN names n ON n.folder = s.folder AND n.id = s.name_id
        WHERE d.kind = 'kernel' GROUP BY n.name ORDER BY 3 DESC, 1""",
    "memory": """
        SELECT kind, copy_kind, count(*), sum(duration_ns), sum(bytes)
        FROM device WHERE kind <> 'kernel' GROUP BY ALL""",
    "syncs": """
        SELECT n.name, count(*), sum(duration_ns) FROM host h JOIN names n ON h.folder = n.folder AND h.name_id = n.id
        WHERE h.kind = 'api' AND n.name LIKE '%Synchronize%' GROUP BY n.name""",
    "latency": """
        SELECT count(*), min(l), quantile_cont(l, 0.5), quantile_cont(l, 0.99), max(l), count(*) FILTER (l < 0) FROM (
          SELECT d.start_ns - h.start_ns AS l FROM device d JOIN host h ON d.folder = h.folder AND d.launch = h.id
          WHERE d.kind = 'kernel')""",
    "annotations": """
        SELECT n.name, count(*), sum(duration_ns), median(duration_ns), max(duration_ns)
        FROM annotation a JOIN names n ON a.folder = n.folder AND a.name_id = n.id
        WHERE side = 'host' GROUP BY n.name""",
    "annotations_gpu": """
        SELECT a.folder, a.id, min(d.start_ns), max(d.start_ns + d.duration_ns), count(*)
        FROM annotation a JOIN host h ON h.folder = a.folder AND h.kind = 'api'
          AND h.start_ns >= a.start_ns AND h.start_ns < a.start_ns + a.duration_ns
        JOIN device d ON d.folder = h.folder AND d.launch = h.id GROUP BY ALL""",
    "ops": """
        WITH device_time AS (SELECT folder, launch, sum(duration_ns) AS ns FROM device GROUP BY ALL),
        by_op AS (
          SELECT h.folder, h.op, sum(t.ns) AS ns FROM host h JOIN device_time t ON h.folder = t.folder AND h.id
        = t.launch GROUP BY ALL)
        SELECT n.name, count(*), sum(h.duration_ns), sum(b.ns)
        FROM host h JOIN names n ON h.folder = n.folder AND
        h.name_id = n.id LEFT JOIN by_op b ON b.folder = h.folder AND b.op = h.id WHERE h.kind = 'op' GROUP BY
        n.name""",
}


def main(folder: Path) -> None:
    """Run every query once, all columns in the file cache."""
    connection = duckdb.connect()
    for table in ("device", "host", "annotation", "names", "shapes"):
        pattern = str(folder / "*" / "*" / f"{table}-*.parquet").replace("'", "''")
        connection.execute(
            f"CREATE VIEW {table} AS SELECT *, parse_dirpath(filename) AS folder "
            f"FROM read_parquet('{pattern}', filename = true)"
        )
    begin_ns = time.monotonic_ns()
    took: dict[str, float] = {}
    for name, query in QUERIES.items():
        before_ns = time.monotonic_ns()
        connection.execute(query).fetchall()
        took[name] = (time.monotonic_ns() - before_ns) / 1e9
    print(json.dumps({"seconds": (time.monotonic_ns() - begin_ns) / 1e9, **took}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
