"""`images`: the container images of this checkout."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from mosaic_cli import option
from mosaic_cli.errors import ImageMissing, ImagePullFailed, ValueRefused
from mosaic_cli.images.checkout import (
    CheckoutImage,
    ImageStanding,
    ImageState,
    checkout_images,
    labels_of,
    standing,
)
from mosaic_cli.images.engine import build_image, compose_config, inspect_images
from mosaic_cli.images.own import build_own, forget, manifest_in_image, read_manifest, register
from mosaic_cli.images.pin import foreign_images, pinned, write_pins
from mosaic_cli.images.sif import (
    ARCHIVE_SUFFIX,
    SIF_SUFFIX,
    build_command,
    export_archive,
    export_sif,
)
from mosaic_cli.output import emit, out, say
from mosaic_cli.reference import did_you_mean
from mosaic_cli.stack.layout import Layout
from mosaic_cli.wording import age, plural, size
from mosaic_contracts import VERSION

_STYLE = {
    ImageState.READY: "green",
    ImageState.MISSING: "red",
    ImageState.STALE: "yellow",
    ImageState.UNLABELLED: "yellow",
}
_SHOWN_DIGITS = 12
_WORKER_PREFIX = "worker_"
"""Begins the names of workers' images; `export` also takes a name without it."""
_MEANING = {
    ImageState.STALE: "stale: what is named was different when it was built",
    ImageState.UNLABELLED: "unlabelled: built by Compose alone, so that nobody knows from what",
}


def images(context: typer.Context, json: option.Json = False) -> None:
    """Manage the container images of this checkout. Without a verb they are listed."""
    if context.invoked_subcommand is None:
        list_images(json)


def list_images(json: option.Json = False) -> None:
    """List the images that compose.yaml builds, whether they exist, and whether they match this checkout."""
    root = Layout.of_environment().root
    found = standing(root, checkout_images(root, compose_config(root)), VERSION)
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
        typer.Argument(metavar="[NAME]...", help="Images to build; default: all."),
    ] = None,
    json: option.Json = False,
) -> None:
    """Build images, one after the other, labelled with what they are built from: version, locks, sources, base.

    The first build of a worker takes minutes; later ones only rebuild what changed.
    """
    root = Layout.of_environment().root
    config = compose_config(root)
    chosen = _chosen(checkout_images(root, config), names or [])
    for number, image in enumerate(chosen, 1):
        say(f"[{number}/{len(chosen)}] {image.tag}")
        labels = labels_of(image, inspect_images(root, [image.base]))
        build_image(root, config, image.service, image.lock_digest, labels)
    built = standing(root, chosen, VERSION)
    emit([one.plain() for one in built]) if json else out.print(_table(built))


def pin(json: option.Json = False) -> None:
    """Pin the images that are not built here to digests: bases of the builds, and the broker.

    Each tag is pulled, and .env next to compose.yaml then names its current digest, until the next `pin`.
    """
    root = Layout.of_environment().root
    pins, refusals = [], []
    for variable, name in foreign_images(compose_config(root)).items():
        try:
            pins.append(pinned(root, variable, name))
        except ImagePullFailed as error:
            refusals.append(str(error))
    if pins:
        path = write_pins(root, pins)
        say(
            f"{path}: {plural(len(pins), 'image')} named by digest. Build again: ./mosaic images build"
        )
    if json:
        emit({each.variable: each.name for each in pins})
    else:
        for each in pins:
            out.print(f"{each.variable}={each.name}", markup=False, soft_wrap=True)
    if refusals:
        raise ImagePullFailed("\n".join(refusals))


def add(
    folder: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", help="The worker's folder, which contains worker.toml."),
    ],
    json: option.Json = False,
) -> None:
    """Build the image of a worker of your own and register it with the stack in containers, which must be up.

    A folder without a Dockerfile is copied onto localhost/mosaic/workerkit, and its requirements.txt is installed.
    """
    root, folder = Layout.of_environment().root, folder.absolute()
    given = read_manifest(folder)
    name = given["id"]
    image = given.get("image") or f"localhost/mosaic-own/{name}:latest"
    build_own(root, folder, image)
    register(root, name, manifest_in_image(given, image))
    if json:
        emit({"worker": name, "image": image})
    else:
        say(
            f"{name} runs in {image}. `./mosaic --url URL --token-file FILE describe {name}` asks it what it can do."
        )


