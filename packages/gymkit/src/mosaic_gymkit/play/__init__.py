"""A person acts: key maps, inputs, and the loop that steps an environment by them."""
