"""The process of the client: Qt's application, signals, and the handler of unexpected errors."""

import logging
import os
import signal
import sys
from pathlib import Path
from types import TracebackType

from PyQt6.QtCore import QSize, Qt, QTimer
from PyQt6.QtWidgets import QApplication, QWidget

from mosaic_gui.app.client import DesktopClient
from mosaic_gui.app.parts import KEPT_IN
from mosaic_gui.controllers.preferences import PreferenceStore
from mosaic_gui.errors import StackUnknown
from mosaic_gui.net.location import data_root
from mosaic_gui.program.arguments import Arguments
from mosaic_gui.program.first_view import FirstView
from mosaic_gui.program.languages import find_languages, name_of_program, names, speak
from mosaic_gui.program.text_size import is_too_large, text_size_of
from mosaic_gui.program.warm_up import WarmUp
from mosaic_gui.state.language import tr, use_program
from mosaic_gui.state.settings import PLAIN_SIZE, SYSTEM
from mosaic_gui.theme.apply import apply_theme, load_fonts, tokens_for
from mosaic_gui.theme.icon import window_icon
from mosaic_gui.theme.tokens import DARK, THEMES
from mosaic_gui.views.main_window import LEAST

SIGNAL_LOOK_MS = 200
FIRST_SIZE = (1280, 800)
FRAME = QSize(4, 40)
"""Largest size of a desktop's title bar and borders."""
_log = logging.getLogger("mosaic_gui")


def run_program(arguments: Arguments) -> int:
    """Open the window, or take the pictures; returns when it is closed."""
    home = data_root()
    # pictures show the client with default settings
    kept = None if arguments.screenshot else home / KEPT_IN
    with text_size_of(kept):
        app = QApplication([sys.argv[0]])
    app.setApplicationName("MOSAIC")
    app.setDesktopFileName("mosaic")
    app.setQuitOnLastWindowClosed(False)  # `closed` says when the user closed the window
    app.setWindowIcon(window_icon(DARK.accent))
    load_fonts()
    use_program(name_of_program(os.environ))
    spoken = find_languages(kept)
    speak(app, SYSTEM, spoken)  # what is wrong with the settings is reported in some language, too
    preferences = PreferenceStore(kept)
    problem = speak(app, preferences.settings.language, spoken)
    preferences.problems += [problem] if problem else []
    fixed = THEMES.get(arguments.theme or "")
    apply_theme(app, fixed or tokens_for(preferences.settings.theme))
    client = DesktopClient(home, preferences, names(spoken))
    client.theme.fixed = fixed
    if arguments.size is not None or not client.layouts.restore_geometry():
        client.window.resize(*(arguments.size or FIRST_SIZE))
        if arguments.size is None and not fits(client.window):
            client.window.setWindowState(Qt.WindowState.WindowMaximized)
    _offer_plain_size(client)
    sys.excepthook = _report
    signal_turns = _handle_signals(app)
    warm_up = WarmUp(client)
    warm_up.start()
    client.window.show()
    if arguments.screenshot is not None:
        return _take_screenshots(app, client, arguments, arguments.screenshot)
    client.closed.connect(app.quit)
    FirstView(client, arguments)
    _connect(client, arguments)
    code = app.exec()
    signal_turns.stop()
    warm_up.stop()
    client.close()
    return code


def fits(window: QWidget) -> bool:
    """Whether a window fits on the screen together with its frame."""
    screen = window.screen()
    room = screen.availableSize() - FRAME if screen is not None else window.size()
    return window.width() <= room.width() and window.height() <= room.height()


def _offer_plain_size(client: DesktopClient) -> None:
    """Offer the plain text size where the window is larger than the screen with the chosen one."""
    preferences, screen = client.preferences, client.window.screen()
    size = preferences.settings.text_size
    if size == PLAIN_SIZE or screen is None or not is_too_large(LEAST, screen.availableSize()):
        return
    client.say(
        tr("This screen is too small for the text size {size} %.", size=size),
        tr("100 % from the next start"),
        lambda: preferences.change("text_size", PLAIN_SIZE),
    )


def _connect(client: DesktopClient, arguments: Arguments) -> None:
    """Connect to the stack of the command line, else of the environment, else of this machine."""
    url = arguments.url or os.environ.get("MOSAIC_URL")
    if url:
        named, believed = (os.environ.get(f"MOSAIC_{what}_FILE") for what in ("TOKEN", "CA"))
        client.stack.connect_named(
            url,
            arguments.token_file or (Path(named) if named else None),
            arguments.ca_file or (Path(believed) if believed else None),
        )
    else:
        client.stack.connect_local()


def _take_screenshots(
    app: QApplication, client: DesktopClient, arguments: Arguments, folder: Path
) -> int:
    from mosaic_gui.program.screenshot import Screenshots

    pictures = Screenshots(client, folder, client)
    pictures.done.connect(app.exit)
    _connect(client, arguments)
    if client.stack.session is None:
        raise StackUnknown(
            f"There is nothing to take pictures of. {client.connection.connection.reason} "
            "`./mosaic up -d` starts a stack."
        )
    pictures.start(arguments.run)
    code = app.exec()
    client.close()
    for path in pictures.taken:
        print(path)
    if pictures.late:
        names = ", ".join(pictures.late)
        print(f"mosaic: {names}: the view did not fill in time.", file=sys.stderr)
    return code


def _handle_signals(app: QApplication) -> QTimer:
    """Let Ctrl-C end the program: a timer gives Python turns in which it handles signals."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: app.quit())
    timer = QTimer()
    timer.timeout.connect(lambda: None)
    timer.start(SIGNAL_LOOK_MS)
    return timer


def _report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Log an unexpected error with its traceback; the window stays."""
    _log.critical("an error that should not be", exc_info=(kind, error, trace))
