"""What a run has spent and may spend."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping
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
        credits: cost by trial, where it is known: as reported with the answer, before that the price that
            inspection named.
        dearest: the highest price or cost of a call so far; None before any is known.
    """

    max_calls: int
    max_credits: float | None = None
    billed: set[TrialKey] = field(default_factory=set)
    credits: dict[TrialKey, float] = field(default_factory=dict)
    dearest: float | None = None
    _unsettled: set[TrialKey] = field(default_factory=set)

    @property
    def known_credits(self) -> float:
        """Credits spent as far as the API told."""
        return credit_sum(self.credits.values())

    @property
    def reckoned_credits(self) -> float:
        """Credits that count against the limit: calls of unknown cost at the dearest one so far."""
        return self._reckoned(self.dearest or 0)

    def has_room_for(self, reserved: Collection[TrialKey], wanted: Collection[TrialKey]) -> bool:
        """Whether trials may start, given those that run and have not called yet.

        Against a limit of credits, a call of unknown price is reckoned at the dearest one so far; before
        any is known, trials go one by one, so at most one trial's calls (one per lane) can exceed it.
        """
        under_way = len(reserved) + len(wanted)
        if len(self.billed) + under_way > self.max_calls:
            return False
        if self.max_credits is None:
            return True
        if self.dearest is None:
            return not reserved and not self._unsettled
        return self.reckoned_credits + under_way * self.dearest <= self.max_credits

    def limit_reached(self, lanes: int = 1) -> str:
        """Which limit leaves no room for a trial, in words.

        Args:
            lanes: calls that the trial may make.
        """
        left = self.max_calls - len(self.billed)
        if left >= lanes and self.max_credits is not None:
            return self._credits_reached(self.reckoned_credits, lanes * (self.dearest or 0), lanes)
        if left <= 0:
            return f"the limit of {self.max_calls} billed calls is reached"
        return f"the limit of {self.max_calls} billed calls leaves {left}, too few for {_trial(lanes)}"

    def check(self, price: float | None) -> None:
        """Refuse a call that would exceed a limit.

        Args:
            price: credits that the inspected tool names; None is reckoned at the dearest call so far.

        Raises:
            SpendLimitError: names the limit.
        """
        if len(self.billed) >= self.max_calls:
            raise SpendLimitError(f"the limit of {self.max_calls} billed calls is reached")
        dearest = max(self.dearest or 0, price or 0)
        spent, needed = self._reckoned(dearest), dearest if price is None else price
        if self.max_credits is not None and spent + needed > self.max_credits:
            raise SpendLimitError(self._credits_reached(spent, needed, 1))

    def _credits_reached(self, spent: float, needed: float, lanes: int) -> str:
        limit = self.max_credits or 0
        said = f"the limit of {limit:g} credits"
        what = f"{said} is reached"
        if spent < limit:
            what = f"{said} leaves {limit - spent:g}, too few for {_trial(lanes)}, reckoned at {needed:g}"
        unknown = len(self.billed - self.credits.keys())
        return f"{what} ({unknown} of unknown cost counted as the dearest)" if unknown else what

    def commit(self, key: TrialKey, price: float | None) -> None:
        """A call is about to leave."""
        self.billed.add(key)
        self._unsettled.add(key)
        self._learn(key, price)

    def settle(self, key: TrialKey, cost: float | None) -> None:
        """A call ended, with its cost where the answer told."""
        self._unsettled.discard(key)
        self._learn(key, credit_amount(cost))

    def withdraw(self, key: TrialKey) -> None:
        """The API turned the call away, so it was not billed."""
        self.billed.discard(key)
        self._unsettled.discard(key)
        self.credits.pop(key, None)

    def _learn(self, key: TrialKey, amount: float | None) -> None:
        if amount is not None:
            self.dearest = max(amount, self.dearest or 0)
            self.credits[key] = amount

    def _reckoned(self, dearest: float) -> float:
        return self.known_credits + len(self.billed - self.credits.keys()) * dearest


def _trial(lanes: int) -> str:
    return "another call" if lanes == 1 else f"a trial of {lanes} lanes"


def credit_amount(value: object) -> float | None:
    """A price or cost as it counts; None for what is none: anything but a number, or a negative one."""
    return value if is_finite_number(value) and value >= 0 else None  # type: ignore[operator, return-value]


def credit_sum(amounts: Iterable[float]) -> float:
    """What amounts come to; at most the largest double, so that it can be written as JSON."""
    return min(sum(map(float, amounts)), sys.float_info.max)


def tool_price(tool: Mapping[str, Any]) -> float | None:
    """Credits per call by the inspected tool's billing rule; None where it names none."""
    rule = tool.get("billing_rule")
    amount = credit_amount(rule.get("amount_credits")) if isinstance(rule, Mapping) else None
    return None if amount is None else float(amount)
