"""The page that tells how fast replies came."""
