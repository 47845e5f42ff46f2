"""Features of images, texts and tables: `embed`, with built-in encoders, your own, and a cache.

Encoders that learn (principal components, TF-IDF, the scales of a table) are fitted on one sample, and then encode
all samples that are to be compared. Networks are yours: any callable or torch module, or a sentence transformer by
name.
"""

from shiftmetrics.adapters.embeddings.embed import EmbeddingCache, embed
from shiftmetrics.adapters.embeddings.encoders import TorchEncoder, fit_encoder

__all__ = ["EmbeddingCache", "TorchEncoder", "embed", "fit_encoder"]
