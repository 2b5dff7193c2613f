"""Small helpers that every package uses. Standard library only, and importable on every platform.

Import a module by its name: this file imports none, because each costs start-up time.
"""
