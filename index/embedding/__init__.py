"""Texts as vectors: models, their files, their threads."""

import os

# ONNX Runtime, from its import on, keeps records of machine and process in the user's folder and sends them to its
# makers when it can; nothing leaves this machine unasked. Its own switch, called after the import, comes too late.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
