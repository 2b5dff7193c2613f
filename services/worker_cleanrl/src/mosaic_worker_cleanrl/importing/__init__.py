"""Files that a user imports: what one is, and the checkpoint that becomes of the weights of another program."""
