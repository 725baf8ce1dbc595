"""Fields of Colab's forms; no kernel is started."""

import types

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpucompat.base.errors import ScriptError
from tpucompat.runtime.notebooks import forms

CELL = """#@title Setup
bucket = '' #@param {type:"string"}
  steps=100  # @param {type: "slider", min: 1, max: 200}
use_tpu = True #@param {type:"boolean"}
model = "small" #@param ["small", "large"]
rate = 1e-3 #@param
sizes = [1, 2] #@param {type:"raw"}
other = "#@param is only mentioned"
print(bucket)  # no field
"""


def notebook(*sources):
    cells = [types.SimpleNamespace(cell_type="code", source=source) for source in sources]
    text = types.SimpleNamespace(cell_type="markdown", source="bucket = '' #@param")
    return types.SimpleNamespace(cells=[text, *cells])


def filled(*entries, source=CELL):
    book = notebook(source)
    forms.fill(book, entries)
    assert book.cells[0].source == "bucket = '' #@param"
    return book.cells[1].source


def test_fields():
    assert [(field.name, field.kind) for field in forms.fields(CELL)] == [
        ("bucket", "string"),
        ("steps", "number"),
        ("use_tpu", "boolean"),
        ("model", "string"),
        ("rate", "number"),
        ("sizes", "raw"),
    ]


def test_nothing_is_filled_in_unasked():
    assert filled() == CELL


@pytest.mark.parametrize(
    "entry, line",
    [
        ("bucket=my-bucket", "bucket = 'my-bucket' #@param {type:\"string\"}"),
        ("bucket=a=b'c", 'bucket = "a=b\'c" #@param {type:"string"}'),
        ("bucket=", "bucket = '' #@param {type:\"string\"}"),
        ("steps=7", '  steps=7  # @param {type: "slider", min: 1, max: 200}'),
        ("use_tpu=false", 'use_tpu = False #@param {type:"boolean"}'),
        ("model=large", 'model = \'large\' #@param ["small", "large"]'),
        ("rate=-2.5", "rate = -2.5 #@param"),
        ("sizes=[3] * 2", 'sizes = [3] * 2 #@param {type:"raw"}'),
    ],
)
def test_a_value_takes_the_place_of_the_author_s(entry, line):
    lines = filled(entry).splitlines()
    changed = [new for new, old in zip(lines, CELL.splitlines()) if new != old]
    assert line in lines and len(lines) == len(CELL.splitlines())
    assert changed in ([line], [])


@pytest.mark.parametrize(
    "entry, said",
    [
        ("Bucket=x", "no field 'Bucket'; the fields of the notebook are: bucket, model, rate,"),
        ("bucket", "'bucket' is not NAME=VALUE"),
        ("steps=many", "steps=many: the field expects a number, such as 100."),
        ("use_tpu=1", "use_tpu=1: the field expects a boolean, such as True."),
        ("sizes=[", "sizes=[: the field expects Python"),
    ],
)
def test_what_does_not_fit_is_named(entry, said):
    book = notebook(CELL)
    with pytest.raises(ScriptError, match="TPU429") as error:
        forms.fill(book, [entry])
    assert said in str(error.value)
    assert book.cells[1].source == CELL


def test_a_notebook_without_fields():
    with pytest.raises(ScriptError, match="fields of the notebook are: none"):
        filled("bucket=x", source="bucket = ''")


def test_a_field_in_several_cells_is_one():
    book = notebook("a = 1 #@param\nb = 2", "a = 3 #@param")
    forms.fill(book, ["a=5"])
    assert [cell.source for cell in book.cells[1:]] == ["a = 5 #@param\nb = 2", "a = 5 #@param"]


@given(st.text(alphabet=st.characters(blacklist_categories=["Cs"])))
def test_any_text_arrives(text):
    found = {}
    exec(filled(f"bucket={text}", source="bucket = '' #@param {type:'string'}"), found)
    assert found["bucket"] == text
