"""Asks a bundle one question, and prints what would go into a language model's prompt.

python examples/ask.py me.pdx root.json encoder/ u-4711 "What shall I cook tonight?"
"""

import sys

from prefdex_client import Memory

bundle, trust, encoder, audience, question = sys.argv[1:]
memory = Memory.open(bundle, trust=trust, encoder=encoder, audience=audience)
for hit in memory.query(question, k=3):
    print(f"{hit.score:.3f}  {hit.title}  (for: {', '.join(hit.preferences)})")
print()
print(memory.context(question, k=3, max_characters=2_000))
