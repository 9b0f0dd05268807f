"""Whatever happens to the bytes of a trace, it is read or refused in a sentence, and never anything else."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

from smprof.profile.manifest import ProfileError
from smprof.profile.reader import Profile
from smprof_desktop.importers import convert

_TOKENS = (
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\\",
    b"null",
    b"NaN",
    b"-",
    b"1e999",
    b"\0",
    b"\xff",
    b'"ph"',
    b"\n",
    b"9" * 20,
)


def damaged(data: bytes, chance: random.Random) -> bytes:
    """`data` with a few bytes changed, put in, taken out, repeated or cut off."""
    text = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 5, 30])):
        at, other = chance.randrange(len(text)), chance.randrange(len(text))
        match chance.randrange(10):
            case 0 | 1 | 2:
                text[at] = chance.randrange(256)
            case 3 | 4 | 5:
                text[at : at + chance.choice([0, 1, 3])] = chance.choice(_TOKENS)
            case 6 | 7:
                del text[at : at + chance.choice([1, 2, 10, 400])]
            case 8:
                text[at:at] = text[other : other + chance.choice([5, 50, 3000])]
            case _:
                del text[max(at, len(text) // 2) :]
    return bytes(text)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_traces_are_read_or_refused(traces: Path, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    data = gzip.decompress((traces / "kineto" / "hta_amd_mi250_minitoy_rocm62.json.gz").read_bytes())
    read = 0
    for number in range(15):
        path = tmp_path / f"{number}.json"
        path.write_bytes(damaged(data, chance))
        try:
            convert.import_file(path, tmp_path / str(number))
        except ProfileError as error:
            assert "\n" not in str(error)  # noqa: PT017  (both outcomes are right)
            continue
        profile = Profile.open(tmp_path / str(number))
        slices = sum(len(profile.processes[0].table(table)) for table in ("device", "host", "annotation"))
        assert slices or profile.losses
        read += 1
    assert read > 5
