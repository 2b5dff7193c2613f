"""`wandb sync`: which runs are sent."""

import pytest
from tests.gateway_double import RUN, RUN_ID, Answers, Mosaic

SECOND_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAW"
PLAN = {
    "way": "store",
    "address": "https://wandb.test",
    "project": "mosaic",
    "entity": None,
    "files": 0,
    "file_bytes": 0,
}


@pytest.mark.parametrize("named", [(RUN_ID, SECOND_ID), (RUN_ID, SECOND_ID, RUN_ID.lower())])
def test_runs_of_one_name_are_each_sent_once(
    mosaic: Mosaic, answers: Answers, named: tuple[str, ...]
) -> None:
    """Runs may share a name, and one run may be named twice."""
    for run_id in (RUN_ID, SECOND_ID):
        path = f"/api/v1/runs/{run_id}"
        sync = {**RUN, "state": "queued", "spec": {**RUN["spec"], "parent": run_id}}
        answers |= {
            path: {**RUN, "run_id": run_id},
            f"{path}/syncs/check": {**PLAN, "run_id": run_id, "digest": f"of {run_id}"},
            f"{path}/syncs": sync,
        }
    code, _, said = mosaic("wandb", "sync", *named, "--yes")
    sent = [asked for asked in answers.asked if asked.path.endswith("/syncs")]
    assert code == 0, said
    assert [asked.body["consent"] for asked in sent] == [f"of {RUN_ID}", f"of {SECOND_ID}"]
