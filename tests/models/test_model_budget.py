"""No limit is exceeded, also with many calls in flight."""

import threading

import pytest
from scripted_client import Setup, ask
from scripted_server import Answer, Reaction, Refused, Request, by_turn

from tilewright.errors import InputError
from tilewright.models.budget import Budget
from tilewright.models.model import BudgetSpentError, CallRequest, Limits, Spent
from tilewright.models.prices import Price
from tilewright.models.wire import Usage, tokens_at_most

NOTHING = Spent()


def _all_at_once(calls: int, work: object) -> list[object]:
    """The results and errors of ``work(n)`` in threads of their own."""
    results: list[object] = []

    def one(n: int) -> None:
        try:
            results.append(work(n))  # type: ignore[operator]
        except BudgetSpentError as error:
            results.append(error)

    threads = [threading.Thread(target=one, args=(n,)) for n in range(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
    assert len(results) == calls
    return results


def _full(request: Request, number: int) -> Reaction:
    """A reply that is as long as the request allows; its prompt takes a token for 2.5 bytes."""
    prompt = len(request.prompt.encode()) * 2 // 5
    tokens = request.body["max_tokens"]
    return Answer("code", prompt_tokens=prompt, completion_tokens=tokens, delay_s=0.01)


def test_calls_with_many_in_flight(setup: Setup) -> None:
    server = setup.serve(_full)
    choice = setup.choice(server, max_output_tokens=100)
    client = setup.client(choice, limits=Limits(calls=7), concurrency=16)
    results = _all_at_once(20, lambda n: client.complete(ask(choice, sample=n)))
    refused = [r for r in results if isinstance(r, BudgetSpentError)]
    assert len(refused) == 13
    assert {r.limit for r in refused} == {"calls"}
    assert len(server.completions) == client.spent.calls == 7


def test_retries_count_as_calls(setup: Setup) -> None:
    server = setup.serve(by_turn(Refused(500)))
    client = setup.client(setup.choice(server), limits=Limits(calls=3))
    with pytest.raises(BudgetSpentError, match="3 of 3 calls were made"):
        client.complete(ask(setup.choice(server)))
    assert len(server.completions) == 3


def test_tokens_with_many_in_flight(setup: Setup) -> None:
    server = setup.serve(_full)
    choice = setup.choice(server, max_output_tokens=1000)
    client = setup.client(choice, limits=Limits(tokens=10_000), concurrency=16)
    results = _all_at_once(20, lambda n: client.complete(ask(choice, "x" * 1000, sample=n)))
    refused = [r for r in results if isinstance(r, BudgetSpentError)]
    spent = client.spent.tokens_in + client.spent.tokens_out
    assert refused
    assert {r.limit for r in refused} == {"tokens"}
    # Nothing over the limit, and no call refused that would have fitted.
    assert spent <= 10_000 < spent + 1000 + tokens_at_most(ask(choice, "x" * 1000))


def test_dollars_with_many_in_flight(setup: Setup) -> None:
    server = setup.serve(_full)
    choice = setup.choice(server, max_output_tokens=1000)
    prices = {"scripted": Price(3.0, 15.0)}
    client = setup.client(choice, limits=Limits(dollars=0.10), concurrency=16, prices=prices)
    results = _all_at_once(20, lambda n: client.complete(ask(choice, sample=n)))
    refused = [r for r in results if isinstance(r, BudgetSpentError)]
    assert {r.limit for r in refused} == {"dollars"}
    assert len(server.completions) == 6  # of 1.5 cents each
    assert client.spent.dollars is not None
    assert 0.09 <= client.spent.dollars <= 0.10


def test_call_waits_for_those_that_spend_less_than_they_may(setup: Setup) -> None:
    """Two reservations do not fit together; the second call goes on when the first is done."""
    short = Answer("code", prompt_tokens=20, completion_tokens=5, delay_s=0.2)
    server = setup.serve(by_turn(short))
    choice = setup.choice(server, max_output_tokens=1000)
    client = setup.client(choice, limits=Limits(tokens=1500), concurrency=4, real_time=True)
    results = _all_at_once(4, lambda n: client.complete(ask(choice, sample=n)))
    assert not [r for r in results if isinstance(r, BudgetSpentError)]
    assert server.most_at_once == 1
    assert client.spent.tokens_in == 80


def test_minutes(setup: Setup) -> None:
    server = setup.serve(by_turn(Answer("code")))
    client = setup.client(setup.choice(server), limits=Limits(minutes=2))
    client.complete(ask(setup.choice(server), sample=0))
    setup.time.wait(threading.Event(), 121)
    with pytest.raises(BudgetSpentError, match="2 minutes have passed") as caught:
        client.complete(ask(setup.choice(server), sample=1))
    assert caught.value.limit == "minutes"
    assert len(server.completions) == 1


def test_limit_in_minutes_ends_a_pause(setup: Setup) -> None:
    server = setup.serve(by_turn(Refused(503, headers={"Retry-After": "100"})))
    client = setup.client(setup.choice(server), limits=Limits(minutes=1))
    with pytest.raises(BudgetSpentError):
        client.complete(ask(setup.choice(server)))
    assert sum(setup.time.pauses) == 60


def test_what_was_spent_before_counts(setup: Setup) -> None:
    budget = Budget(Limits(calls=5, tokens=1000), Spent(calls=4, tokens_in=100), setup.time.now)
    permit = budget.reserve(500, 0.0)
    budget.settle(permit, Usage(300, 0, 100), None, 1.0)
    assert budget.spent == Spent(5, 0, 400, 0, 100, None, 1.0)
    with pytest.raises(BudgetSpentError):
        budget.reserve(1, 0.0)


def test_unknown_price_and_a_limit_in_dollars(setup: Setup) -> None:
    server = setup.serve(by_turn(Answer("code")))
    hosted = setup.choice(server)
    hosted = type(hosted)("big-model", "https://api.example.com/v1")
    with pytest.raises(InputError, match=r'models\.named\."big-model"\] with price = \{input'):
        setup.client(hosted, limits=Limits(dollars=5.0))
    setup.client(hosted, limits=Limits(calls=5, tokens=100, minutes=1))
    setup.client(hosted, limits=Limits(dollars=5.0), prices={"big-model": Price(1, 2)})


def test_dollars_are_unknown_without_a_price(setup: Setup) -> None:
    budget = Budget(Limits(), NOTHING, setup.time.now)
    budget.settle(budget.reserve(10, 0.0), Usage(5, 0, 5), 0.5, 1.0)
    assert budget.spent.dollars == 0.5
    budget.settle(budget.reserve(10, 0.0), Usage(5, 0, 5), None, 1.0)
    assert budget.spent.dollars is None


@pytest.mark.parametrize(
    "text", ["def f(x_ptr, n: tl.constexpr):\n" * 50, "prose of a person " * 50, "é" * 500]
)
def test_reservation_is_more_than_the_usual_vocabularies_take(setup: Setup, text: str) -> None:
    """Kernels full of indices take a token for 2.15 characters."""
    request: CallRequest = ask(setup.choice(setup.serve(by_turn(Answer("")))), text)
    assert tokens_at_most(request) >= len(text) / 2.15
