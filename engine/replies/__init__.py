"""From a prompt to the text of a reply."""
