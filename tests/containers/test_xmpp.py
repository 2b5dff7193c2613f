"""The XMPP server in its container, under any user and any name, and who can reach what of it."""

import json
import time

import pytest
from containers.compose_stack import WORKER_IMAGE, ComposeStack, docker, engine_answers, image_of
from stack_under_test import until

pytestmark = [
    pytest.mark.timeout(1200),
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
    print(urllib.request.urlopen(request, timeout=60).status)
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


LOGS_IN = """
import base64, json, os, socket, ssl, sys
if sys.argv[1] == "describe":
    algorithm = {"id": "a", "title": "A", "parameters": {}, "services": ["xmpp"]}
    print(json.dumps({"worker": "talks", "version": "1", "title": "Talks", "record_levels": ["replay"],
                      "algorithms": [algorithm], "environments": []}))
    sys.exit()
access = json.load(open(os.environ["MOSAIC_XMPP_FILE"]))
(account,) = access["accounts"]
user = account["jid"].split("@")[0]
word = base64.b64encode(f"\\0{user}\\0{account['password']}".encode()).decode()
header = (f"<?xml version='1.0'?><stream:stream to='{access['domain']}' xmlns='jabber:client' "
          "xmlns:stream='http://etherx.jabber.org/streams' version='1.0'>")
def say(stream, text, end):
    stream.sendall(text.encode())
    said = ""
    while end not in said:
        said += stream.recv(4096).decode()
    return said
plain = socket.create_connection((access["host"], access["port"]), 10)
say(plain, header, "</stream:features>")
say(plain, "<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>", "<proceed")
context = ssl.create_default_context(cafile=access["ca_file"])
secure = context.wrap_socket(plain, server_hostname=access["domain"])
say(secure, header, "</stream:features>")
auth = f"<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>{word}</auth>"
print("logged in:", say(secure, auth, ">"))
"""
"""A worker of a few lines that only logs in. It records nothing, so that its run fails, with these last words."""


def ask(compose: ComposeStack, network: str, code: str, *words: str) -> str:
    """Run Python in a container on a network of the project, with its volume at /home."""
    where = ["--network", f"{compose.project}_{network}", "-v", f"{compose.project}_home:/home:ro"]
    argv = [
        "run",
        "--rm",
        "--user",
        "10001:10001",
        *where,
        "localhost/mosaic/scheduler:0.1.0",
        "python",
    ]
    return docker(*argv, "-c", code, *words).strip()


def register(compose: ComposeStack, user: str) -> str:
    """Status of an attempt to make an account, from where the scheduler is."""
    account = json.dumps({"user": user, "host": "xmpp", "password": "pw"})
    return ask(compose, "control", CALL, "register", account)


def test_runs_reach_the_server_and_not_its_api(compose: ComposeStack) -> None:
    """From the network of the runs only the agents' port answers; the scheduler's network has both."""
    (inspected,) = json.loads(docker("inspect", compose.container("xmpp")))
    networks = inspected["NetworkSettings"]["Networks"]
    address = {name.rpartition("_")[2]: net["IPAddress"] for name, net in networks.items()}
    doors = ["xmpp:5222", f"{address['control']}:5280", f"{address['workers']}:5280"]
    assert json.loads(ask(compose, "workers", REACH, *doors)) == [True, False, False]
    assert json.loads(ask(compose, "control", REACH, *doors)) == [True, True, False]
    assert inspected["NetworkSettings"]["Ports"] in ({}, {"5222/tcp": None})


def test_an_agent_logs_in_from_its_runs_container(compose: ComposeStack) -> None:
    """A run that needs XMPP is given an account and a certificate in its container, and both are good there."""
    command = json.dumps(["{python}", "-c", LOGS_IN])
    manifest = f'id = "talks"\ntitle = "Talks"\nimage = "{WORKER_IMAGE}"\ncommand = {command}\n'
    write = "cat > workers.d/talks.toml"
    compose.compose("exec", "-T", "scheduler", "sh", "-c", write, given=manifest)
    submitted = compose.submit(worker="talks", algorithm="a", environment="E-v0")
    run = compose.wait_final(submitted.run_id)
    assert run.end is not None
    assert run.end.cause == "no_events", run.end
    assert any("logged in: <success" in line for line in run.end.last_lines), run.end


def test_any_user_on_a_read_only_root(compose: ComposeStack) -> None:
    """A uid of no account, no capabilities, a read-only root: healthy, and a stop ends it cleanly in seconds."""
    hardened = ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
    whoever = ["--user", "4242:4242", "--tmpfs", f"{HOME}:uid=4242,gid=4242,mode=0700"]
    container = docker(
        "run", "-d", *hardened, *whoever, image_of(compose.container("xmpp"))
    ).strip()
    try:
        until(lambda: health(container) == "healthy", "it is healthy", 60)
        began = time.monotonic()
        docker("stop", "--time", "30", container)
        assert time.monotonic() - began < 25  # a second or two; a kill would come after 30
        assert docker("inspect", "-f", "{{.State.ExitCode}}", container).strip() == "0"
    finally:
        docker("rm", "-f", container)


def test_no_key_is_baked_into_the_image(compose: ComposeStack) -> None:
    """What every copy of the image has holds no private key."""
    look = "grep -rlsE 'BEGIN ([A-Z]+ )?PRIVATE KEY' /etc /opt /var/lib || true"
    image = image_of(compose.container("xmpp"))
    found = docker("run", "--rm", "--user", "0:0", "--entrypoint", "sh", image, "-c", look)
    assert found.split() == []


def test_an_account_outlives_its_container(compose: ComposeStack) -> None:
    """A second `up` changes nothing; a new container, under a new name, knows the accounts of the old one."""
    assert register(compose, "survivor") == "200"
    first = compose.container("xmpp")
    compose.compose("up", "-d", "--wait", "xmpp")
    assert compose.container("xmpp") == first
    compose.compose("rm", "-f", "-s", "xmpp")
    argv = [
        "run",
        "-d",
        "--name",
        f"{compose.project}-another",
        "--no-deps",
        "--use-aliases",
        "xmpp",
    ]
    another = compose.compose(*argv).strip()
    until(lambda: health(another) == "healthy", "the other container is healthy", 60)
    assert register(compose, "survivor") == "409"
    docker("rm", "-f", another)
    compose.compose("up", "-d", "--wait", "xmpp")


def health(container: str) -> str:
    """What its health check says."""
    return docker("inspect", "-f", "{{.State.Health.Status}}", container).strip()
