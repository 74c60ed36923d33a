import pytest

from discovercall.contract.journal import read_journal
from tests.support.catalog_api import Reply
from tests.support.records import task


def last_line(done):
    return done.err.splitlines()[-1]


def test_no_more_calls_are_billed_than_allowed(bench):
    bench.use_tasks(*(task(f"t{i}") for i in range(4)))
    done = bench.run(trials=2, max_billed_calls=3, concurrency=8)
    assert done.code == 3, done
    assert "Limit: at most 3 billed calls" in done.err
    assert last_line(done).startswith("discovercall: the limit of 3 billed calls is reached; ")
    assert "--resume" in last_line(done)
    assert bench.api.count("call") == 3
    assert [(r["task_id"], r["trial"]) for r in bench.records()] == [("t0", 1), ("t0", 2), ("t1", 1)]
    kinds = [entry.content["kind"] for entry in read_journal(bench.journal)]
    assert kinds.count("call_intent") == kinds.count("trial_finished") == 3
    assert bench.nothing_left_within()


def test_trials_that_fail_before_their_call_use_up_nothing(bench):
    bench.use_tasks(*(task(f"t{i}") for i in range(4)))
    bench.script = {"t0/select": {"answer": {}}, "t2/select": {"answer": {}}}
    done = bench.run(max_billed_calls=2)
    assert done.code == 0, done
    assert [r["call"]["attempted"] for r in bench.records()] == [False, True, False, True]
    assert bench.api.count("call") == 2


def test_a_limit_of_nothing_sends_nothing(bench):
    done = bench.run(max_billed_calls=0)
    assert done.code == 3
    assert bench.api.requests == []
    assert bench.records() == []


def test_failed_calls_count_for_they_may_have_been_billed(bench):
    bench.use_tasks(*(task(f"t{i}") for i in range(3)))
    bench.api.before = lambda r: Reply({}, status=500) if r.operation == "call" else None
    done = bench.run(max_billed_calls=2, concurrency=1)
    assert done.code == 3
    assert bench.api.count("call") == 2
    assert [r["error"]["reason_code"] for r in bench.records()] == ["http_500", "http_500"]


@pytest.mark.parametrize(
    ("limit", "trials", "told"),
    [
        (1, 0, "the limit of 1 billed calls leaves 1, too few for a trial of 2 lanes; "),
        (2, 1, "the limit of 2 billed calls is reached; "),
        (3, 1, "the limit of 3 billed calls leaves 1, too few for a trial of 2 lanes; "),
    ],
)
def test_a_trial_starts_only_where_all_its_lanes_may_call(bench, limit, trials, told):
    bench.use_tasks(task("t1"), task("t2"))
    lanes = bench.folder / "lanes.toml"
    lanes.write_text(
        "".join(
            f'[[lane]]\nname = "{name}"\nmodel = "{name}"\nadapter = "{bench.adapter}"\n'
            'adapter_revision = "1"\nmodel_revision = "1"\n'
            for name in ("current-model", "pinned-model")
        )
    )
    own = dict.fromkeys(("model", "lane", "adapter", "adapter_env", "adapter_revision", "output"))
    done = bench.run(**own, lanes=lanes, out=bench.folder, max_billed_calls=limit)
    assert done.code == 3, done
    assert last_line(done).startswith(f"discovercall: {told}")
    assert bench.api.count("call") == 2 * trials
    assert bench.api.count("discover") == trials
    for name in ("current-model", "pinned-model"):
        assert (bench.folder / f"{name}.jsonl").read_text().count("\n") == trials


def test_a_key_that_the_api_refuses_stops_the_run_and_leaves_nothing(bench):
    bench.use_tasks(*(task(f"t{i}") for i in range(18)))
    bench.api.before = lambda _: Reply({"message": "no"}, status=401)
    done = bench.run(trials=3)
    assert done.code == 2, done
    assert last_line(done).startswith("discovercall: API key: the API refused the key")
    assert sum(line.startswith("discovercall: ") for line in done.err.splitlines()) == 1
    assert "Traceback" not in done.err
    assert not bench.output.exists()
    assert not bench.journal.exists()
    assert 3 <= len(bench.api.requests) <= 8


def test_a_key_that_is_refused_later_fails_trials_only(bench):
    bench.use_tasks(*(task(f"t{i}") for i in range(4)))
    bench.api.before = lambda r: Reply({}, status=401) if r.operation == "call" else None
    done = bench.run(concurrency=1)
    assert done.code == 0, done
    assert [r["error"]["reason_code"] for r in bench.records()] == ["http_401"] * 4


def costs(bench, *amounts):
    """Let each call cost the next amount; None names none."""
    following = iter(amounts)

    def answer(request):
        if request.operation != "call":
            return None
        cost = next(following, None)
        return Reply({"success": True, "result": {"a": 1}} | ({} if cost is None else {"cost": cost}))

    bench.api.before = answer


@pytest.mark.parametrize("first", [(10,), (None, 10)])
def test_calls_of_unknown_cost_still_count_after_resuming(bench, first):
    bench.use_tasks(*(task(f"t{i}") for i in range(6)))
    costs(bench, *first)
    for start in range(3):
        done = bench.run(max_credits=35, concurrency=2, resume=start > 0)
        assert done.code == 3, done
        assert bench.api.count("call") == 3
        assert "Limit: at most 6 billed calls, at most 35 credits\n" in done.err
        assert "3 billed calls (10 credits as far as the API told)" in done.err
    assert bench.run(max_credits=45, concurrency=2, resume=True).code == 3
    assert bench.api.count("call") == 4


def test_a_negative_cost_makes_no_room_by_resuming(bench):
    bench.use_tasks(*(task(f"t{i}") for i in range(6)))
    costs(bench, 10, *[-1000] * 9)
    for start in range(3):
        done = bench.run(max_credits=35, concurrency=1, resume=start > 0)
        assert done.code == 3, done
        assert bench.api.count("call") == 3
    book = bench.command("ledger", str(bench.output)).communicate()[0]
    assert "billed   3 calls of at most 6; 10 credits known of at most 35\n" in book
