"""How fast a target answers in several ways of decoding, side by side: what `slipstream bench` does."""
