"""The names that app developers rely on."""

import prefdex_client


def test_public_names_are_stable() -> None:
    assert sorted(prefdex_client.__all__) == [
        "Applied",
        "Changes",
        "ContextTemplate",
        "DeviceStore",
        "Document",
        "Hit",
        "IngestReport",
        "LocalConfig",
        "Match",
        "Memory",
        "PAPER",
        "PrefdexError",
        "PreferenceInfo",
        "Scoring",
        "Stats",
        "UNSTEERED",
        "apply_patch",
        "render_context",
    ]
    assert all(getattr(prefdex_client, name).__doc__ for name in prefdex_client.__all__)
