from typing import Any

from tests.specimen import run_id, worker

from mosaic_contracts.services import WorkerEntry
from mosaic_contracts.spec import RunSpec
from mosaic_gui.state.draft import SpecDraft
from mosaic_gui.state.tracking import hindrance

MARKED: dict[str, dict[str, Any]] = {
    "wandb_entity": {"type": ["string", "null"], "default": None, "x-tracking": "entity"},
    "track": {"type": "boolean", "default": False, "x-tracking": "track", "x-group": "run"},
    "project": {"type": "string", "default": "mosaic", "x-tracking": "project"},
    "group": {"type": ["string", "null"], "default": None, "x-tracking": "group"},
    "offline": {"type": "boolean", "default": False, "x-tracking": "offline"},
    "proxy": {"type": ["string", "null"], "default": None, "x-tracking": "https_proxy"},
}


def tracked_worker(*offers: str) -> WorkerEntry:
    """The specimen with parameters of a tracker, which it offers or not."""
    made = worker()
    description = made.description
    assert description is not None
    description.tracking = list(offers)
    for algorithm in description.algorithms:
        properties = algorithm.parameters["properties"]
        algorithm.parameters = {"type": "object", "properties": properties | MARKED}
    return made


def draft(*offers: str, **typed: str) -> SpecDraft:
    """A form in which this was typed."""
    entry = tracked_worker(*offers)
    made = SpecDraft.of(entry, entry.description.algorithms[0])  # type: ignore[union-attr]
    made.arguments.texts.update(typed)
    return made


def test_the_section_is_made_of_what_the_schema_marks() -> None:
    """Its fields stand together in one order, in whatever groups the worker has them, and nowhere else."""
    made = draft("wandb")
    assert made.tracking is not None
    names = ["track", "project", "wandb_entity", "group", "proxy"]
    assert [f.name for f in made.tracking.group.fields] == names
    assert made.tracking.group.fields[0].choices == ("off", "offline", "online")
    assert made.tracking.group.hindrance == ""
    others = [f.name for g in made.arguments.groups[:-1] for f in g.fields]
    assert not set(others) & set(names)


def test_a_tracked_run_names_its_secret_and_asks_for_the_way_out() -> None:
    """The key is named and not written; the internet is asked for, which takes consent."""
    spec = draft("wandb", track="online", project="p", proxy="http://proxy:8080").spec()
    assert RunSpec.model_validate(spec).secrets == ["WANDB_API_KEY"]
    assert spec["internet"] is True
    given = {"track": True, "project": "p", "proxy": "http://proxy:8080"}
    assert spec["parameters"] == given


def test_a_copy_asks_for_the_way_out_by_its_tracker_alone() -> None:
    """Switching tracking off in a copy of a tracked run takes the internet with it."""
    copy = draft("wandb")
    copy.fill_from(draft("wandb", track="online").spec())
    assert copy.spec()["internet"] is True
    copy.arguments.texts["track"] = "off"
    assert "internet" not in copy.spec()


def test_an_offline_run_needs_neither() -> None:
    """What stays in the run's folder takes no key and no internet."""
    made = draft("wandb", track="offline", proxy="http://proxy:8080")
    spec = made.spec()
    assert made.unused == {"proxy"}
    assert "secrets" not in spec
    assert "internet" not in spec
    assert spec["parameters"] == {"track": True, "offline": True}
    copy = draft("wandb")
    copy.fill_from(spec, run_id(0), "before")
    assert copy.arguments.text("track") == "offline"
    assert copy.origin is not None
    assert copy.origin.lost == ()
    assert copy.spec()["parameters"] == spec["parameters"]


def test_what_is_not_tracked_says_nothing_of_it() -> None:
    """A project without `track` is not sent, and the other arguments are."""
    spec = draft("wandb", project="p", gamma="0.5").spec()
    assert spec["parameters"] == {"gamma": 0.5}
    assert "secrets" not in spec


def test_a_worker_that_offers_no_tracker_gets_none() -> None:
    """The section says why; a copy of a tracked run does not bring it back in."""
    made = draft(track="online", gamma="0.5")
    assert made.tracking is not None
    assert "does not offer W&B" in made.tracking.group.hindrance
    assert made.spec()["parameters"] == {"gamma": 0.5}


def test_a_bundle_that_is_missing_is_named() -> None:
    """A worker that has W&B as a bundle gets the command that adds it."""
    entry = tracked_worker()
    with_bundle = {"bundles": ["wandb"], "room": "worker_a"}
    entry = entry.model_copy(update={"manifest": entry.manifest.model_copy(update=with_bundle)})
    assert "./mosaic sync worker_a --bundle wandb adds it" in hindrance(entry)


def test_a_proxys_password_is_not_taken_into_a_spec() -> None:
    """A spec is kept: an address with a name and password is a fault and stays out of it, as one that is none."""
    made = draft("wandb", track="online", proxy="http://me:pw@vpn:3128")
    assert "MOSAIC_HTTPS_PROXY" in made.faults()["parameters.proxy"]
    assert "pw" not in str(made.spec())
    made.arguments.texts["proxy"] = "vpn:3128"
    assert made.faults() == {"parameters.proxy": "must be http://HOST:PORT"}


def test_the_mode_is_written_as_the_worker_has_it() -> None:
    """By a parameter of its own, if the worker has one; without one of either kind there is no offline."""
    entry = tracked_worker("wandb")
    description = entry.description
    assert description is not None
    algorithm = description.algorithms[0]
    properties = {k: v for k, v in algorithm.parameters["properties"].items() if k != "offline"}
    without = algorithm.model_copy(update={"parameters": {"properties": properties}})
    made = SpecDraft.of(entry, without)
    assert made.tracking is not None
    assert made.tracking.group.fields[0].choices == ("off", "online")
    mode = {"enum": ["online", "offline"], "default": "online", "x-tracking": "mode"}
    with_mode = {"properties": properties | {"wandb_mode": mode}}
    made = SpecDraft.of(entry, algorithm.model_copy(update={"parameters": with_mode}))
    made.arguments.texts["track"] = "offline"
    assert made.spec()["parameters"] == {"track": True, "wandb_mode": "offline"}
    made.arguments.texts["track"] = "online"
    assert made.spec()["parameters"] == {"track": True}
