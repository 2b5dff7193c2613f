"""What tests and benchmarks of other rooms use."""
