"""Environments of the installed gymnasium: which are offered, and what one is. Never imports torch."""
