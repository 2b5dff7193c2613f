"""The embedded stack: broker and services as processes of this machine, kept by one supervisor."""
