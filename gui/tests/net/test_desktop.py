"""Notifications over a real session bus, with a notification service of the test."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SERVICE = """
import json, sys
from jeepney import DBusAddress, HeaderFields, MessageType, new_method_return, new_signal
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import open_dbus_connection

NAME = "org.freedesktop.Notifications"
bus = open_dbus_connection("SESSION")
bus.send_and_get_reply(message_bus.RequestName(NAME))
print("ready", flush=True)
while True:
    message = bus.receive()
    fields = message.header.fields
    if message.header.message_type is MessageType.method_call and fields[HeaderFields.member] == "Notify":
        print(json.dumps([fields[HeaderFields.signature], *message.body[:6]]), flush=True)
        bus.send(new_method_return(message, "u", (7,)))
        sender = DBusAddress("/org/freedesktop/Notifications", bus_name=NAME, interface=NAME)
        bus.send(new_signal(sender, "ActionInvoked", "us", (7, "open")))
"""
CLIENT = """
import sys
from PyQt6.QtCore import QCoreApplication
from mosaic_gui.net.desktop import DesktopBus

app = QCoreApplication([])
bus = DesktopBus()
bus.opened.connect(lambda key: (print("opened", key), app.quit()))
bus.failed.connect(lambda *notice: (print("failed", *notice), app.quit()))
bus.show_progress(0.5)
bus.notify("01RUN", "ppo CartPole", "last return <475>")
app.exec()
"""

pytestmark = pytest.mark.skipif(
    shutil.which("dbus-run-session") is None, reason="needs dbus-run-session"
)


def on_a_bus(tmp_path: Path, script: str) -> str:
    """Run a shell script on a session bus of its own."""
    environ = {name: os.environ[name] for name in os.environ if not name.startswith("DBUS_")}
    done = subprocess.run(
        ["dbus-run-session", "--", "sh", "-ec", script, sys.executable],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
        cwd=tmp_path,
        env={**environ, "PYTHON": sys.executable},
    )
    return done.stdout


def test_a_notification_is_shown_and_its_button_opens_the_run(tmp_path: Path) -> None:
    """The service gets the title, the text without markup, and Open; its answer leads to the run."""
    (tmp_path / "service.py").write_text(SERVICE)
    (tmp_path / "client.py").write_text(CLIENT)
    said = on_a_bus(
        tmp_path,
        'mkfifo ready; "$PYTHON" service.py > ready & service=$!; exec 3< ready; read word <&3;'
        ' "$PYTHON" client.py; read line <&3; echo "$line"; kill $service',
    )
    opened, line = said.strip().splitlines()
    assert opened == "opened 01RUN"
    signature, program, _, _, title, text, actions = json.loads(line)
    assert signature == "susssasa{sv}i"
    assert (program, title, text) == ("MOSAIC", "ppo CartPole", "last return &lt;475&gt;")
    assert actions == ["default", "Open", "open", "Open"]


def test_without_a_service_the_notification_comes_back(tmp_path: Path) -> None:
    """So that a tray icon can show it."""
    (tmp_path / "client.py").write_text(CLIENT)
    said = on_a_bus(tmp_path, '"$PYTHON" client.py')
    assert said.strip() == "failed 01RUN ppo CartPole last return <475>"
