"""The search language of the run list."""

from typing import Any

import pytest

from mosaic_contracts.run_search import (
    MetricFigures,
    RunFacts,
    SearchError,
    StoredFacts,
    facts_of,
    find_metric,
    find_parameter,
    parse_search,
)

NOW = 1_800_000_000.0
DAY_S = 86_400.0
KNOWN = {
    "learning_rate",
    "policy_lr",
    "gamma",
    "ent_coef",
    "vf_coef",
    "optimizer",
    "anneal",
    "hidden",
}


def run(**changes: Any) -> RunFacts:
    facts = RunFacts(
        run_id="01J0000000ABCDEFGHJKMNPQRS",
        state="failed",
        worker="cleanrl",
        algorithm="ppo",
        environment="CartPole-v1",
        kind="train",
        name="my run 7",
        note="Looks good",
        tags=("ablation", "two words"),
        seed=3,
        parent="01HZ",
        group="01GROUP learning rates",
        cause="out_of_memory",
        record="replay",
        priority=0,
        cpus=2,
        gpus=0,
        created_t=NOW - 1.5 * DAY_S,
        took_s=700.0,
        parameters={
            "learning_rate": 0.001,
            "gamma": 0.99,
            "optimizer": "adam",
            "anneal": True,
            "hidden": "64,64",
        },
    )
    return facts._replace(**changes)


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("", True),
        ("state:failed", True),
        ("state:FAILED", True),
        ("state=failed", True),
        ("state:running,failed", True),
        ("state:running", False),
        ("state!=failed", False),
        ("-state:failed", False),
        ("-state!=failed", True),
        ("state:ended", True),
        ("state:live", False),
        ("tag:ablation", True),
        ("tag:abla", False),
        ("tag:abla*", True),
        ('tag:"two words"', True),
        ("-tag:old", True),
        ("env:CartPole*", True),
        ("environment:cartpole-v?", True),
        ("env:CartPole", False),
        ("algo:ppo", True),
        ("algorithm:dqn", False),
        ("worker:cleanrl kind:train", True),
        ('name:"my run"', True),
        ('name:"my run" seed:4', False),
        ("note:good", True),
        ("id:01j0", True),
        ("id:J0", False),
        ("group:01GROUP", True),
        ("group:rates", True),
        ("cause:out_of_memory", True),
        ("seed:3", True),
        ("seed:1,2,3", True),
        ("seed:1..3", True),
        ("seed:4..", False),
        ("seed:..4", True),
        ("cpus>=2", True),
        ("took>10m", True),
        ("took<1h", True),
        ("took>12m", False),
        ("since:2d", True),
        ("since:1d", False),
        ("until:1d", True),
        ("since:2020-01-01", True),
        ("until:2020-01-01", False),
        ("learning_rate:0.001", True),
        ("learning_rate:1e-3", True),
        ("lr>=1e-3", True),
        ("lr>1e-3", False),
        ("p.gamma<1", True),
        ("gamma:0.9..1", True),
        ("optimizer:adam", True),
        ("optimizer:ad*", True),
        ("optimizer:sgd", False),
        ("optimizer>1", False),
        ("anneal:true", True),
        ("anneal:1", False),
        ('hidden:"64,64"', True),
        ("hidden:64,64", False),
        ("ent_coef>0", False),
        ("-ent_coef>0", True),
        ("my", True),
        ("good", True),
        ('"my run"', True),
        ('"run my"', False),
        ("-dqn", True),
        ("abla", True),
    ],
)
def test_a_record_fits(text: str, fits: bool) -> None:
    test = parse_search(text).with_parameters(KNOWN).record_test(NOW)

    assert test(run()) is fits


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("best>400", True),
        ("best>=500 last<100", True),
        ("best_return:500", True),
        ("mean>1", False),
        ("-mean>1", True),
        ("steps>100k", True),
        ("steps>=1M", False),
        ("episodes:10..20", True),
        ("m.entropy<0.5", True),
        ("m.entropy.best>1", True),
        ("m.entropy.max>1", True),
        ("m.entropy.mean<0", False),
        ("m.entropy.min<0", True),
        ("m.other>0", False),
        ("-m.other>0", True),
        ("m.entropy>-1", True),
    ],
)
def test_what_is_stored_fits(text: str, fits: bool) -> None:
    stored = StoredFacts(steps=200_000, episodes=15, last=50.0, best=500.0, mean=None)
    figures = {"entropy": MetricFigures(last=0.1, min=-0.5, max=2.0, mean=0.7)}

    assert parse_search(text).store_test()(stored, figures) is fits


