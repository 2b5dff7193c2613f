"""The verbs that the scheduler serves are those of the contracts."""

from pathlib import Path

from mosaic_contracts.services import NoRequest
from mosaic_contracts.verbs import VERBS
from mosaic_scheduler.app import SchedulerApp
from mosaic_scheduler.settings import SchedulerSettings


async def test_every_verb_of_the_table_is_served_with_its_model(tmp_path: Path) -> None:
    """Others find the request's model in `mosaic_contracts.verbs`, so both sides must agree."""
    app = SchedulerApp(SchedulerSettings(home=tmp_path))
    served = {name: model or NoRequest for name, (model, _) in app._verbs.items()}
    assert served == {verb.name: verb.request for verb in VERBS if verb.service == "scheduler"}
