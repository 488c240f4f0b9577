"""One for each feature: listens to the window and the engine, and decides."""
