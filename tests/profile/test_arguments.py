"""One argument of all rows that have it, as columns."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from smprof.profile.reader import Profile
from smprof.profile.table import Table
from tests.make_profile import make_profile


def test_an_argument_of_many_rows_is_what_each_row_says(tmp_path: Path) -> None:
    lines = []
    for number in range(40):
        lines.append(f"kernel 0/7 {10 * number}+5 gemm")
        lines += [f"arg Seq {number * number}"] if number % 3 else []
        lines += [f'arg dtype "\\"Float{number % 4}\\""'] if number % 2 else []
        lines += ["arg dtype 7"] if number % 8 == 0 else []
    profile: Profile = make_profile(tmp_path / "p", "\n".join(lines))
    (process,) = profile.processes
    for key in ("Seq", "dtype", "absent"):
        found = process.arguments("device", key)
        read = {
            row: found.values[code] if code >= 0 else integer
            for row, integer, code in zip(found.id.tolist(), found.integer.tolist(), found.code.tolist(), strict=True)
        }
        each = {row: process.args_of("device", row) for row in range(40)}
        assert read == {row: args[key] for row, args in each.items() if key in args}
    assert process.arguments("host", "Seq").values == []


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6), st.integers(-2, 30), st.integers(-2, 30))
def test_rows_of_a_text_column_are_read_from_their_row_groups_alone(sizes: list[int], begin: int, end: int) -> None:
    import pyarrow as pa

    ends = [sum(sizes[: at + 1]) for at in range(len(sizes))]
    texts = [f"text {at}" for at in range(ends[-1])]
    read: list[int] = []

    def piece(_: object, group: int) -> pa.Array:
        read.append(group)
        return pa.array(texts[ends[group] - sizes[group] : ends[group]])

    table = Table("names", len(texts), lambda _: pa.array(texts), piece, ends)
    assert table.arrow_part("name", begin, end).to_pylist() == texts[max(begin, 0) : max(end, 0)]
    groups = [at for at, size in enumerate(sizes) if ends[at] > max(begin, 0) and ends[at] - size < end]
    assert read == (groups if max(begin, 0) < min(end, len(texts)) else [])
