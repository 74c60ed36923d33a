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
    """

    max_calls: int
    max_credits: float | None = None
    billed: set[TrialKey] = field(default_factory=set)
    credits: dict[TrialKey, float] = field(default_factory=dict)

    @property
    def total_credits(self) -> float:
        """Credits spent as far as the API told."""
        return sum(self.credits.values())

    def has_room_for(self, reserved: Collection[TrialKey], wanted: Collection[TrialKey]) -> bool:
        """Whether trials may start, given those that run and have not called yet."""
        calls_left = self.max_calls - len(self.billed) - len(reserved) - len(wanted)
        return calls_left >= 0 and (self.max_credits is None or self.total_credits < self.max_credits)

    def limit_reached(self) -> str:
        """Which limit leaves no room, in words."""
        if self.max_credits is not None and self.total_credits >= self.max_credits:
            return f"the limit of {self.max_credits:g} credits is reached"
        return f"the limit of {self.max_calls} billed calls is reached"

    def check(self, price: float | None) -> None:
        """Refuse a call that would exceed a limit.

        Args:
            price: credits that the inspected tool names; an unknown price counts once it is known.

        Raises:
            SpendLimitError: names the limit.
        """
        if len(self.billed) >= self.max_calls:
            raise SpendLimitError(f"the limit of {self.max_calls} billed calls is reached")
        if self.max_credits is not None and self.total_credits + (price or 0) > self.max_credits:
            raise SpendLimitError(f"the limit of {self.max_credits:g} credits is reached")

    def commit(self, key: TrialKey, price: float | None) -> None:
        """A call is about to leave."""
        self.billed.add(key)
        if price is not None:
            self.credits[key] = price

    def settle(self, key: TrialKey, cost: float | None) -> None:
        """A call was answered, with its cost where the answer told."""
        if cost is not None:
            self.credits[key] = cost


def tool_price(tool: Mapping[str, Any]) -> float | None:
    """Credits per call by the inspected tool's billing rule; None where it names none."""
    rule = tool.get("billing_rule")
    amount = rule.get("amount_credits") if isinstance(rule, Mapping) else None
    return float(amount) if is_finite_number(amount) and amount >= 0 else None  # type: ignore[operator, arg-type]
