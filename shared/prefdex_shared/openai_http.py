"""`openai:URL#MODEL`: any server that speaks OpenAI's chat completions, with nothing but the standard library."""

from __future__ import annotations

import http.client
import json
import os
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from .errors import ConfigurationError, EngineError
from .llm import Prompt

SCHEME = "openai:"
KEY_VARIABLE = "OPENAI_API_KEY"

_TIMEOUT_S = 120.0
_MAX_ANSWER_BYTES = 1 << 20
_RETRYABLE = {408, 409, 425, 429, 500, 502, 503, 504}


class OpenAiLLM:
    """Asks a server, one prompt after the other; answers are constrained to the prompt's JSON schema.

    Args:
        uri: `openai:http://127.0.0.1:8080/v1#model`. The key, if the server wants one, is in `OPENAI_API_KEY`.
        timeout_s: Seconds to wait for one answer.

    Raises:
        ConfigurationError: It is no such address.
    """

    def __init__(self, uri: str, *, timeout_s: float = _TIMEOUT_S) -> None:
        address, _, self._model = uri.removeprefix(SCHEME).partition("#")
        parts = urlsplit(address)
        if not uri.startswith(SCHEME) or parts.scheme not in {"http", "https"} or not parts.hostname or not self._model:
            raise ConfigurationError(
                "This is no address of a language model.", hint="Give openai:http://HOST:PORT/v1#MODEL"
            )
        if parts.username or parts.password:
            raise ConfigurationError("A key in an address ends up in logs.", hint=f"Put it into {KEY_VARIABLE}.")
        self._url = f"{address.rstrip('/')}/chat/completions"
        self._timeout_s = timeout_s

    @property
    def name(self) -> str:
        """Identity: the model, without the server that runs it."""
        return f"openai:{self._model}"

    def complete(self, prompts: Sequence[Prompt]) -> list[str | EngineError]:
        """Answer each prompt."""
        return [self._one(prompt) for prompt in prompts]

    def _one(self, prompt: Prompt) -> str | EngineError:
        body = {
            "model": self._model,
            "messages": [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}],
            "max_tokens": prompt.max_tokens,
            "temperature": 0.0,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": prompt.schema},
            },
        }
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get(KEY_VARIABLE):
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(self._url, json.dumps(body).encode(), headers)  # noqa: S310 - http(s) only
        try:
            with urllib.request.urlopen(request, timeout=self._timeout_s) as response:  # noqa: S310
                return _content(json.loads(response.read(_MAX_ANSWER_BYTES)))
        except urllib.error.HTTPError as error:
            # What the server says may quote the prompt; its status does not.
            return EngineError(f"The server answered {error.code}.", retryable=error.code in _RETRYABLE)
        except (OSError, http.client.HTTPException) as error:
            return EngineError(f"The server cannot be asked: {type(error).__name__}.", retryable=True)
        except (ValueError, KeyError, IndexError, TypeError) as error:
            return EngineError(f"The server's answer is malformed: {type(error).__name__}.", retryable=False)


def _content(response: Any) -> str | EngineError:
    choice = response["choices"][0]
    if choice.get("finish_reason") == "length":
        return EngineError("The answer was cut off at max_tokens.", retryable=False)
    return str(choice["message"]["content"])
