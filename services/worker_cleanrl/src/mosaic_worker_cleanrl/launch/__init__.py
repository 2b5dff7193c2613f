"""Runs a script as it is, with hooks where gymnasium and TensorBoard are called."""
