"""The directive block: never shown, however the answer is cut into pieces."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discovercall.invocation.runtime.directive import (
    CLOSE,
    OPEN,
    DirectiveFilter,
    DirectiveState,
    read_directive,
)

PIECES = st.lists(
    st.one_of(
        st.text(max_size=6),
        st.sampled_from([OPEN, CLOSE, "<", "<dir", OPEN[:-1], " ", "\n", "ective>", "{}"]),
    ),
    max_size=12,
)


def shown(pieces: list[str]) -> tuple[str, DirectiveFilter]:
    block = DirectiveFilter()
    return "".join(map(block.feed, pieces)) + block.finish(), block


@settings(deadline=None)
@given(PIECES, st.data())
def test_the_cuts_do_not_matter(pieces: list[str], data: st.DataObject) -> None:
    whole = "".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    parts = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    visible, block = shown(parts)
    assert visible == whole.partition(OPEN)[0].strip()
    assert OPEN not in visible
    assert block.read() == shown(list(whole))[1].read()


@settings(deadline=None)
@given(st.text(), st.lists(st.tuples(st.text(), st.dictionaries(st.text(), st.integers()))))
def test_what_a_block_says_is_read(answer: str, events: list[tuple[str, dict[str, int]]]) -> None:
    written = {"events": [{"name": name, "arguments": arguments} for name, arguments in events]}
    visible, block = shown([answer.replace(OPEN, ""), OPEN, json.dumps(written), CLOSE, " \n"])
    state, proposals = block.read()
    assert visible == answer.replace(OPEN, "").partition(OPEN)[0].strip()
    assert state is DirectiveState.USABLE
    assert [(found.name, found.arguments) for found in proposals] == events


def test_text_is_shown_as_early_as_possible() -> None:
    block = DirectiveFilter()
    assert [block.feed(piece) for piece in ("  Hello", " there ", "you <", "3 ", "<direct", "ive>{}")] == [
        "Hello",
        " there",
        " you",
        " <3",
        "",
        "",
    ]


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        ("Hello.", DirectiveState.MISSING),
        ("", DirectiveState.MISSING),
        (f'Hello.{OPEN}{{"events":[]}}{CLOSE}', DirectiveState.USABLE),
        (f'{OPEN} \n{{"events": [ ]}}\n {CLOSE}\n', DirectiveState.USABLE),
        (f'{OPEN}{{"events":[{{"name":"a"}}]}}{CLOSE}', DirectiveState.USABLE),
        (f'Hello.{OPEN}{{"events":[]}}', DirectiveState.MALFORMED),
        (f'Hello.{OPEN}{{"events":[]}}{CLOSE} And more.', DirectiveState.MALFORMED),
        (f"{OPEN}{CLOSE}", DirectiveState.MALFORMED),
        (f"{OPEN}[]{CLOSE}", DirectiveState.MALFORMED),
        (f'{OPEN}{{"event":[]}}{CLOSE}', DirectiveState.MALFORMED),
        (f'{OPEN}{{"events":{{}}}}{CLOSE}', DirectiveState.MALFORMED),
        (f'{OPEN}{{"events":["a"]}}{CLOSE}', DirectiveState.MALFORMED),
        (f'{OPEN}{{"events":[{{"name":1}}]}}{CLOSE}', DirectiveState.MALFORMED),
        (f'{OPEN}{{"events":[{{"name":"a","arguments":[]}}]}}{CLOSE}', DirectiveState.MALFORMED),
        (f'{OPEN}{{"events":[]}}{OPEN}{{"events":[]}}{CLOSE}', DirectiveState.MALFORMED),
    ],
)
def test_what_can_be_used(answer: str, state: DirectiveState) -> None:
    assert shown([answer])[1].read()[0] is state


def test_a_block_of_any_depth_is_read() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    state, (proposal,) = read_directive(f'{{"events":[{{"name":"a","arguments":{{"x":{deep}}}}}]}}')
    assert state is DirectiveState.USABLE
    assert proposal.name == "a"
