"""The verb `sync` of a worker whose environment has wandb."""

import os
import re
import shutil
import sys
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

from mosaic_base.atomic import replace_file
from mosaic_base.wandb_log import LogUnreadable
from mosaic_contracts.sync_source import SyncSource
from mosaic_contracts.syncs import SYNC_RESULT_FILE, SYNC_SOCKET, FeedPage
from mosaic_contracts.tracking import WANDB, WANDB_SECRET, TrackedRun
from mosaic_workerkit.entry import TrainContext
from mosaic_workerkit.errors import RunRefused
from mosaic_workerkit.listener import SocketListener
from mosaic_workerkit.sync.feed import FeedServer, RunFeed
from mosaic_workerkit.sync.stored_run import ReceivedEvents, write_offline
from mosaic_workerkit.sync.unsent import leave_out_sent
from mosaic_workerkit.sync.upload import netrc_for, private_variables, upload

FEED_IDLE_S = 300.0
"""Seconds without anything from the gateway after which a sync ends. A gateway that starts again goes on."""
_NOTE = "sync"
_TICK_S = 0.5
_OWN_DIR = "wandb"
_NETRC = "netrc"
_PAGE_PATH = re.compile(r"/(?P<entity>[^/]+)/(?P<project>[^/]+)/runs/(?P<id>[^/?#]+)$")


def can_send() -> bool:
    """Report whether wandb is installed in this environment."""
    return find_spec("wandb") is not None


def send(context: TrainContext) -> None:
    """Send the run that the spec names to W&B, until it is sent or a stop is requested.

    Args:
        context: of the worker's `sync`.

    Raises:
        RunRefused: the spec names no run, wandb or the key is missing, or the run was not sent completely.
    """
    source = context.spec.sync
    if source is None:
        raise RunRefused("A run of kind sync needs the field `sync`: the run to send.")
    if not can_send():
        raise RunRefused(
            "wandb is not installed in this environment: `./mosaic sync worker_cleanrl --bundle wandb` installs it."
        )
    key_file = _key_file()
    key = key_file.read_text(encoding="utf-8").strip()
    context.record_config({}, {}, sync=source.model_dump())
    own = context.run_dir / _OWN_DIR
    own.mkdir(mode=0o700, exist_ok=True)
    for name in [name for name in os.environ if name.startswith("WANDB_")]:
        del os.environ[name]  # a key or mode of the stack's own surroundings
    os.environ.update(private_variables(own))
    os.environ.update(_proxies(source))
    context.telemetry.note(_NOTE, "The run is being read.")
    with closing(SocketListener(context.run_dir / SYNC_SOCKET)) as listener:
        feed = RunFeed(context.run_dir)
        with FeedServer(listener, feed):
            last = _wait(context, feed)
    if last is None:
        return
    folders = _folders(source, feed, last, own)
    context.telemetry.note(_NOTE, f"Sending to {source.address}.")
    folders = [folder for folder in folders if _prepare(context, source, folder, key)]
    if not folders:
        raise RunRefused("No W&B folder of the run can be read; the log says what is wrong.")
    netrc = key_file.with_name(_NETRC)  # deleted with the key, when the run ends
    replace_file(netrc, netrc_for(source.address, key), mode=0o600)
    url = upload(
        source,
        folders,
        netrc,
        lambda: context.stop.requested,
        lambda words: context.telemetry.note(_NOTE, words),
    )
    if context.stop.requested:
        return
    context.telemetry.note(_NOTE, None)
    tracked = TrackedRun(
        tracker=WANDB,
        mode="offline",
        url=url,
        folder=_sent_folder(feed, folders),
        name=last.about.name if last.about is not None else None,
        **_names_in(url),
    )
    result = context.run_dir / SYNC_RESULT_FILE
    replace_file(result, tracked.model_dump_json(), mode=0o600, durable=True)
    for copies in (feed.files, own):
        shutil.rmtree(copies, ignore_errors=True)


def _key_file() -> Path:
    path = os.environ.get(f"MOSAIC_SECRET_{WANDB_SECRET}_FILE")
    if path is None:
        raise RunRefused(f"The sync was given no key: `./mosaic secret set {WANDB_SECRET}`.")
    return Path(path)


def _proxies(source: SyncSource) -> dict[str, str]:
    """Proxies that this sync names itself; else those of its environment, the stack's, hold."""
    given = {"HTTP_PROXY": source.http_proxy, "HTTPS_PROXY": source.https_proxy}
    return {
        spelt: address
        for name, address in given.items()
        if address
        for spelt in (name, name.lower())
    }


def _wait(context: TrainContext, feed: RunFeed) -> FeedPage | None:
    """Wait until everything came. None: a stop was requested."""
    while (last := feed.wait(_TICK_S)) is None:
        if context.stop.requested:
            return None
        if feed.idle_s() > FEED_IDLE_S:
            raise RunRefused(
                f"The gateway sent nothing for {FEED_IDLE_S:g} s. `./mosaic status` shows its state; "
                "`./mosaic wandb sync` starts again."
            )
    return last


def _folders(source: SyncSource, feed: RunFeed, last: FeedPage, own: Path) -> list[Path]:
    """The W&B folders to send: the run's own, or one that is made of what the store has."""
    if source.way == "folder":
        found = sorted({place.parent for place in feed.files.rglob("*.wandb")})
        if not found:
            raise RunRefused("The run's W&B folders are gone.")
        return found
    if last.about is None:
        raise RunRefused("The gateway did not say what the run is.")
    stored = ReceivedEvents(source, last.about, feed.events(), last.files, feed.files)
    return [write_offline(stored, own)]


def _prepare(context: TrainContext, source: SyncSource, folder: Path, key: str) -> bool:
    """Make a folder ready to be sent. Return whether it can be; one that is broken holds up no other."""
    try:
        rows = leave_out_sent(source, folder, key)
    except LogUnreadable as error:
        words = f"The W&B folder {folder.name} is left out: {error}."
        context.telemetry.log("warning", words)
        print(words, file=sys.stderr)  # noqa: T201 - the worker's log
        return False
    if rows:
        words = f"W&B has {rows} rows of {folder.name} already; the rest is sent."
        context.telemetry.log("info", words)
    return True


def _names_in(url: str | None) -> dict[str, str]:
    """Entity, project and id of a run at W&B, by the address of its page."""
    found = _PAGE_PATH.search(url or "")
    return {} if found is None else found.groupdict()


def _sent_folder(feed: RunFeed, folders: list[Path]) -> str | None:
    """The newest W&B folder by its path in the run's folder; None: the run has none."""
    newest = folders[-1]
    return str(newest.relative_to(feed.files)) if newest.is_relative_to(feed.files) else None
