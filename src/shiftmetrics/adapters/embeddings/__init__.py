"""Features of images, strings and tables: three encoders that learn from a sample, any callable, and a cache."""

from shiftmetrics.adapters.embeddings.embed import EmbeddingCache, embed, fit_encoder

__all__ = ["EmbeddingCache", "embed", "fit_encoder"]
