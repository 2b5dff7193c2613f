"""Every request of the HTTP interface, once; their signatures and docstrings are those of the clients' methods."""
