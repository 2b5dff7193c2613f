"""The stack in containers, built and started once for all tests of this folder."""

from collections.abc import Iterator

import pytest
from containers.compose_stack import ComposeStack, project_name


@pytest.fixture(scope="session")
def compose(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComposeStack]:
    """A stack that is up with a worker; nothing of it is left afterwards."""
    stack = ComposeStack(project_name(tmp_path_factory.mktemp("compose")))
    stack.build()
    try:
        stack.up()
        stack.add_worker("synthetic")
        yield stack
    finally:
        stack.destroy()
