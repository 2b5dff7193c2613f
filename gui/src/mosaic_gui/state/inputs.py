"""Texts that were typed into fields."""

from dataclasses import dataclass, field

from mosaic_gui.state.form_field import FormField, FormGroup, Value
from mosaic_gui.state.language import tr
from mosaic_gui.state.value_list import read_values


@dataclass
class Inputs:
    """Texts by field as they were typed; an absent field has its default."""

    groups: tuple[FormGroup, ...] = ()
    texts: dict[str, str] = field(default_factory=dict)

    @property
    def fields(self) -> dict[str, FormField]:
        return {f.name: f for group in self.groups for f in group.fields}

    def text(self, name: str) -> str:
        """The text of a field."""
        form_field = self.fields[name]
        return self.texts.get(name, form_field.text(form_field.default))

    def faults(self) -> dict[str, str]:
        """What is wrong, by field."""
        found = {}
        for name, form_field in self.fields.items():
            try:
                values = read_values(form_field, self.text(name))
            except ValueError as error:
                found[name] = str(error)
            else:
                if form_field.required and None in values:
                    found[name] = tr("a value is needed")
        return found

    def changed(self) -> dict[str, Value]:
        """Values that differ from their default, of a list its first; those that cannot be read are left out."""
        known = self.fields
        return {
            name: values[0]
            for name, values in self._read().items()
            if _is_other(known[name], values)
        }

    def is_changed(self, form_field: FormField) -> bool:
        """Whether one of the fields has another value than its default, or several."""
        text = self.texts.get(form_field.name)
        if text is None:
            return False
        try:
            return _is_other(form_field, read_values(form_field, text))
        except ValueError:
            return False

    def lists(self) -> dict[str, list[Value]]:
        """The values of each field that has several."""
        return {name: values for name, values in self._read().items() if len(values) > 1}

    def _read(self) -> dict[str, list[Value]]:
        """The values of all fields that were typed into and can be read."""
        found, known = {}, self.fields
        for name, text in self.texts.items():
            if name not in known:
                continue
            try:
                found[name] = read_values(known[name], text)
            except ValueError:
                continue
        return found


def _is_other(form_field: FormField, values: list[Value]) -> bool:
    return len(values) > 1 or values[0] != form_field.default
