"""A tenth of the cases of `make soak`, every time the same, as far as they come in half a minute."""

from __future__ import annotations

from pathlib import Path

from tests.soak.soak import Soak

SECONDS = 30.0


def test_whatever_the_damage_a_profile_or_one_sentence(tmp_path: Path) -> None:
    soak = Soak(tmp_path)
    soak.run(range(10, 2_000, 10), SECONDS)
    assert soak.failures == []
    assert soak.done["trace bytes"] > 5 and soak.done["profile"] > 3 and soak.done["trace values"] > 5
