"""What can go wrong below a service's own work."""


class ServiceRefused(RuntimeError):
    """The service cannot work until a person changes something; the message is one sentence that says what.

    `run_service` logs the message and exits with SERVICE_REFUSED, so that nothing starts the service again in vain.
    """


class SettingsInvalid(ServiceRefused, ValueError):
    """An environment variable has a value that cannot be used; the message names it and what is allowed."""


class CertificateUnusable(ServiceRefused):
    """TLS was asked for and cannot be spoken."""


class CredentialsInvalid(ValueError):
    """Key material is missing or damaged."""


class RevocationFailed(RuntimeError):
    """The service could not send a revocation of a run's credentials to the running broker; try again."""
