"""Opens the run or the episode of the command line, as soon as the stack's list of runs is here."""

from PyQt6.QtCore import QObject

from mosaic_contracts.runs import RunView
from mosaic_contracts.spec import RunKind
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.program.arguments import Arguments
from mosaic_gui.state.agents import Mode
from mosaic_gui.state.language import tr
from mosaic_gui.views.arrangement import HUMAN
from mosaic_gui.views.main_window import PLAY, RUNS


class FirstView(QObject):
    """Acts once, with the first list; later sessions leave the window as it is."""

    def __init__(self, client: DesktopClient, arguments: Arguments) -> None:
        super().__init__(client)
        self._client, self._arguments = client, arguments
        self._is_done = arguments.run is None and arguments.replay is None
        if arguments.play:
            client.agents.set_mode(Mode.HUMAN)
            client.window.show_page(PLAY)
        if not self._is_done:
            client.stack.opened.connect(self._on_opened)

    def _on_opened(self, session: StreamSession) -> None:
        session.runs_read.connect(self._on_runs)

    def _on_runs(self) -> None:
        if self._is_done:
            return
        self._is_done = True
        client, replay = self._client, self._arguments.replay
        run_id = replay.run_id if replay is not None else self._arguments.run or ""
        if run_id not in client.store.runs:
            client.window.show_page(RUNS)
            client.say(tr("This stack has no run {run}.", run=run_id))
        elif replay is not None:
            client.navigator.replay(replay)
        else:
            self._open(run_id)
            if self._arguments.watch:
                client.stage.set_on(True)
                if self._arguments.env:
                    client.stage.changed.connect(self._choose_env)
                    client.stage.frame_changed.connect(self._choose_env)

    def _open(self, run_id: str) -> None:
        """Open a run; its environment alone is large where it is watched or played."""
        client = self._client
        if not self._arguments.watch:
            client.navigator.open_runs([run_id])
        elif _is_under_way(client.store.runs[run_id]):
            client.navigator.open_play(run_id)
            client.play.capture_soon()
        else:
            client.navigator.open_runs([run_id])
            client.layouts.apply(HUMAN)

    def _choose_env(self) -> None:
        """Show the wanted sub-environment once the run has said how many it has."""
        stage, env = self._client.stage, self._arguments.env
        if stage.run_id == self._arguments.run and stage.num_envs > env:
            stage.changed.disconnect(self._choose_env)
            stage.frame_changed.disconnect(self._choose_env)
            stage.set_env(env)


def _is_under_way(run: RunView) -> bool:
    """Whether a run is a play that has not ended."""
    return run.spec.kind is RunKind.PLAY and not run.state.is_final
