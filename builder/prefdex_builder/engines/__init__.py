"""LLM engines by URI."""

from .registry import LLMConfig, open_llm

__all__ = ["LLMConfig", "open_llm"]