def remove(
    worker: Annotated[str, typer.Argument(metavar="WORKER", help="Id of a worker of your own.")],
    json: option.Json = False,
) -> None:
    """Remove a worker of your own from the stack in containers. Its image and its runs stay."""
    forget(Layout.of_environment().root, worker)
    if json:
        emit({"worker": worker})
    else:
        say(f"{worker} is not registered any more.")


def export(
    worker: Annotated[
        str,
        typer.Argument(
            metavar="WORKER",
            help="Worker whose image is written, such as cleanrl; or the tag of an image of a worker of your own.",
        ),
    ],
    sif: Annotated[
        bool,
        typer.Option(
            "--sif",
            help="Make an Apptainer image (SIF), for a cluster. It needs Apptainer on this machine; without it the "
            "archive is written, with the command that makes the SIF.",
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="File to write; default: the image's name with .tar or .sif. A name that ends with .sif means --sif.",
        ),
    ] = None,
    json: option.Json = False,
) -> None:
    """Write a worker's image to a file: Docker's archive, or an Apptainer image (SIF) for a Slurm cluster.

    A file of that name is replaced once the new one is complete. See docs/cluster.md for runs that use it.
    """
    root = Layout.of_environment().root
    tag, image_id = _built(root, worker)
    is_sif = sif or (output is not None and output.suffix == SIF_SUFFIX)
    name = tag.rsplit("/", 1)[-1].partition(":")[0]
    target = output or Path(name + (SIF_SUFFIX if is_sif else ARCHIVE_SUFFIX))
    made = (export_sif if is_sif else export_archive)(root, tag, image_id, target)
    if json:
        emit(made.plain())
        return
    say(f"{made.path}: {tag}, {size(made.bytes)}.")
    if not is_sif:
        say(f"Make a SIF of it: {build_command(target, target.with_suffix(SIF_SUFFIX))}")


def _built(root: Path, worker: str) -> tuple[str, str]:
    """Tag and id of a worker's image. Raises ImageMissing: the engine does not have it."""
    if "/" in worker:
        known = inspect_images(root, [worker])
        if worker not in known:
            raise ImageMissing(
                f"The engine has no image {worker}. `./mosaic images add FOLDER` builds the image of a worker of "
                "your own."
            )
        return worker, str(known[worker]["Id"])
    images = checkout_images(root, compose_config(root))
    names = {image.name for image in images}
    name = _WORKER_PREFIX + worker if _WORKER_PREFIX + worker in names else worker
    (one,) = standing(root, _chosen(images, [name]), VERSION)
    if one.state is ImageState.MISSING:
        raise ImageMissing(
            f"The image of {name} is not built. Build it: ./mosaic images build {name}"
        )
    if one.state is not ImageState.READY:
        say(f"{name} is {_state(one)}. Build it again first: ./mosaic images build {name}")
    return one.image.tag, str(inspect_images(root, [one.image.tag])[one.image.tag]["Id"])


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
    for heading in ("IMAGE", "STATE", "VERSION", "LOCK", "CONTAINS", "SIZE", "BUILT"):
        table.add_column(heading, justify="right" if heading == "SIZE" else "left", no_wrap=True)
    for one in found:
        table.add_row(
            one.image.name,
            Text(_state(one), _STYLE[one.state]),
            one.version or "-",
            (one.lock_digest or "-")[:_SHOWN_DIGITS],
            _contents(one),
            "-" if one.bytes is None else size(one.bytes),
            age(one.created),
        )
    return table


def _state(one: ImageStanding) -> str:
    return f"{one.state.value}: {', '.join(one.stale)}" if one.stale else one.state.value


def _contents(one: ImageStanding) -> str:
    """What there is in an image that another build of it may lack: `torch cpu; box2d mujoco`."""
    torch, bundles = one.contents.get("torch"), one.contents.get("bundles")
    return (
        "; ".join(part for part in (f"torch {torch}" if torch else "", bundles or "") if part)
        or "-"
    )
