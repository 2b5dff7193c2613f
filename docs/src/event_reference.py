"""The page of the event types, from the models of `mosaic_contracts.events`."""

from typing import get_args

from field_texts import describe_fields
from schema_text import fields_table

from mosaic_contracts.events import Envelope, KnownEvent

_HEAD = """# Events

An event is one thing that happened in a run. `./mosaic events` and `export`, the [HTTP API](http.md) and the
[Python client](python_client.md) return events, and a [worker](../worker_author.md) records them. Every event has the
fields of the envelope and the fields of its type.

Actions and observations are numbers or lists, as the spaces in the `config` event say. Floats that JSON has no number
for are the words `"NaN"`, `"Infinity"` and `"-Infinity"`.
"""
_EXTRA = """## Namespaced events

A type with a dot in its name belongs to a worker or an extension: `bdi.*` and `policy.*` ([agents that can be
read](../interfaces.md#agents-that-can-be-read)), `tracking.run` (the run's page at a tracker), `tracking.upload` (what
has become of its upload), `program.*`
([any program](../any_program.md#lines-that-count)). MOSAIC stores, streams and exports them without knowing them.
"""


def events_page() -> str:
    """Return the page as Markdown."""
    envelope = describe_fields("Envelope", Envelope.model_json_schema())
    shared = set(envelope["properties"])
    lines = [_HEAD, "## Envelope", "", *fields_table(envelope)]
    for model in get_args(get_args(KnownEvent)[0]):
        schema = describe_fields(model.__name__, model.model_json_schema())
        own = {
            name: field
            for name, field in schema["properties"].items()
            if name not in shared and name != "type"
        }
        lines += [f"## `{schema['properties']['type']['const']}`", "", schema["description"], ""]
        lines += fields_table({**schema, "properties": own})
    return "\n".join([*lines, _EXTRA])
