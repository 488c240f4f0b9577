"""Windows beside the main one: values in, signals out."""
