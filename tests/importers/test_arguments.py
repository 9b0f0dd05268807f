"""Arguments become columns; nothing of them is lost or altered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from smprof.profile.reader import Profile
from smprof_desktop.importers import convert
from smprof_desktop.importers.arguments import ArgumentReader, Arguments, Leftover

_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 70), 1 << 70),
    st.sampled_from([-(1 << 63), (1 << 63) - 1, -1, 0]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
)
_VALUES = st.one_of(
    _SCALARS, st.lists(_SCALARS, max_size=3), st.dictionaries(st.text(max_size=3), _SCALARS, max_size=2)
)
_ROWS = st.lists(
    st.one_of(st.none(), st.dictionaries(st.sampled_from(["a", "b", "c", "grid", "", 'odd"\\\n', "é"]), _VALUES)),
    max_size=12,
)


def texts_of(left: Leftover) -> list[str]:
    assert left.texts is not None
    return [str(text) for text in left.texts.to_pylist()]


def _left(arguments: Arguments) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{} for _ in range(len(arguments))]
    for left in arguments.leftovers():
        values = left.integers.tolist() if left.integers is not None else [json.loads(text) for text in texts_of(left)]
        for row, key, value in zip(left.rows.tolist(), left.keys().to_pylist(), values, strict=True):
            assert key not in rows[row]
            rows[row][key] = value
    return rows


@given(st.lists(_ROWS, min_size=1, max_size=3))
def test_what_goes_in_comes_out_whatever_came_before(pieces: list[list[dict[str, Any] | None]]) -> None:
    reader = ArgumentReader()
    for rows in pieces:
        raws = [Raw(b"" if row is None else json.dumps(row).encode()) for row in rows]
        assert _left(reader.read(raws)) == [row or {} for row in rows]


@given(_ROWS)
def test_taken_and_left_are_all(rows: list[dict[str, Any] | None]) -> None:
    arguments = ArgumentReader().read([Raw(b"" if row is None else json.dumps(row).encode()) for row in rows])
    taken = arguments.take_integers("a", "b", low=1)
    left = _left(arguments)
    for row, value, rest in zip(rows, taken.tolist(), left, strict=True):
        fitting = [
            (key, int(item))
            for key in ("a", "b")
            if (item := (row or {}).get(key)) is not None
            and not isinstance(item, bool)
            and (
                isinstance(item, int)
                or (
                    isinstance(item, str)
                    and item.isascii()
                    and item.removeprefix("-").isdigit()
                    and (item.lstrip("-")[0] != "0" or len(item.lstrip("-")) == 1)
                )
            )
            and 1 <= int(item) < 1 << 63
        ]
        assert value == (fitting[0][1] if fitting else -1)
        assert rest == {key: item for key, item in (row or {}).items() if not fitting or key != fitting[0][0]}


def test_exact_text_of_what_is_not_an_integer() -> None:
    arguments = ArgumentReader().read([Raw(b'{"x": 5.0, "y": 10159970886766084423, "z": "a\\u00e9", "w": [1,  2]}')])
    assert {str(left.key): texts_of(left) for left in arguments.leftovers()} == {
        "x": ["5.0"],
        "y": ["10159970886766084423"],
        "z": ['"a\\u00e9"'],
        "w": ["[1,  2]"],
    }


def test_floats_and_parsed_lists() -> None:
    arguments = ArgumentReader().read(
        [Raw(b'{"f": 0.625, "g": [1, 2, 3]}'), Raw(b'{"f": 2}'), Raw(b'{"f": "NaN", "g": 7}')]
    )
    floats = arguments.take_floats("f")
    assert floats[:2].tolist() == [0.625, 2.0] and np.isnan(floats[2])
    assert arguments.take_parsed("g", lambda text: len(json.loads(text)) if text[:1] == b"[" else None) == [
        3,
        None,
        None,
    ]
    assert _left(arguments) == [{}, {}, {"f": "NaN", "g": 7}]


def test_args_that_are_no_object_are_kept() -> None:
    assert _left(ArgumentReader().read([Raw(b"[1, 2]"), Raw(b'{"a": 1}')])) == [{"args": [1, 2]}, {"a": 1}]


def test_as_many_keys_as_rows(tmp_path: Path) -> None:
    """Each key in a column of its own would be a square of them."""
    count = 20_000
    raws = [Raw(b'{"k%d": %d, "correlation": %d}' % (row, row, row + 1)) for row in range(count)]
    raws[7] = Raw(b'{"k7": "text", "correlation": "8"}')
    arguments = ArgumentReader().read(raws)
    assert arguments.take_integers("correlation").tolist() == list(range(1, count + 1))
    left = _left(arguments)
    assert left == [{f"k{row}": "text" if row == 7 else row} for row in range(count)]
    trace = [{"ph": "X", "cat": "cpu_op", "name": "n", "pid": 1, "tid": 1, "ts": row, "dur": 1} for row in range(300)]
    for row, event in enumerate(trace):
        event["args"] = {f"k{row}": row, "Ev Idx": row, "External id": row + 1}
    (tmp_path / "t.json").write_text(json.dumps(trace))
    convert.import_file(tmp_path / "t.json", tmp_path / "out")
    [process] = Profile.open(tmp_path / "out").processes
    assert [process.args_of("host", row) for row in range(300)] == [
        {f"k{row}": row, "Ev Idx": row} for row in range(300)
    ]
    assert process.table("host")["external_id"].tolist() == list(range(1, 301))
