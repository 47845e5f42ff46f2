"""Features of images, texts and tables: `embed`, with built-in encoders, your own, and a cache.

Encoders that learn (principal components, TF-IDF, the scales of a table) see one sample, and then encode all samples
that are to be compared. Networks are yours: any callable or torch module, or a sentence transformer by its name.
"""

from shiftmetrics.adapters.embeddings.cache import EmbeddingCache
from shiftmetrics.adapters.embeddings.embed import embed
from shiftmetrics.adapters.embeddings.encoders import (
    Encoder,
    PCAEncoder,
    PixelEncoder,
    TableEncoder,
    TfidfEncoder,
)
from shiftmetrics.adapters.embeddings.items import image_files
from shiftmetrics.adapters.embeddings.networks import SentenceEncoder, TorchEncoder

__all__ = [
    "EmbeddingCache",
    "Encoder",
    "PCAEncoder",
    "PixelEncoder",
    "SentenceEncoder",
    "TableEncoder",
    "TfidfEncoder",
    "TorchEncoder",
    "embed",
    "image_files",
]
