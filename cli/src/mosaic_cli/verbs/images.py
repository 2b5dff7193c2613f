"""`images`: the container images of this checkout."""

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from mosaic_cli import option
from mosaic_cli.errors import ValueRefused
from mosaic_cli.images.checkout import (
    CheckoutImage,
    ImageStanding,
    ImageState,
    checkout_images,
    standing,
)
from mosaic_cli.images.engine import build_image
from mosaic_cli.output import emit, out, say
from mosaic_cli.reference import did_you_mean
from mosaic_cli.stack.layout import Layout
from mosaic_cli.wording import age, size
from mosaic_contracts import VERSION

_STYLE = {
    ImageState.READY: "green",
    ImageState.MISSING: "red",
    ImageState.STALE: "yellow",
    ImageState.UNLABELLED: "yellow",
}
_SHOWN_DIGITS = 12
_MEANING = {
    ImageState.STALE: "stale: built from other locks than this checkout's, or of another version",
    ImageState.UNLABELLED: "unlabelled: built by Compose alone, so that nobody knows from which locks",
}


def images(context: typer.Context, json: option.Json = False) -> None:
    """The container images of this checkout: list, build. Without a verb they are listed."""
    if context.invoked_subcommand is None:
        list_images(json)


def list_images(json: option.Json = False) -> None:
    """List the images that compose.yaml builds, whether they are there, and whether they fit this checkout."""
    root = Layout.of_environment().root
    found = standing(root, checkout_images(root), VERSION)
    if json:
        emit([one.plain() for one in found])
        return
    out.print(_table(found))
    for state, meaning in _MEANING.items():
        if any(one.state is state for one in found):
            say(meaning)
    names = [one.image.name for one in found if one.state is not ImageState.READY]
    if names:
        say(f"Build: ./mosaic images build {' '.join(names)}")


def build(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Which; all of them when none is named."),
    ] = None,
    json: option.Json = False,
) -> None:
    """Build images, one after the other, labelled with the version and a digest of their locks.

    The first build of a worker takes minutes; later ones only rebuild what changed.
    """
    root = Layout.of_environment().root
    chosen = _chosen(checkout_images(root), names or [])
    for number, image in enumerate(chosen, 1):
        say(f"[{number}/{len(chosen)}] {image.tag}")
        build_image(root, image.service, image.lock_digest)
    built = standing(root, chosen, VERSION)
    emit([one.plain() for one in built]) if json else out.print(_table(built))


def _chosen(known: list[CheckoutImage], names: list[str]) -> list[CheckoutImage]:
    by_name = {image.name: image for image in known}
    for name in names:
        if name not in by_name:
            raise ValueRefused(
                f"This checkout builds no image called {name!r}. {did_you_mean(name, by_name)}"
            )
    return [by_name[name] for name in names] or known


def _table(found: list[ImageStanding]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("IMAGE", "STATE", "VERSION", "LOCK", "SIZE", "BUILT"):
        table.add_column(heading, justify="right" if heading == "SIZE" else "left", no_wrap=True)
    for one in found:
        table.add_row(
            one.image.name,
            Text(one.state.value, _STYLE[one.state]),
            one.version or "-",
            (one.lock_digest or "-")[:_SHOWN_DIGITS],
            "-" if one.bytes is None else size(one.bytes),
            age(one.created),
        )
    return table
