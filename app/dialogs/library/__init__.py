"""The window of the library: its models, what is set for each, and finding more of them."""
