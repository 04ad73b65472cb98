"""`llamacpp:FILE.gguf`: llama.cpp in this process, through xllamacpp. Needs the `llamacpp` extra."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prefdex_shared.encoder.folder import hash_file
from prefdex_shared.errors import ConfigurationError, EngineError, MissingExtraError
from prefdex_shared.llm import Prompt

_MODEL_ID_HEX_DIGITS = 12


class LlamaCppLLM:
    """Any GGUF model. Answers are constrained to the prompt's JSON schema, greedily sampled.

    Args:
        model: A GGUF file.
        context_tokens: Context length; a longer prompt is a failure of its own.
        n_threads: Threads of one request.
    """

    def __init__(self, model: Path, *, context_tokens: int = 4096, n_threads: int = 1) -> None:
        if not model.is_file():
            raise ConfigurationError(
                f"There is no model file {model}.", hint="Give a GGUF file: llamacpp:/path/model.gguf"
            )
        self._model = model
        self._context_tokens = context_tokens
        self._n_threads = n_threads
        self._server: Any = None
        self._name = f"llamacpp:{model.name}@{hash_file(model)[:_MODEL_ID_HEX_DIGITS]},context={context_tokens}"

    @property
    def name(self) -> str:
        """Identity: the file's name and hash, without its folder."""
        return self._name

    def complete(self, prompts: Sequence[Prompt]) -> list[str | EngineError]:
        """Answer each prompt, one after the other."""
        if self._server is None:
            self._server = self._load()
        return [self._one(prompt) for prompt in prompts]

    def _load(self) -> Any:
        try:
            import xllamacpp
        except ModuleNotFoundError as error:
            raise MissingExtraError("xllamacpp", "llamacpp") from error
        params = xllamacpp.CommonParams()
        params.model.path = str(self._model)
        params.n_ctx = self._context_tokens
        params.n_parallel = 1
        params.verbosity = -1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = self._n_threads
        try:
            return xllamacpp.Server(params)
        except RuntimeError as error:
            raise EngineError(f"llama.cpp cannot load {self._model.name}.", retryable=False) from error

    def _one(self, prompt: Prompt) -> str | EngineError:
        request = {
            "messages": [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}],
            "max_tokens": prompt.max_tokens,
            "temperature": 0.0,
            "seed": 0,
            "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": prompt.schema}},
        }
        try:
            return _content(self._server.handle_chat_completions(request))
        except RuntimeError as error:
            return EngineError(f"llama.cpp: {type(error).__name__}", retryable=True)


def _content(response: Mapping[str, Any]) -> str | EngineError:
    if error := response.get("error"):
        # The message may quote the prompt; the type does not.
        kind = str(error.get("type", "error")) if isinstance(error, Mapping) else "error"
        return EngineError(
            f"llama.cpp: {kind}", retryable=kind not in {"exceed_context_size_error", "invalid_request_error"}
        )
    choice = response["choices"][0]
    if choice.get("finish_reason") == "length":
        return EngineError("llama.cpp: the answer was cut off at max_tokens", retryable=False)
    return str(choice["message"]["content"])
