"""A chat that answers from a bundle, with any server that speaks OpenAI's chat completions.

python examples/chat.py me.pdx root.json encoder/ u-4711 http://127.0.0.1:8080/v1 model-name
"""

import json
import sys
import urllib.request

from prefdex_client import Memory

bundle, trust, encoder, audience, server, model = sys.argv[1:]
memory = Memory.open(bundle, trust=trust, encoder=encoder, audience=audience)


def answer(question: str) -> str:
    """Answer a question from the passages that are found for it."""
    passages = memory.context(question, k=4, max_characters=3_000)
    system = (
        "Answer from the numbered passages, and name the ones you use, like [1]. A note says how a passage matters to "
        f"this person. If none helps, say so.\n\n{passages}"
    )
    messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    body = {"model": model, "messages": messages, "max_tokens": 300}
    request = urllib.request.Request(
        f"{server}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=300) as response:
        return json.load(response)["choices"][0]["message"]["content"]


print("Ask, and end with an empty line.")
while question := sys.stdin.readline().strip():
    print(answer(question), flush=True)
