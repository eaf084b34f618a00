"""What a run asked of language models: cost by role, and the sizes of prompts by section."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

Json = Mapping[str, Any]


@dataclass(frozen=True)
class RoleRow:
    """All calls of one role to one model."""

    role: str
    model: str
    calls: int
    cached: int
    failed: int
    tokens_in: str
    tokens_cached: str
    tokens_out: str
    cost: str
    seconds: str


@dataclass(frozen=True)
class SectionRow:
    """One section of a role's prompts; ``share`` of the longest section, in percent."""

    role: str
    name: str
    prompts: int
    mean: int
    most: int
    share: int


@dataclass(frozen=True)
class PrefixRow:
    """How much of a role's prompts is the beginning of the prompt before, on average."""

    role: str
    share: str


@dataclass(frozen=True)
class CallRow:
    """One call. ``messages``: (role, text); a text that an earlier call showed is left out."""

    number: int
    key: str
    title: str
    outcome: str
    messages: tuple[tuple[str, str], ...]
    reply: str


@dataclass(frozen=True)
class ModelUseView:
    """All that the page shows of model calls."""

    roles: tuple[RoleRow, ...]
    sections: tuple[SectionRow, ...]
    prefixes: tuple[PrefixRow, ...]
    calls: tuple[CallRow, ...]


def model_use(run: Json) -> ModelUseView | None:
    """The view of a run's model calls; None where no model was asked."""
    calls: Sequence[Json] = run["calls"]
    if not calls:
        return None
    return ModelUseView(_roles(calls), _sections(calls), _prefixes(calls), _calls(calls))


def _answered(call: Json) -> Json | None:
    reply: Json | None = call.get("reply")
    return reply if reply is not None and "text" in reply else None


def _roles(calls: Sequence[Json]) -> tuple[RoleRow, ...]:
    names = dict.fromkeys((call["role"], call["model"]) for call in calls)
    return tuple(
        _role_row(*name, [call for call in calls if (call["role"], call["model"]) == name])
        for name in names
    )


def _role_row(role: str, model: str, calls: Sequence[Json]) -> RoleRow:
    replies = [reply for call in calls if (reply := _answered(call)) is not None]
    sent = [reply for reply in replies if not reply["from_cache"]]
    about = "about " if any(reply["estimated"] for reply in sent) else ""
    prices = [reply["dollars"] for reply in sent]
    cost = "price unknown" if None in prices else f"${sum(prices):.4f}"
    return RoleRow(
        role=role,
        model=model,
        calls=len(calls),
        cached=len(replies) - len(sent),
        failed=len(calls) - len(replies),
        tokens_in=f"{about}{sum(reply['tokens_in'] for reply in sent):,}",
        tokens_cached=f"{about}{sum(reply['tokens_cached'] for reply in sent):,}",
        tokens_out=f"{about}{sum(reply['tokens_out'] for reply in sent):,}",
        cost=cost,
        seconds=f"{sum(reply['seconds'] for reply in sent):.1f} s",
    )


def _sections(calls: Sequence[Json]) -> tuple[SectionRow, ...]:
    sizes: dict[tuple[str, str], list[int]] = {}
    for call in calls:
        for section in call["sections"]:
            sizes.setdefault((call["role"], section["name"]), []).append(section["characters"])
    longest = max((max(several) for several in sizes.values()), default=1)
    return tuple(
        SectionRow(
            role, name, len(several), round(sum(several) / len(several)), max(several),
            round(100 * sum(several) / len(several) / longest),
        )
        for (role, name), several in sizes.items()
    )  # fmt: skip


def _prefixes(calls: Sequence[Json]) -> tuple[PrefixRow, ...]:
    """Roles that were asked more than once with a prompt that is on record."""
    rows = []
    for role in dict.fromkeys(call["role"] for call in calls):
        prompts = [_prompt(call) for call in calls if call["role"] == role and call["messages"]]
        shares = [_shared(one, other) / len(other) for one, other in pairwise(prompts) if other]
        if shares:
            rows.append(PrefixRow(role, f"{sum(shares) / len(shares):.0%}"))
    return tuple(rows)


def _shared(one: str, other: str) -> int:
    """Characters at the beginning that both have."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _prompt(call: Json) -> str:
    return "\n".join(message["text"] or "" for message in call["messages"])


def _calls(calls: Sequence[Json]) -> tuple[CallRow, ...]:
    shown: dict[str, int] = {}
    return tuple(_call(number, call, shown) for number, call in enumerate(calls, 1))


def _call(number: int, call: Json, shown: dict[str, int]) -> CallRow:
    place = [f"{call['role']}, {call['model']}"]
    place += [str(call["stage"])] if call.get("stage") else []
    place += [f"try {call['try']}"] if call.get("try") else []
    reply = _answered(call)
    if reply is None:
        error: Json = call.get("reply") or {"message": "no reply is on record"}
        return CallRow(
            number, call["key"], ", ".join(place), error["message"], _texts(number, call, shown), ""
        )
    outcome = f"{reply['tokens_in']:,} tokens in, {reply['tokens_out']:,} out"
    if reply["finish"] != "stop":
        outcome += f", ended by {reply['finish']}"
    if reply["from_cache"]:
        outcome += ", from the cache of replies"
    texts = _texts(number, call, shown)
    return CallRow(number, call["key"], ", ".join(place), outcome, texts, reply["text"])


def _texts(number: int, call: Json, shown: dict[str, int]) -> tuple[tuple[str, str], ...]:
    found = []
    for message in call["messages"]:
        text = message["text"]
        if text is None:
            text = "(not on record)"
        elif shown.setdefault(text, number) != number:
            text = f"(as in call {shown[text]})"
        found.append((message["role"], text))
    return tuple(found)
