"""The end of a program's standard input, which stays open as long as somebody waits for the program."""

import _thread
import os
import signal
import sys
import threading


def interrupt_at_end_of_input() -> None:
    """Interrupt the main thread, as Ctrl-C does, when standard input is closed."""
    threading.Thread(target=_watch, name="input", daemon=True).start()


def _watch() -> None:
    while os.read(sys.stdin.fileno(), 1024):
        pass
    if sys.platform == "win32":
        _thread.interrupt_main()
    else:  # also where the main thread waits in a system call
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
