"""Trainings that compile nothing do not import torch's compiler; what is compiled finds it."""

import sys

import pytest
import torch
from tests.real_run import in_child

from mosaic_worker_cleanrl.launch import compiler

pytestmark = pytest.mark.timeout(240)


def _train() -> torch.optim.Optimizer:
    """Do with an optimizer what scripts and checkpoints do."""
    layer = torch.nn.Linear(4, 1)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.1)
    optimizer.load_state_dict(optimizer.state_dict())
    optimizer.zero_grad()
    layer(torch.ones(2, 4)).sum().backward()
    before = layer.bias.clone()
    optimizer.step()
    assert not torch.equal(layer.bias, before)
    return optimizer


def _train_without_compiler() -> None:
    assert compiler.NAME not in sys.modules
    compiler.import_compiler_when_used()
    _train()
    assert isinstance(sys.modules[compiler.NAME], compiler.CompilerStandIn)
    assert not [name for name in sys.modules if name.startswith(f"{compiler.NAME}.")]


def _compile_after_training() -> None:
    compiler.import_compiler_when_used()
    optimizer = _train()
    doubled = torch.compile(lambda x: x * 2, backend="eager")(torch.ones(2))
    assert doubled.tolist() == [2.0, 2.0]
    assert sys.modules[compiler.NAME] is torch._dynamo
    assert not isinstance(torch._dynamo, compiler.CompilerStandIn)
    optimizer.zero_grad()
    optimizer.step()
    mark = torch.optim.Optimizer.zero_grad.__wrapped__.__dynamo_disable  # type: ignore[attr-defined]
    assert torch._dynamo.is_dynamo_disable_recursive(mark._function) is not None


def _import_of_a_part() -> None:
    compiler.import_compiler_when_used()
    from torch._dynamo import config, reset

    assert config.suppress_errors in (True, False)
    reset()
    assert sys.modules[compiler.NAME] is torch._dynamo


def test_an_optimizer_imports_no_compiler() -> None:
    """All that a script does with an optimizer works without an import of the compiler."""
    in_child(_train_without_compiler)


@pytest.mark.nightly
def test_what_is_compiled_imports_the_compiler() -> None:
    """`torch.compile` works after an optimizer was used, and the optimizer's methods are marked then."""
    in_child(_compile_after_training)


@pytest.mark.nightly
def test_a_part_of_the_compiler_imports_it() -> None:
    """Other packages find the parts of the compiler that they import."""
    in_child(_import_of_a_part)
