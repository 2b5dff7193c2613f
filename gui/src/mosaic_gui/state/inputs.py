"""Texts that were typed into fields."""

from dataclasses import dataclass, field

from mosaic_gui.state.form_field import FormField, FormGroup, Value
from mosaic_gui.state.language import tr


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
                value = form_field.parse(self.text(name))
            except ValueError as error:
                found[name] = str(error)
            else:
                if form_field.required and value is None:
                    found[name] = tr("a value is needed")
        return found

    def changed(self) -> dict[str, Value]:
        """Values that differ from their default; those that cannot be read are left out."""
        values = {}
        for name, text in self.texts.items():
            form_field = self.fields.get(name)
            if form_field is None:
                continue
            try:
                value = form_field.parse(text)
            except ValueError:
                continue
            if value != form_field.default:
                values[name] = value
        return values
