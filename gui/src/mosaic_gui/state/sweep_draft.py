"""A draft of a sweep: which parameters vary and how, its settings, and the specification made from them."""

from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from mosaic_contracts.fault import fault_place, fault_text
from mosaic_contracts.sweeps import SweepSpec
from mosaic_gui.state.edit_history import EditHistory, FormSnapshot
from mosaic_gui.state.form_field import FieldKind, FormField, Value
from mosaic_gui.state.inputs import Inputs
from mosaic_gui.state.language import tr
from mosaic_gui.state.number_entry import read_number, read_whole
from mosaic_gui.state.sweep_ranges import RANGE, VALUES, can_range, can_vary, first_texts
from mosaic_gui.state.sweep_settings import (
    PATHS,
    is_used,
    parse_seeds,
    setting_groups,
    settings_of,
    texts_of,
)

_NOT_OF_TRIALS = ("kind", "parent", "consent", "name", "hold", "seed")
"""Fields of a run's spec that are not those of a sweep's trials."""
_MARK = "\0"
"""Between the name of a parameter and that of its field, which no name contains."""


@dataclass
class SweepDraft:
    """Texts as they were typed. `arguments`: the fields of the algorithm's parameters."""

    arguments: dict[str, FormField]
    settings: Inputs = field(default_factory=lambda: Inputs(setting_groups()))
    varied: dict[str, str] = field(default_factory=dict)
    """Texts of the varied parameters, by parameter and field."""
    history: EditHistory = field(default_factory=lambda: EditHistory(FormSnapshot("", {}, {})))

    @property
    def names(self) -> list[str]:
        """Varied parameters in the order of the schema."""
        chosen = {key.partition(_MARK)[0] for key in self.varied}
        return [name for name in self.arguments if name in chosen]

    @property
    def variable(self) -> list[FormField]:
        """Parameters that can be varied."""
        return [one for one in self.arguments.values() if can_vary(one)]

    def text(self, name: str, part: str) -> str:
        """Text of a field of a varied parameter."""
        return self.varied.get(f"{name}{_MARK}{part}", "")

    def set_text(self, name: str, part: str, text: str) -> None:
        """Set the text of a field of a varied parameter."""
        self.varied[f"{name}{_MARK}{part}"] = text

    def words_of(self, name: str) -> str:
        """A varied parameter in a line, e.g. `gamma: 0.9 – 0.999`."""
        label = self.arguments[name].label
        if self.text(name, "kind") == VALUES:
            return f"{label}: {self.text(name, 'choices')}"
        words = f"{label}: {self.text(name, 'low')} – {self.text(name, 'high')}"
        scale = tr("log")
        return f"{words} ({scale})" if self.text(name, "log") == "True" else words

    def vary(self, name: str, on: bool) -> None:
        """Vary a parameter over a range that fits it, or let it be."""
        self.varied = {
            key: text for key, text in self.varied.items() if key.partition(_MARK)[0] != name
        }
        if on:
            for part, text in first_texts(self.arguments[name]).items():
                self.set_text(name, part, text)

    def snapshot(self) -> FormSnapshot:
        """Everything typed."""
        return FormSnapshot("", dict(self.settings.texts), dict(self.varied))

    def restore(self, snapshot: FormSnapshot) -> None:
        """Restore a snapshot."""
        self.settings.texts, self.varied = dict(snapshot.run), dict(snapshot.arguments)

    def faults(self) -> dict[str, str]:
        """Faults that the client finds itself, by place in the SweepSpec."""
        texts = self.setting_texts
        found = {
            PATHS[name]: words
            for name, words in self.settings.faults().items()
            if is_used(name, texts)
        }
        try:
            parse_seeds(texts["seeds"])
        except ValueError as error:
            found["seeds"] = str(error)
        for name in self.names:
            found |= self._faults_of(name)
        if not self.names:
            found["parameters"] = tr("choose a parameter that varies")
        return found

    def spec(self, run: dict[str, Any]) -> dict[str, Any]:
        """The specification. Raises ValueError: a field cannot be read. `run`: spec of the form `Train new`."""
        own = {name: value for name, value in run.items() if name not in _NOT_OF_TRIALS}
        if run.get("seed") is not None:
            own["seed"] = run["seed"]
        fixed = own.get("parameters") or {}
        own["parameters"] = {name: fixed[name] for name in fixed if name not in self.names}
        dimensions = {name: self._dimension(name) for name in self.names}
        settings = settings_of(self.settings.changed(), self.setting_texts)
        return {"run": own, "parameters": dimensions, **settings}

    def fill_from(self, spec: dict[str, Any]) -> list[str]:
        """Take over a SweepSpec as plain data; return its parameters that this algorithm does not have."""
        self.settings.texts = texts_of(spec)
        self.varied, lost = {}, []
        for name, dimension in (spec.get("parameters") or {}).items():
            if name in self.arguments:
                self._fill_dimension(name, dimension)
            else:
                lost.append(str(name))
        return lost

    @property
    def setting_texts(self) -> dict[str, str]:
        """Text of each setting."""
        return {name: self.settings.text(name) for name in PATHS}

    def _fill_dimension(self, name: str, dimension: dict[str, Any]) -> None:
        form_field = self.arguments[name]
        self.vary(name, True)
        if dimension.get("type") == "categorical":
            texts = [_choice_text(choice) for choice in dimension.get("choices", ())]
            self.set_text(name, "kind", VALUES)
            self.set_text(name, "choices", ", ".join(texts))
        else:
            self.set_text(name, "kind", RANGE)
            self.set_text(name, "log", str(bool(dimension.get("log"))))
            for part in ("low", "high", "step"):
                value = dimension.get(part)
                self.set_text(name, part, "" if value is None else form_field.text(value))
        when = dimension.get("when") or {}
        self.set_text(name, "when", str(when.get("parameter") or ""))
        self.set_text(
            name, "when_values", ", ".join(_choice_text(v) for v in when.get("values", ()))
        )

    def _faults_of(self, name: str) -> dict[str, str]:
        parts = ("choices",) if self.text(name, "kind") == VALUES else ("low", "high", "step")
        found = {}
        for part in (*parts, "when_values"):
            try:
                self._value(name, part)
            except ValueError as error:
                where = "when" if part == "when_values" else part
                found[f"parameters.{name}.{where}"] = str(error)
        return found

    def _value(self, name: str, part: str) -> Any:
        """The value of a field of a varied parameter. Raises ValueError: what is wrong with it."""
        form_field, text = self.arguments[name], self.text(name, part).strip()
        match part:
            case "choices":
                values = [_choice(form_field, one) for one in _parts(text)]
                if not values:
                    raise ValueError(tr("values are needed, separated by commas"))
                return values
            case "when_values":
                other = self.text(name, "when")
                if not other:
                    return []
                values = [_choice(self.arguments[other], one) for one in _parts(text)]
                if not values:
                    raise ValueError(tr("name the values of {parameter}", parameter=other))
                return values
            case "step" if not text or self.text(name, "log") == "True":
                return None
            case "step":
                return read_whole(text) if _is_whole(form_field) else read_number(text)
        return form_field.parse(text)

    def _dimension(self, name: str) -> dict[str, Any]:
        form_field = self.arguments[name]
        if self.text(name, "kind") == VALUES:
            made: dict[str, Any] = {"type": "categorical", "choices": self._value(name, "choices")}
        else:
            made = {
                "type": "int" if _is_whole(form_field) else "float",
                "low": self._value(name, "low"),
                "high": self._value(name, "high"),
            }
            if self.text(name, "log") == "True":
                made["log"] = True
            elif (step := self._value(name, "step")) is not None:
                made["step"] = step
        if other := self.text(name, "when"):
            made["when"] = {"parameter": other, "values": self._value(name, "when_values")}
        return made


def faults_of_spec(spec: dict[str, Any]) -> dict[str, str]:
    """What the contract refuses in a specification, by place."""
    try:
        SweepSpec.model_validate(spec)
    except ValidationError as error:
        return {_place(fault_place(one)): fault_text(one) for one in error.errors()}
    return {}


def _place(where: str) -> str:
    """A place without the kinds of dimensions, which pydantic names in it: `parameters.gamma.low`."""
    return ".".join(
        part for part in where.split(".") if part not in ("float", "int", "categorical")
    )


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _choice(form_field: FormField, text: str) -> Value:
    if text == "none" and (form_field.nullable or None in form_field.choices):
        return None
    if form_field.kind is FieldKind.BOOLEAN:
        if text.lower() not in ("true", "false"):
            raise ValueError(tr("one of {values}", values="True, False"))
        return text.lower() == "true"
    return form_field.parse(text)


def _choice_text(value: Any) -> str:
    return "none" if value is None else str(value)


def _is_whole(form_field: FormField) -> bool:
    return can_range(form_field) and form_field.kind is FieldKind.INTEGER
