"""Settings: declared once, kept, and what keys do."""
