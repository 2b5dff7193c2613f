"""Runs a script as it is, with ears where gymnasium and TensorBoard are called."""
