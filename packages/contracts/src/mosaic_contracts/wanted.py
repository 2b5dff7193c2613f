"""Which event types a reader wants."""

from collections.abc import Sequence

from mosaic_contracts.media_words import ALL_EXTRAS, MEDIA_FAMILY
from mosaic_contracts.wire import TYPE_OF, Extra, Record, event_type, kind_of

_CLASS_OF = {name: record for record, name in TYPE_OF.items()}


class WantedTypes:
    """Event types that a reader wants.

    Attributes:
        kinds: bit `1 << kind` for every kind of record that can be wanted; -1: all.
    """

    def __init__(self, types: Sequence[str] | None) -> None:
        """`types` None: all."""
        self.kinds = -1
        self._types = frozenset(types or ())
        self._classes: frozenset[type] | None = None
        if types is not None:
            # every type that is not one of ours is a namespaced extra
            self._classes = frozenset(_CLASS_OF.get(name, Extra) for name in types)
            self.kinds = sum(1 << kind_of(record) for record in self._classes)

    def pick(self, records: list[Record]) -> list[Record]:
        """Select the records that are wanted.

        Args:
            records: records of a batch.

        Returns:
            Those of the wanted types, in order.
        """
        classes = self._classes
        if classes is None:
            return records
        picked = [record for record in records if type(record) in classes]
        if Extra in classes:
            picked = [record for record in picked if self.has(event_type(record))]
        return picked

    def has(self, name: str) -> bool:
        """Say whether events of a type are wanted.

        Args:
            name: type of an event.

        Returns:
            Whether it is named, or is one of all namespaced types.
        """
        if self._classes is None or name in self._types:
            return True
        if ALL_EXTRAS not in self._types or name in _CLASS_OF:
            return False
        return not name.startswith(MEDIA_FAMILY)
