"""What fills the disk: what the stack reports, and what lies outside of it."""
