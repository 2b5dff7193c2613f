"""What a run did: metrics, curves, episodes, steps, events, and what was set aside. From the store alone."""

from typing import Annotated, Literal

import msgspec
from fastapi import Path, Query
from pydantic import Field, model_validator
from starlette.responses import Response

from mosaic_contracts.curve_set import MAX_CURVES
from mosaic_contracts.media import MAX_MEDIA_VALUES, MediaKind, MediaName, MediaValues
from mosaic_contracts.media_words import MAX_MEDIA_NAME
from mosaic_contracts.metric_figures import MetricColumns, MetricFigureQuery, MetricNames
from mosaic_contracts.models import UserModel
from mosaic_contracts.runs import Curve, EpisodePage, EventPage, MetricName
from mosaic_contracts.stored import encode_page
from mosaic_gateway import telemetry_queries as queries
from mosaic_gateway.api.deps import JsonBody, KnownRun, ServicesDep, json_reply
from mosaic_gateway.api.openapi import body_of
from mosaic_gateway.api.routes import Routes

router = Routes(tags=["telemetry"])
MSGPACK = "application/msgpack"

Index = Annotated[int, Path(ge=0, le=2**53)]
Step = Annotated[int, Field(ge=-(2**53), le=2**53)]


class CurveQuery(UserModel):
    """Query of a curve: buckets over a range of steps, or the last points."""

    name: Annotated[str, Field(min_length=1, max_length=500)]
    buckets: Annotated[int, Field(ge=1, le=10_000)] = 500
    from_step: Step | None = None
    to_step: Step | None = None
    last: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """So many newest points instead of buckets."""

    @model_validator(mode="after")
    def _one_way(self) -> "CurveQuery":
        if self.last is not None and self.model_fields_set & {"buckets", "from_step", "to_step"}:
            raise ValueError("last goes without buckets, from_step and to_step")
        return self


class CurvesQuery(UserModel):
    """Query of several curves; none: their names alone."""

    name: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=500)]], Field(max_length=MAX_CURVES)
    ] = Field(default_factory=list)
    buckets: Annotated[int, Field(ge=1, le=10_000)] = 500
    from_step: Step | None = None
    to_step: Step | None = None


class MediaQuery(UserModel):
    """Query of the texts, histograms or images of one name."""

    kind: MediaKind
    name: Annotated[str, Field(min_length=1, max_length=MAX_MEDIA_NAME)]
    most: Annotated[int, Field(ge=1, le=MAX_MEDIA_VALUES)] = 200
    """Maximum number of values; of more, those are spread evenly, with the first and the newest."""


class EpisodeQuery(UserModel):
    """Query of the episode list."""

    cursor: str | None = None
    limit: Annotated[int, Field(ge=1, le=1000)] = 200
    order: Literal["begun", "newest"] = "begun"


class BatchQuery(UserModel):
    """Query of the stored batches."""

    cursor: Annotated[str, Field(max_length=10_000)] = ""
    """What the page before gave; empty: from the start."""
    types: str | None = None
    """Comma separated; none: all types."""

    @property
    def type_names(self) -> list[str] | None:
        """The types as a list; None: all."""
        return [name for name in self.types.split(",") if name] if self.types else None


class EventQuery(BatchQuery):
    """Query of the event list."""

    limit: Annotated[int, Field(ge=1, le=10_000)] = 1000


@router.get("/runs/{run_id}/metrics", response_model=list[MetricName])
async def list_metrics(services: ServicesDep, run_id: KnownRun) -> Response:
    """Names of a run's metrics, each with its newest point."""
    return json_reply(await services.history.read(lambda r: r.metric_names(run_id), []))


@router.get("/metrics", response_model=MetricNames)
async def known_metrics(services: ServicesDep) -> Response:
    """Names of the metrics that the newest runs have."""
    nothing: list[str] = []
    names = await services.history.read(lambda r: r.known_metrics(newest=True), nothing)
    return json_reply(MetricNames(names=sorted(names)))


