"""Whether the broker admits each service with the credentials that lie below MOSAIC_HOME."""

from pathlib import Path

import nats.errors

from mosaic_base.broker_tls import distrust_of
from mosaic_contracts.stack_files import BROKER_CA
from mosaic_servicekit import jwt
from mosaic_servicekit.bus import distrust_text
from mosaic_servicekit.credentials import creds_path, service_permissions
from mosaic_servicekit.creds_file import CredsFile, CredsFileDamaged
from mosaic_servicekit.errors import CertificateUnusable
from mosaic_servicekit.visit import visit


async def refused_services(home: Path, url: str) -> dict[str, str]:
    """Services that the broker would not admit, each with the reason; a broker that is away is no refusal."""
    found = {
        name: await _refusal(creds_path(home, name), name, url, home / BROKER_CA)
        for name in service_permissions()
    }
    return {name: why for name, why in found.items() if why is not None}


async def _refusal(path: Path, name: str, url: str, ca: Path) -> str | None:
    creds = CredsFile(path)
    try:
        owner = creds.parts().claims.get("name")
    except CredsFileDamaged as error:
        return str(error)
    if owner != name:
        return f"{path} holds the credentials of {owner}"
    try:
        async with visit(url, name, f"doctor-{name}", creds, ca):
            return None
    except CertificateUnusable as error:
        return str(error)
    except (OSError, nats.errors.Error) as error:
        distrust = distrust_of(error)
        if distrust is not None:
            return distrust_text(url, distrust)
        return f"{path} is refused ({error})" if jwt.is_refusal(str(error)) else None
