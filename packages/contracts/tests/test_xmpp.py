"""What a run's agents get to log in with."""

import json

from pydantic import SecretStr

from mosaic_contracts.xmpp import XmppAccess, XmppAccount

ACCESS = XmppAccess(
    host="127.0.0.1",
    port=5222,
    domain="localhost",
    ca_file="/run/ca.pem",
    accounts=[XmppAccount(name="agent-1", jid="x-1@localhost", password=SecretStr("geheim"))],
)


def test_a_password_is_in_the_file_and_in_no_words() -> None:
    """The file that a run gets holds the password; what a log or a message makes of the model does not."""
    text = ACCESS.model_dump_json()
    assert json.loads(text)["accounts"][0]["password"] == "geheim"
    assert "geheim" not in f"{ACCESS!r} {ACCESS} {ACCESS.model_dump()}"
    read = XmppAccess.model_validate_json(text)
    assert read.accounts[0].password.get_secret_value() == "geheim"
