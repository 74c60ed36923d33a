"""What a run has spent and may spend."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from discovercall.contract.journal import TrialKey
from discovercall.foundation.ecmascript import is_finite_number
from discovercall.foundation.errors import SpendLimitError


@dataclass(slots=True)
class Spend:
    """Billed calls and credits of one run, over all lanes and all its starts.

    Args:
        max_calls: calls that may be sent.
        max_credits: what they may cost together; None for no limit.
        billed: trials whose call was sent and may have been billed.
        credits: cost by trial: as reported with the answer, before that the price that inspection named,
            where either is known.
        dearest: the highest price or cost of a call so far; None before any is known.
    """

    max_calls: int
    max_credits: float | None = None
    billed: set[TrialKey] = field(default_factory=set)
    credits: dict[TrialKey, float] = field(default_factory=dict)
    dearest: float | None = None
    _unsettled: set[TrialKey] = field(default_factory=set)

    @property
    def total_credits(self) -> float:
        """Credits spent as far as the API told."""
        return sum(self.credits.values())

    def has_room_for(self, reserved: Collection[TrialKey], wanted: Collection[TrialKey]) -> bool:
        """Whether trials may start, given those that run and have not called yet.

        Against a limit of credits, a call of unknown price is reckoned at the dearest one so far; before
        any is known, calls go one by one.
        """
        under_way = len(reserved) + len(wanted)
        if len(self.billed) + under_way > self.max_calls:
            return False
        if self.max_credits is None:
            return True
        if self.dearest is None:
            return not reserved and not self._unsettled
        return self.total_credits + under_way * self.dearest <= self.max_credits

    def limit_reached(self) -> str:
        """Which limit leaves no room, in words."""
        if self.max_credits is not None and len(self.billed) < self.max_calls:
            return f"the limit of {self.max_credits:g} credits is reached"
        return f"the limit of {self.max_calls} billed calls is reached"

    def check(self, price: float | None) -> None:
        """Refuse a call that would exceed a limit.

        Args:
            price: credits that the inspected tool names; None is reckoned at the dearest call so far.

        Raises:
            SpendLimitError: names the limit.
        """
        if len(self.billed) >= self.max_calls:
            raise SpendLimitError(f"the limit of {self.max_calls} billed calls is reached")
        reckoned = self._reckoned(price)
        if self.max_credits is not None and self.total_credits + reckoned > self.max_credits:
            raise SpendLimitError(f"the limit of {self.max_credits:g} credits is reached")

    def commit(self, key: TrialKey, price: float | None) -> None:
        """A call is about to leave."""
        self.billed.add(key)
        self._unsettled.add(key)
        self._see(price)
        if price is not None or self.dearest is not None:
            self.credits[key] = self._reckoned(price)

    def settle(self, key: TrialKey, cost: float | None) -> None:
        """A call ended, with its cost where the answer told; a negative one is no cost."""
        self._unsettled.discard(key)
        if cost is not None and cost >= 0:
            self._see(cost)
            self.credits[key] = cost

    def withdraw(self, key: TrialKey) -> None:
        """The API turned the call away, so it was not billed."""
        self.billed.discard(key)
        self._unsettled.discard(key)
        self.credits.pop(key, None)

    def _see(self, amount: float | None) -> None:
        if amount is not None:
            self.dearest = max(amount, self.dearest or 0)

    def _reckoned(self, price: float | None) -> float:
        return (self.dearest or 0) if price is None else price


def tool_price(tool: Mapping[str, Any]) -> float | None:
    """Credits per call by the inspected tool's billing rule; None where it names none."""
    rule = tool.get("billing_rule")
    amount = rule.get("amount_credits") if isinstance(rule, Mapping) else None
    return float(amount) if is_finite_number(amount) and amount >= 0 else None  # type: ignore[operator, arg-type]
