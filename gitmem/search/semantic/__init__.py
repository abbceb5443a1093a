"""Documents by their meaning: the model, token vectors, and Chroma."""
