"""The arguments of a script, read from its source; nothing of them is retyped here."""
