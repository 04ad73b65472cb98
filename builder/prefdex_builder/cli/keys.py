"""`prefdex keys init`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..signing import init_keys
from ..signing.keys import PRIVATE_FILES, ROOT_VALID_DAYS
from .common import AsJson, command, emit, example, out

app = typer.Typer(no_args_is_help=True)


@app.command("init", epilog=example("prefdex keys init keys/"))
@command
def init(
    folder: Annotated[Path, typer.Argument(help="A new folder.", show_default=False)],
    valid_days: Annotated[int, typer.Option(help="Days until root.json expires.", min=1)] = ROOT_VALID_DAYS,
    as_json: AsJson = False,
) -> None:
    """Make Ed25519 keys and root.json, the trust anchor of your devices."""
    keys = init_keys(folder, valid_days=valid_days)
    if as_json:
        private = {name: str(keys.folder / file) for name, file in PRIVATE_FILES.items()}
        emit({"root_json": str(keys.root), "private": private, "keep_offline": str(keys.offline)})
        return
    out.print(f"{keys.root}  public: give it to your devices as their trust anchor")
    out.print(f"{keys.offline}  PRIVATE: move it to offline storage; it is needed only to replace keys")
    out.print(f"{keys.folder / PRIVATE_FILES['targets']}  private: signs bundles; keep it on the machine that builds")
    out.print(f"{keys.folder / PRIVATE_FILES['online']}  private: signs what is published; keep it where you publish")
