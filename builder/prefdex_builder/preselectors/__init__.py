"""What does the coarse filter's products: numpy on CPUs; torch or FAISS on GPUs. All find the same candidates."""

from .registry import ENGINES, FilterEngine, open_preselector, runs_on_gpu

__all__ = ["ENGINES", "FilterEngine", "open_preselector", "runs_on_gpu"]
