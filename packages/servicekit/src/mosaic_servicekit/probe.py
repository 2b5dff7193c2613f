"""`python -m mosaic_servicekit.probe NAME`: whether a service answers over the broker. Exit 0: it does.

What a container's health check runs, with the service's own settings and credentials.
"""

import argparse
import asyncio
import sys

from mosaic_base.imports import large_imports

with large_imports(on_use=["nats.js"]):  # a container runs this every few seconds
    import nats.errors

    from mosaic_base.broker_tls import distrust_of
    from mosaic_contracts import subjects
    from mosaic_contracts.shipper_messages import Reply
    from mosaic_servicekit import jwt
    from mosaic_servicekit.bus import distrust_text, refusal_text
    from mosaic_servicekit.creds_file import CredsFile, CredsFileDamaged
    from mosaic_servicekit.errors import CertificateUnusable
    from mosaic_servicekit.settings import ServiceSettings
    from mosaic_servicekit.visit import visit

TIMEOUT_S = 4.0


async def ask_status(name: str, settings: ServiceSettings) -> str | None:
    """Ask `svc.<name>.status`; what is wrong in words, or None."""
    creds = None if settings.creds is None else CredsFile(settings.creds)
    subject = subjects.service(name, "status")
    try:
        async with visit(settings.url, name, f"probe-{name}", creds, settings.broker_ca) as client:
            answer = await client.request(subject, b"{}", timeout=TIMEOUT_S / 2)
    except CertificateUnusable as error:
        return distrust_text(settings.url, str(error))
    except (OSError, TimeoutError, nats.errors.Error) as error:
        distrust = distrust_of(error)
        if distrust is not None:
            return distrust_text(settings.url, distrust)
        if isinstance(error, CredsFileDamaged) or jwt.is_refusal(str(error)):
            return refusal_text(settings.url, name, str(error))
        return f"{type(error).__name__}: {error}"
    problem = Reply.model_validate_json(answer.data).problem
    return None if problem is None else problem.title


def main() -> int:
    """Run as a program."""
    parser = argparse.ArgumentParser(prog="python -m mosaic_servicekit.probe")
    parser.add_argument("name", choices=["scheduler", "recorder"])
    name = parser.parse_args().name
    wrong = asyncio.run(ask_status(name, ServiceSettings.load()))
    if wrong is not None:
        sys.stderr.write(f"{name} does not answer: {wrong}\n")
    return 0 if wrong is None else 1


if __name__ == "__main__":
    sys.exit(main())
