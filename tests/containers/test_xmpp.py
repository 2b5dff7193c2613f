"""The XMPP server in its container: whoever runs it, whatever it is called, and who can reach what of it."""

import json
import time
from collections.abc import Iterator

import pytest
from containers.compose_stack import (
    BUILD_S,
    ComposeStack,
    docker,
    engine_answers,
    image_of,
    project_name,
)
from stack_under_test import until

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(not engine_answers(), reason="no container engine answers here"),
]
HOME = "/var/lib/mosaic/xmpp"
CALL = """
import base64, json, sys, urllib.error, urllib.request
facts = json.load(open("/home/xmpp/server.json"))
secret = open("/home/xmpp/conf/api.password").read().strip()
word = base64.b64encode(f"{facts['user']}:{secret}".encode()).decode()
request = urllib.request.Request(
    f"{facts['api_url']}/{sys.argv[1]}", sys.argv[2].encode(),
    {"Authorization": f"Basic {word}", "Content-Type": "application/json"},
)
try:
    print(urllib.request.urlopen(request, timeout=10).status)
except urllib.error.HTTPError as error:
    print(error.code)
"""
REACH = """
import json, socket, sys
def reach(host, port):
    try:
        socket.create_connection((host, port), 2).close()
        return True
    except OSError:
        return False
print(json.dumps([reach(host, int(port)) for host, port in (word.split(":") for word in sys.argv[1:])]))
"""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComposeStack]:
    """The compose project with its XMPP server and what that needs; nothing of it is left afterwards."""
    project = ComposeStack(project_name(tmp_path_factory.mktemp("xmpp")))
    project.compose("build", "-q", "init", "xmpp", within_s=BUILD_S)
    try:
        project.compose("up", "-d", "--wait", "xmpp")
        yield project
    finally:
        project.destroy()


def ask(stack: ComposeStack, network: str, code: str, *words: str) -> str:
    """Run Python in a container on a network of the project, with its volume at /home."""
    where = ["--network", f"{stack.project}_{network}", "-v", f"{stack.project}_home:/home:ro"]
    argv = ["run", "--rm", "--user", "10001:10001", *where, "mosaic/scheduler:0.1.0", "python"]
    return docker(*argv, "-c", code, *words).strip()


def register(stack: ComposeStack, user: str) -> str:
    """Status of an attempt to make an account, from where the scheduler is."""
    account = json.dumps({"user": user, "host": "xmpp", "password": "pw"})
    return ask(stack, "control", CALL, "register", account)


def test_runs_reach_the_server_and_not_its_api(stack: ComposeStack) -> None:
    """From the network of the runs only the agents' port answers; the scheduler's network has both."""
    (inspected,) = json.loads(docker("inspect", stack.container("xmpp")))
    networks = inspected["NetworkSettings"]["Networks"]
    address = {name.rpartition("_")[2]: net["IPAddress"] for name, net in networks.items()}
    doors = ["xmpp:5222", f"{address['control']}:5280", f"{address['workers']}:5280"]
    assert json.loads(ask(stack, "workers", REACH, *doors)) == [True, False, False]
    assert json.loads(ask(stack, "control", REACH, *doors)) == [True, True, False]
    assert inspected["NetworkSettings"]["Ports"] in ({}, {"5222/tcp": None})


def test_any_user_on_a_read_only_root(stack: ComposeStack) -> None:
    """A uid of no account, no capabilities, a read-only root: healthy, and a stop ends it cleanly in seconds."""
    hardened = ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
    whoever = ["--user", "4242:4242", "--tmpfs", f"{HOME}:uid=4242,gid=4242,mode=0700"]
    container = docker("run", "-d", *hardened, *whoever, image_of(stack.container("xmpp"))).strip()
    try:
        until(lambda: health(container) == "healthy", "it is healthy", 60)
        began = time.monotonic()
        docker("stop", "--time", "30", container)
        assert time.monotonic() - began < 15  # a second or two; a kill would come after 30
        assert docker("inspect", "-f", "{{.State.ExitCode}}", container).strip() == "0"
    finally:
        docker("rm", "-f", container)


def test_no_key_is_baked_into_the_image(stack: ComposeStack) -> None:
    """What every copy of the image has holds no private key."""
    look = "grep -rlsE 'BEGIN ([A-Z]+ )?PRIVATE KEY' /etc /opt /var/lib || true"
    image = image_of(stack.container("xmpp"))
    found = docker("run", "--rm", "--user", "0:0", "--entrypoint", "sh", image, "-c", look)
    assert found.split() == []


def test_an_account_outlives_its_container(stack: ComposeStack) -> None:
    """A second `up` changes nothing; a new container, under a new name, knows the accounts of the old one."""
    assert register(stack, "survivor") == "200"
    first = stack.container("xmpp")
    stack.compose("up", "-d", "--wait", "xmpp")
    assert stack.container("xmpp") == first
    stack.compose("rm", "-f", "-s", "xmpp")
    argv = ["run", "-d", "--name", f"{stack.project}-another", "--no-deps", "--use-aliases", "xmpp"]
    another = stack.compose(*argv).strip()
    until(lambda: health(another) == "healthy", "the other container is healthy", 60)
    assert register(stack, "survivor") == "409"
    docker("rm", "-f", another)


def health(container: str) -> str:
    """What its health check says."""
    return docker("inspect", "-f", "{{.State.Health.Status}}", container).strip()
