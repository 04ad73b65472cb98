"""What embeds the corpus: the encoder itself on CPUs, or the model that it was exported from, with torch on GPUs."""

from .registry import Embedder, open_embedder, runs_on_gpu

__all__ = ["Embedder", "open_embedder", "runs_on_gpu"]
