"""Getting to the XMPP server: what a run was given, whether it can be used, and keeping a session."""
