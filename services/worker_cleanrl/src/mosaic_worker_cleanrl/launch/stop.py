"""The end of a script at a safe point. Never imports torch."""


class GracefulStop(BaseException):
    """Ends the script where nothing is half done. No Exception, for a script may catch those."""
