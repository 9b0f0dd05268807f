"""Finding texts by a few letters: which, in what order, and never for long."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from smprof_desktop.fuzzy import Choices

TEXTS = ["Zoom in", "Zoom out", "Pin the lane to the top", "Open folder…", "Fit the whole profile", "Copy link"]


def best(query: str, texts: list[str] | None = None, most: int = 10) -> list[str]:
    texts = TEXTS if texts is None else texts
    return [texts[at] for at in Choices(texts).best(query, most)]


def test_letters_in_order_are_enough() -> None:
    assert best("zo") == ["Zoom in", "Zoom out"]
    assert best("zmot") == ["Zoom out"]
    assert best("xq") == []


def test_words_that_begin_so_come_first_then_letters_that_stand_together() -> None:
    assert best("in") == ["Zoom in", "Copy link", "Pin the lane to the top"]
    assert best("fo", ["half of", "info", "a folder"]) == ["a folder", "info", "half of"]
    assert best("ab", ["a long way to b", "a b"]) == ["a b", "a long way to b"]


def test_every_word_counts_in_any_order_and_capitals_do_not() -> None:
    assert best("TOP lane") == ["Pin the lane to the top"]
    assert best("top zoom") == []


def test_without_a_query_the_first_texts_stand() -> None:
    assert best("", most=2) == best("   ", most=2) == TEXTS[:2]


def test_letters_with_a_meaning_of_their_own_are_only_letters() -> None:
    assert best("[^]", ["a[b^c]", "abc"]) == ["a[b^c]"]
    assert best("(.*", ["x(.*y", "x"]) == ["x(.*y"]


def test_what_could_be_tried_in_many_ways_is_tried_in_one() -> None:
    assert best("a" * 40 + "b", ["a" * 20_000]) == []


@given(text=st.text(max_size=20), query=st.text(alphabet="ab -[^", max_size=4))
def test_a_text_is_found_exactly_where_its_letters_are_in_order(text: str, query: str) -> None:
    def in_order(word: str) -> bool:
        rest = iter(text.casefold())
        return all(letter in rest for letter in word)

    expected = all(in_order(word) for word in query.casefold().split())
    assert bool(Choices([text]).best(query, 1)) is expected


def test_what_stands_besides_a_text_counts_less_and_only_together() -> None:
    choices = Choices(["Next step", "List the marks", "Remove a mark"], ["Marks and steps", "", ""])
    assert choices.best("mark", 9) == [2, 1, 0]
    assert choices.best("marks next", 9) == [0]
    assert choices.best("mrks", 9) == [1]
