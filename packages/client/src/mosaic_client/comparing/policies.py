"""A comparison of policies up to its document: finds the actors, has them act, and gathers their returns."""

from dataclasses import dataclass, field
from typing import Any

from mosaic_client.client import Client
from mosaic_client.comparing import returns as acts
from mosaic_client.comparing.actors import ComparedActor, find_actors
from mosaic_client.comparing.errors import NoReturns
from mosaic_client.comparing.evaluating import ActorEvaluation, EvaluationObserver, evaluate_all
from mosaic_contracts.comparisons import ActorsDocument, ComparisonFile


@dataclass
class PolicyComparison:
    """One comparison while it is made, and what came of it.

    Attributes:
        plan: what is compared.
        again: whether earlier evaluations are left out.
        evaluations: of the actors that have no recorded episodes, as far as they were begun.
        left_out: for each actor that has no returns its name and why.
    """

    plan: ComparisonFile
    again: bool = False
    evaluations: list[ActorEvaluation] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def gather(self, client: Client, observer: EvaluationObserver) -> ActorsDocument:
        """Let the actors act, and return their returns.

        Args:
            client: of the stack.
            observer: learns how far it is.

        Returns:
            The document of all actors that have returns.

        Raises:
            RunUnknown: a run does not exist.
            ComparisonRefused: the comparison cannot be made as it was asked for.
            NothingToCompare: a run has no such checkpoint.
            NoReturns: fewer than two actors have returns.
            ClientError: the stack does not answer. Runs that were started go on.
        """
        plan, actors = self.plan, find_actors(client, self.plan)
        to_evaluate = [actor for actor in actors if not actor.is_recorded]
        evaluate_all(
            client,
            to_evaluate,
            plan,
            _options(client, actors),
            observer,
            self.evaluations,
            again=self.again,
        )
        found = [record for actor in actors if (record := self._record(client, actor)) is not None]
        if len(found) < 2:
            why = " ".join(self.left_out)
            raise NoReturns(
                f"Fewer than two actors have returns, so that nothing is compared. {why}".strip()
            )
        notes = [note for record in found for note in record.notes]
        notes += acts.pairing_notes(found) + acts.environment_notes(found)
        return ActorsDocument(
            environment=actors[0].environment,
            actors=[record.returns for record in found],
            score_range=plan.score_range,
            notes=notes,
        )

    def _record(self, client: Client, actor: ComparedActor) -> acts.ActorRecord | None:
        """What an actor did; None: nothing, and `left_out` says why."""
        evaluation = next((each for each in self.evaluations if each.actor is actor), None)
        record: acts.ActorRecord | None
        if evaluation is None:
            record = acts.recorded(client, actor, self.plan)
            first, last = self.plan.seed, self.plan.seed + self.plan.episodes - 1
            problem = f"no complete episode of it has a seed from {first} to {last}."
        else:
            record = acts.evaluated(client, evaluation)
            problem = evaluation.problem
        if record is None or not record.returns.returns:
            self.left_out.append(f"{actor.name} is left out: {problem}")
            return None
        return record


def _options(client: Client, actors: list[ComparedActor]) -> dict[str, Any]:
    """Arguments with which the first actor's environment was made, for random actions."""
    sources = [actor.run.run_id for actor in actors if actor.run is not None]
    configs = (acts.config_of(client, run_id) for run_id in sources)
    arguments = (config.get("environment_arguments") for config in configs)
    return next((each for each in arguments if each), {})
