"""The container images of a checkout: what they are built from, and what the engine has of them."""
