"""`python -m mosaic_cli.file_jobs`: reads a `FileJobOrder` on stdin and reports on stdout."""

from typing import NoReturn

from mosaic_base.imports import large_imports

with large_imports():
    from mosaic_base.one_order import (
        FAILED,
        INTERRUPTED,
        ProgressRate,
        interrupt_at_signals,
        leave,
        read_order,
        report,
    )
    from mosaic_cli.errors import CliError
    from mosaic_cli.file_jobs.doing import do_job
    from mosaic_cli.main import problem_text
    from mosaic_client import ClientError, MosaicProblem, connect
    from mosaic_contracts.file_jobs import (
        FileJobLine,
        FileJobOrder,
        FileJobProgress,
    )


def main() -> None:
    """Do one job. A fault is one line with `problem` on stdout and exit code 1."""
    interrupt_at_signals()
    try:
        order = read_order(FileJobOrder.model_validate_json, "A FileJobOrder")
        stack = order.stack
        with connect(stack.url, token=stack.token, ca_file=stack.ca_file) as client:
            _say(do_job(client, order.job, _Talk()))
    except MosaicProblem as error:
        _fail(problem_text(error.problem))
    except (CliError, ClientError) as problem:
        _fail(str(problem))
    except OSError as error:
        _fail(f"{error.filename or 'The file'} cannot be used ({error.strerror or error}).")
    except KeyboardInterrupt:
        leave(INTERRUPTED)  # an answer may still be on its way


class _Talk:
    """Reports progress, at most ten times a second, and each new phase."""

    def __init__(self) -> None:
        self._rate = ProgressRate()

    def __call__(self, progress: FileJobProgress) -> None:
        """Report how far the job is."""
        if self._rate.is_due(progress.phase):
            _say(FileJobLine(progress=progress))


def _say(line: FileJobLine) -> None:
    report(line.model_dump_json(exclude_defaults=True))


def _fail(text: str) -> NoReturn:
    _say(FileJobLine(problem=text))
    leave(FAILED)


if __name__ == "__main__":
    main()
