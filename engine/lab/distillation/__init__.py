"""Makes a drafter for a target."""
