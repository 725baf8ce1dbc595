"""The documented schemas of JSON output."""

import json
import os

import pytest

FOLDER = os.path.join(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "docs", "schemas"
)


def check(name, document):
    """Asserts that a document is as its schema says; passes over where jsonschema is not installed."""
    jsonschema = pytest.importorskip("jsonschema")
    with open(os.path.join(FOLDER, name + ".json"), encoding="utf-8") as stream:
        jsonschema.validate(document, json.load(stream))
