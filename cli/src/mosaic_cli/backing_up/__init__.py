"""Backups of a stack on this machine: making one while runs go on, checking it, restoring it (ADR 0032)."""