def test_values_that_are_no_numbers_fit_no_comparison() -> None:
    stored = StoredFacts(best=float("nan"))

    assert not parse_search("best>0").store_test()(stored, {})
    assert not parse_search("best<0").store_test()(stored, {})


@pytest.mark.parametrize(
    ("text", "word", "reason"),
    [
        ("tag:a state:failedd", "state:failedd", "Did you mean failed?"),
        ("state>failed", "state>failed", "write state:failed"),
        ("best>high", "best>high", "'high' is no number"),
        ("best>high tag:a", "best>high", "'high' is no number"),
        ("seed:one", "seed:one", "'one' is no number"),
        ("lr>fast", "lr>fast", "'fast' is no number"),
        ("took>soon", "took>soon", "'soon' is no duration"),
        ("since:yesterday", "since:yesterday", "2026-01-31"),
        ("since>2d", "since>2d", "since:2d"),
        ("tag: x", "tag:", "a value is missing"),
        ("best>1,2", "best>1,2", "takes one value"),
        ('name:"my run', 'name:"my run', "a quotation mark is missing"),
        ('tag:a "my run', '"my run', "a quotation mark is missing"),
        ("m.>1", "m.>1", "a name is missing"),
    ],
)
def test_an_error_points_at_the_word(text: str, word: str, reason: str) -> None:
    with pytest.raises(SearchError) as caught:
        parse_search(text)

    assert text[caught.value.start : caught.value.end] == word
    assert reason in caught.value.reason
    assert caught.value.pointed.splitlines()[1].strip() == "^" * len(word)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("gama>0.9", "Did you mean gamma"),
        ("stat:failed", "Did you mean state"),
        ("coef>0", "several parameters end so: ent_coef, vf_coef"),
        ("http://x", 'write "http://x"'),
    ],
)
def test_an_unknown_parameter_is_an_error(text: str, reason: str) -> None:
    with pytest.raises(SearchError) as caught:
        parse_search(text).with_parameters(KNOWN)

    assert reason in caught.value.reason


def test_a_stack_without_parameters_has_no_wrong_ones() -> None:
    assert not parse_search("lr>1").with_parameters(()).record_test(NOW)(run(parameters={}))


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("learning_rate", ["learning_rate"]),
        ("lr", ["learning_rate"]),
        ("rate", ["learning_rate"]),
        ("coef", ["ent_coef", "vf_coef"]),
        ("ent", ["ent_coef"]),
        ("earning_rate", []),
    ],
)
def test_a_parameter_is_found_by_name_short_name_or_ending(word: str, found: list[str]) -> None:
    assert find_parameter(word, KNOWN) == found


def test_a_metric_is_found_by_name_or_ending() -> None:
    known = ["charts/episodic_return", "eval/episodic_return", "losses/entropy", "entropy"]

    assert find_metric("episodic_return", known) == [
        "charts/episodic_return",
        "eval/episodic_return",
    ]
    assert find_metric("entropy", known) == ["entropy"]


def test_parts_of_a_search_need_different_sources() -> None:
    search = parse_search("state:failed best>1 lr>0 m.losses/entropy.mean>0")

    assert [term.key for term in search.of_record.terms] == ["state", "lr"]
    assert [term.key for term in search.of_store.terms] == ["best", "losses/entropy"]
    assert search.metrics == {"losses/entropy"}


def test_facts_of_a_record_of_an_older_version() -> None:
    record = {
        "run_id": "01J",
        "name": "n",
        "state": "queued",
        "created_at": "2026-01-01T00:00:00Z",
        "spec": {"worker": "w", "algorithm": "a", "environment": "e", "parameters": {"x": 1}},
    }

    facts = facts_of(record)

    assert (facts.seed, facts.group, facts.parameters) == (1, "", {"x": 1})
