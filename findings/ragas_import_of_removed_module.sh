#!/usr/bin/env bash
# ragas 0.4.3 imports langchain_community.chat_models.vertexai when it is imported itself, and sets no upper bound on
# langchain-community: 0.4.2 no longer has that module, so that a fresh installation cannot be imported, whichever
# model is meant to be used. Guess before the run: it imports, and the module is looked for once Vertex AI is asked for.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet uv==0.13.9
"$folder/venv/bin/uv" pip install --quiet --python "$folder/venv/bin/python" \
    ragas==0.4.3 langchain-community==0.4.2 langchain-core==1.8.3 langchain-openai==1.7.4
"$folder/venv/bin/python" - <<'PY'
from importlib.metadata import requires, version

print("ragas", version("ragas"), "langchain-community", version("langchain-community"))
asked = [line for line in requires("ragas") if line.startswith("langchain-community")]
print("requirement of ragas:", asked)
try:
    import ragas
except ModuleNotFoundError as error:
    missing = error.name
else:
    missing = ""
print("import ragas:", f"no module {missing}" if missing else "works")
assert asked == ["langchain-community"]
assert missing == "langchain_community.chat_models.vertexai"
PY
