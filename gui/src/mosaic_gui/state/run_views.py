"""Views of the run list: columns, order, search and grouping under a name."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

ViewName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=60)]


class ColumnPlace(BaseModel):
    """A column that is shown."""

    model_config = ConfigDict(extra="allow")

    key: str
    """As `Column.key` or `AddedColumn.key`."""
    width: int = 0
    """Pixels; 0: as the column has it at first."""
    pinned: bool = False


class ListArrangement(BaseModel):
    """How the list is shown."""

    model_config = ConfigDict(extra="allow")

    columns: list[ColumnPlace] = Field(default_factory=list)
    """From left to right; empty: those of a first start."""
    sort: str = "created"
    """Key of the column."""
    descending: bool = True
    search: str = ""
    states: str = "all"
    """One of the choices next to the search."""
    grouped_by: str = ""
    """Key of a column; empty: by the groups that started the runs."""
    flat: bool = False
    """Whether runs of groups are listed one by one."""


class SavedListView(BaseModel):
    """An arrangement with its name."""

    model_config = ConfigDict(extra="allow")

    name: ViewName
    arrangement: ListArrangement = Field(default_factory=ListArrangement)


class RunListViews(BaseModel):
    """All saved views, and how the list was shown last."""

    model_config = ConfigDict(extra="allow")

    views: list[SavedListView] = Field(default_factory=list)
    default: str = ""
    """Name of the view with which the window starts; empty: as the list was shown last."""
    last: ListArrangement = Field(default_factory=ListArrangement)

    def find(self, name: str) -> SavedListView | None:
        """The view of a name."""
        return next((view for view in self.views if view.name == name), None)

    def save(self, name: str, arrangement: ListArrangement) -> None:
        """Save a view; one of the same name is replaced."""
        known = self.find(name)
        if known is None:
            self.views.append(SavedListView(name=name, arrangement=arrangement))
        else:
            known.arrangement = arrangement

    def remove(self, name: str) -> None:
        """Remove a view."""
        self.views = [view for view in self.views if view.name != name]
        if self.default == name:
            self.default = ""

    @property
    def at_start(self) -> ListArrangement:
        """How the list is shown when the window opens."""
        known = self.find(self.default)
        return known.arrangement if known is not None else self.last
