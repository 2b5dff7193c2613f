"""What waits for one client is bounded."""

import asyncio

import pytest

from mosaic_gateway.live.mailbox import BYTES, FRAMES, NOTES, Mailbox


@pytest.fixture
def mailbox() -> Mailbox:
    """A mailbox with two subscriptions."""
    box = Mailbox()
    box.open("a")
    box.open("b")
    return box


async def test_a_full_slot_refuses_and_leaves_others_alone(mailbox: Mailbox) -> None:
    """Eight entries wait for a subscription, no more, whatever waits for another."""
    assert all(mailbox.offer("a", (f"{n}",)) for n in range(FRAMES))
    assert not mailbox.offer("a", ("more",))
    assert mailbox.offer("b", ("first",))


async def test_bytes_are_bounded_but_one_entry_always_fits(mailbox: Mailbox) -> None:
    """A huge tick is taken when nothing waits, and nothing else then."""
    assert mailbox.offer("a", (b"x" * (BYTES + 1),))
    assert not mailbox.offer("a", (b"y",))


async def test_subscriptions_take_turns_and_keep_their_order(mailbox: Mailbox) -> None:
    """A busy subscription does not keep another from being sent."""
    for n in range(3):
        mailbox.offer("a", (f"a{n}",))
    mailbox.offer("b", ("b0",))
    sent = [(await mailbox.next())[0] for _ in range(4)]
    assert sent.index("b0") <= 1
    assert [p for p in sent if str(p).startswith("a")] == ["a0", "a1", "a2"]


async def test_only_the_newest_state_of_a_run_waits(mailbox: Mailbox) -> None:
    """A run that changes often costs one frame."""
    for n in range(100):
        mailbox.run_changed("run", f"{n}")
    assert await mailbox.next() == ("99",)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await mailbox.next()


async def test_answers_that_are_never_read_are_bounded(mailbox: Mailbox) -> None:
    """A client that pings without reading fills nothing."""
    for n in range(10 * NOTES):
        mailbox.note(f"{n}")
    assert await mailbox.next() == (f"{9 * NOTES}",)


async def test_history_waits_for_room(mailbox: Mailbox) -> None:
    """Pages of the store wait until half the slot is free, and `drained` until it is empty."""
    for n in range(FRAMES // 2):
        await mailbox.put("a", (f"{n}",))
    waiting = asyncio.create_task(mailbox.put("a", ("last",)))
    await asyncio.sleep(0)
    assert not waiting.done()
    await mailbox.next()
    await asyncio.wait_for(waiting, 1)
    drained = asyncio.create_task(mailbox.drained("a"))
    for _ in range(FRAMES // 2):
        assert not drained.done()
        await mailbox.next()
    await asyncio.wait_for(drained, 1)