@router.post(
    "/metrics/figures", response_model=MetricColumns, openapi_extra=body_of(MetricFigureQuery)
)
async def metric_figures(services: ServicesDep, query: JsonBody) -> Response:
    """Newest, lowest, highest and mean values of metrics in many runs at once; nothing is changed."""
    return json_reply(await queries.metric_columns(services.history, query))


@router.get("/runs/{run_id}/curve", response_model=Curve)
async def get_curve(
    services: ServicesDep, run_id: KnownRun, query: Annotated[CurveQuery, Query()]
) -> Response:
    """One metric, reduced to buckets that keep spikes and NaN, or its last points."""
    return json_reply(
        await queries.curve(
            services.history,
            run_id,
            query.name,
            buckets=query.buckets,
            steps=(query.from_step, query.to_step),
            last=query.last,
        )
    )


@router.get(
    "/runs/{run_id}/curves",
    response_class=Response,
    responses={200: {"content": {MSGPACK: {}}, "description": "A CurveSet, see its model."}},
)
async def get_curves(
    services: ServicesDep, run_id: KnownRun, query: Annotated[CurvesQuery, Query()]
) -> Response:
    """Several curves of one moment as columns, with the cursor from which to go on live."""
    found = await queries.curves(
        services.history,
        run_id,
        query.name,
        buckets=query.buckets,
        steps=(query.from_step, query.to_step),
    )
    return Response(msgspec.msgpack.encode(found.model_dump()), media_type=MSGPACK)


@router.get("/runs/{run_id}/media", response_model=list[MediaName])
async def list_media(services: ServicesDep, run_id: KnownRun) -> Response:
    """Names of a run's texts, histograms and images."""
    return json_reply(await services.history.read(lambda r: r.media_names(run_id), []))


@router.get("/runs/{run_id}/media/values", response_model=MediaValues)
async def get_media(
    services: ServicesDep, run_id: KnownRun, query: Annotated[MediaQuery, Query()]
) -> Response:
    """Texts, histograms or images of one name, by step. The file of an image is an artifact of the run."""
    absent = MediaValues(kind=query.kind, name=query.name, count=0)
    found = await services.history.read(
        lambda r: r.media_values(run_id, query.kind, query.name, query.most), absent
    )
    return json_reply(found)


@router.get("/runs/{run_id}/episodes", response_model=EpisodePage)
async def list_episodes(
    services: ServicesDep, run_id: KnownRun, query: Annotated[EpisodeQuery, Query()]
) -> Response:
    """Episodes in the order in which they began."""
    return json_reply(
        await queries.episodes(services.history, run_id, query.cursor, query.limit, query.order)
    )


@router.get("/runs/{run_id}/episodes/{attempt}/{env}/{episode}/steps", response_model=EventPage)
async def list_steps(
    services: ServicesDep, run_id: KnownRun, attempt: Index, env: Index, episode: Index
) -> Response:
    """The start and all recorded steps of one episode."""
    return json_reply(await queries.steps(services.history, run_id, attempt, env, episode))


@router.get("/runs/{run_id}/events", response_model=EventPage)
async def list_events(
    services: ServicesDep, run_id: KnownRun, query: Annotated[EventQuery, Query()]
) -> Response:
    """Events in order for each (attempt, source); a follower passes the cursor back."""
    page = await queries.events(
        services.history, run_id, query.cursor, query.limit, query.type_names
    )
    return json_reply(page)


@router.get(
    "/runs/{run_id}/batches",
    response_class=Response,
    responses={200: {"content": {MSGPACK: {}}, "description": "A BatchPage, see its model."}},
)
async def list_batches(
    services: ServicesDep, run_id: KnownRun, query: Annotated[BatchQuery, Query()]
) -> Response:
    """Stored batches as the worker encoded them, for exports; the client decodes them."""
    page = await queries.batches(services.history, run_id, query.cursor, query.type_names)
    return Response(encode_page(page), media_type=MSGPACK)


@router.get("/runs/{run_id}/quarantine", response_model=list[dict[str, object]])
async def list_quarantine(services: ServicesDep, run_id: KnownRun) -> Response:
    """Batches of this run that did not validate, with the reason."""
    return json_reply(await services.history.read(lambda r: r.quarantine(run_id), []))
