"""Makes and measures: nothing here is needed to chat."""
