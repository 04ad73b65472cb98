"""A person changes their mind on the device: a preference is added, another forgotten, and the server is told.

python examples/preferences.py store/ me.pdx root.json encoder/ u-4711 "I like herbs." "I travel by train."
"""

import sys

from prefdex_client import DeviceStore

folder, bundle, trust, encoder, audience, added, forgotten = sys.argv[1:]
store = DeviceStore.open(folder, trust=trust, audience=audience, encoder=encoder)
print("version", store.apply(bundle).version)

memory = store.memory()  # follows what happens below
store.add_preference(added)
store.forget(forgotten)
for preference in memory.preferences:
    print(f"{preference.origin:<8} {preference.n_entries:4} entries  {preference.text}")

# What arrives on the device is matched there, and nothing of it leaves.
report = store.ingest(["Basil and thyme grow on the sill; cook them last."])
print(f"{report.kept} of {report.candidates} pairs kept from {report.documents} message")

print(store.changes().to_json())  # for `prefdex build --changes`
