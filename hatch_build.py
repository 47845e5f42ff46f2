"""The description of the package: README.md with absolute links, because no file lies beside it on an index."""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

RELATIVE = re.compile(r"\]\((?![a-z]+:|#)([^)]+)\)")
"""The target of a link that is no address and no place on the page."""


class Description(MetadataHookInterface):
    """Set the readme; ``address`` in pyproject.toml is where the files of the repository can be read."""

    def update(self, metadata: dict) -> None:
        """Point the links of README.md at the repository."""
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        address = self.config["address"].rstrip("/")
        text = RELATIVE.sub(rf"]({address}/\1)", readme)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
