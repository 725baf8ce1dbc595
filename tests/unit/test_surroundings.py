"""Names that Python and the libraries have removed, in the script's modules only."""

import importlib
import sys
import textwrap
import types

import pytest

from tpucompat.names import renamed
from tpucompat.names import surroundings as table
from tpucompat.names.rows import Changed, Constant, Gone, Moved
from tpucompat.runtime import surroundings
from tpucompat.standins import array_numbers, python_names
from tpucompat.tf import patches


@pytest.fixture
def library(monkeypatch):
    real = types.ModuleType("library")
    real.kept = "kept"
    real.also = "the real one"
    monkeypatch.setitem(sys.modules, "library", real)
    rows = {
        "library": {
            "lost": Moved("math:sqrt"),
            "also": Constant("never used: the library still has it"),
            "gone": Gone("TPU101", "it went"),
        },
        "library.old": {"name": Constant(7)},
        "whole": {},
    }
    monkeypatch.setattr(table, "ROWS", rows)
    monkeypatch.setattr(table, "MODULES", {"library.old": None, "whole": "json"})
    return real


def shown(name):
    return surroundings.Surroundings(importlib.import_module).module(name)


def test_rows_stand_behind_the_real_module(library):
    module = shown("library")
    assert module.kept == "kept"
    assert module.also == "the real one"
    assert module.lost(9.0) == 3.0
    assert module.old.name == 7
    assert not hasattr(library, "lost")


def test_a_gone_name_raises_with_its_code(library):
    with pytest.raises(NotImplementedError, match="TPU101 library.gone: it went"):
        shown("library").gone


def test_an_unknown_name_is_python_s_own_error(library):
    with pytest.raises(AttributeError, match="library.*never"):
        shown("library").never


def test_a_patch_reaches_the_real_module(library):
    shown("library").kept = "patched"
    assert library.kept == "patched"
    library.later = 1
    assert shown("library").later == 1


def test_whole_modules(library):
    assert shown("whole").dumps is importlib.import_module("json").dumps
    assert shown("library.old").name == 7
    with pytest.raises(ModuleNotFoundError, match="No module named 'library.unknown_part'"):
        shown("library.unknown_part")


def test_a_module_that_has_lost_nothing_is_itself(library, monkeypatch):
    monkeypatch.setattr(table, "ROWS", {"library": {"kept": Constant(1)}})
    assert shown("library") is library


def test_functions_that_python_3_moved():
    import itertools
    import urllib.parse
    import urllib.request

    urls = shown("urllib")
    assert urls.urlretrieve is urllib.request.urlretrieve and urls.quote is urllib.parse.quote
    assert urls.request is urllib.request and shown("urllib.request") is urllib.request
    assert list(shown("itertools").izip("ab", "cd")) == [("a", "c"), ("b", "d")]
    assert shown("itertools").chain is itertools.chain
    assert not hasattr(urllib, "urlretrieve")


def test_the_numpy_of_2018():
    numpy = pytest.importorskip("numpy")
    old = shown("numpy")
    assert numpy.zeros(2, old.bool).dtype == numpy.bool_
    assert (old.int, old.float, old.object) == (int, float, object)
    assert old.float_ is numpy.float64
    assert old.Inf == numpy.inf
    assert old.asscalar(numpy.array([3])) == 3
    assert old.asfarray([1, 2]).dtype == numpy.float64
    assert old.linalg is numpy.linalg


@pytest.mark.parametrize(
    "dtypes, scalars, expected",
    [(["f4"], ["f8"], "f4"), (["i4"], ["f8"], "f8"), (["f4", "f8"], [], "f8"), ([], ["i8"], "i8")],
)
def test_find_common_type(dtypes, scalars, expected):
    numpy = pytest.importorskip("numpy")
    from tpucompat.standins import numpy_names

    find = numpy_names.find_common_type
    assert find([numpy.dtype(d) for d in dtypes], [numpy.dtype(s) for s in scalars]) == expected


def test_python_s_own_modules():
    assert issubclass(dict, shown("collections").Mapping)
    assert shown("time").clock() >= 0
    spec = shown("inspect").getargspec(lambda a, b=1, *c, **d: 0)
    assert spec == (["a", "b"], "c", "d", (1,))
    assert shown("fractions").gcd(12, 18) == 6
    with pytest.raises(ValueError, match="keyword-only"):
        python_names.getargspec(lambda *, a: 0)


def test_annotations_of_tensorflow_s_functions_are_not_told():
    def operation(x: int, name=None):
        return x

    with pytest.raises(ValueError, match="annotations"):
        python_names.getargspec(operation)
    operation.__module__ = "tensorflow.python.ops.gen_math_ops"
    assert python_names.getargspec(operation) == (["x", "name"], None, None, (None,))


def test_imp(tmp_path):
    (tmp_path / "plugin.py").write_text("VALUE = 3\n")
    from tpucompat.standins import imp_module as imp

    assert imp.load_source("plugin_by_path", str(tmp_path / "plugin.py")).VALUE == 3
    found = imp.find_module("plugin", [str(tmp_path)])
    with found[0]:
        assert imp.load_module("plugin_found", *found).VALUE == 3
    with pytest.raises(ImportError):
        imp.find_module("absent", [str(tmp_path)])


def test_images(tmp_path):
    numpy = pytest.importorskip("numpy")
    pytest.importorskip("PIL")
    from tpucompat.standins import scipy_images as misc

    ramp = numpy.linspace(-1, 3, 48).reshape(4, 4, 3)
    scaled = misc.bytescale(ramp)
    assert (scaled.dtype, scaled.min(), scaled.max()) == (numpy.uint8, 0, 255)
    assert misc.imresize(ramp, (8, 2)).shape == (8, 2, 3)
    assert misc.imresize(ramp, 50).shape == (2, 2, 3)
    assert misc.imresize(ramp, 2.0).shape == (8, 8, 3)
    misc.imsave(str(tmp_path / "x.png"), scaled)
    assert (misc.imread(str(tmp_path / "x.png")) == scaled).all()
    assert misc.imread(str(tmp_path / "x.png"), flatten=True).shape == (4, 4)
    assert (misc.imrotate(scaled, 90) == numpy.rot90(scaled)).all()
    with pytest.raises(ValueError, match="cmin"):
        misc.bytescale(ramp, cmin=2, cmax=1)


ALL_ROWS = [
    *(row for rows in table.ROWS.values() for row in rows.values()),
    *(
        row
        for classes in table.ATTRIBUTES.values()
        for rows in classes.values()
        for row in rows.values()
    ),
    *table.SETTINGS.values(),
]
STAND_INS = sorted(
    {
        row.target
        for row in ALL_ROWS
        if getattr(row, "target", "").startswith("tpucompat.")
        and renamed.__name__ not in row.target
    }
)


@pytest.mark.parametrize("target", STAND_INS)
def test_every_stand_in_is_there(target):
    module, _, name = target.partition(":")
    pytest.importorskip("pandas" if "pandas_" in module else "numpy")
    assert getattr(importlib.import_module(module), name).__doc__


@pytest.mark.parametrize("module", sorted(renamed.CALLS))
def test_every_name_with_other_arguments_is_there(module):
    real = pytest.importorskip(module)
    for name, row in renamed.rows(module).items():
        if surroundings.in_force(row):
            assert callable(getattr(real, name))
            assert table.ROWS[module][name] == row


def test_numbers_print_as_they_did():
    numpy = pytest.importorskip("numpy")
    before = numpy.get_printoptions()
    try:
        numpy_names = importlib.import_module("tpucompat.standins.numpy_names")
        numpy_names.print_numbers_like_numpy_1()
        assert repr([numpy.float32(0.5), numpy.int64(3)]) == "[0.5, 3]"
    finally:
        numpy.set_printoptions(**before)


class Script:
    """A module of a script, in which everything is seen as it was, and one of somebody else."""

    def __init__(self):
        self.seen = surroundings.Surroundings(
            importlib.import_module, lambda names: "__script__" in names
        )

    def __call__(self, code, **names):
        """The value of ``result`` after the code; ``np`` and ``pd`` are the old modules."""
        modules = {name: self.seen.module(name) for name in ("numpy", "pandas")}
        space = {"__script__": True, "np": modules["numpy"], "pd": modules["pandas"], **names}
        exec(textwrap.dedent(code), space)
        return space["result"]


@pytest.fixture
def script():
    pytest.importorskip("pandas")
    since = patches.mark()
    yield Script()
    patches.undo(since)


def test_arrays_of_one_element_are_numbers(script):
    import numpy as np

    found = script(
        """
        one, deep = np.ones(1), np.full((1, 1), 65)
        result = (float(one), int(deep), "%d %.1f" % (deep, one), chr(deep), float(np.ones(())))
        """
    )
    assert found == (1.0, 65, "65 1.0", "A", 1.0)
    with pytest.raises(TypeError):
        script("result = float(np.ones(2))")
    if sys.version_info >= (3, 10):
        with pytest.raises(TypeError):
            chr(np.ones(1, int))
    if array_numbers.refused():  # an older NumPy takes them from everybody
        with pytest.raises(TypeError):
            float(np.ones(1))


def test_tensors_of_one_element_are_numbers(script):
    """Who asks is the script, though an eager tensor asks its array in a method of TensorFlow's."""
    import numpy as np

    class Tensor:
        def __int__(self):
            return int(np.full((1, 1), 3))

        def __float__(self):
            return float(np.ones(1))

    assert script("result = (int(tensor), float(tensor), '%d' % tensor)", tensor=Tensor()) == (
        3,
        1.0,
        "3",
    )
    if array_numbers.refused():
        with pytest.raises(TypeError):
            int(Tensor())


def test_empty_arrays_are_false(script):
    import numpy as np

    found = script(
        """
        low, high = np.arange(4) < 0, np.arange(4) > 2
        result = [not np.arange(4)[low], bool(np.zeros((0, 3))), 1 if np.arange(4)[high] else 2]
        """
    )
    assert found == [True, False, 1]
    with pytest.raises(ValueError):
        script("result = bool(np.ones(2))")
    if array_numbers.refused("__bool__"):
        with pytest.raises(ValueError):
            bool(np.ones(0))


def test_leaving_gives_the_classes_back(script):
    import numpy as np

    before = {name: np.ndarray.__dict__.get(name) for name in ("__bool__", "__float__", "tostring")}
    since = patches.mark()
    other = Script()
    other("result = 0")
    patches.undo(since)
    assert {name: np.ndarray.__dict__.get(name) for name in before} == before


def test_methods_of_arrays(script):
    import numpy as np

    assert script("result = np.array([1, 2], np.int16).tostring()") == b"\1\0\2\0"
    assert script("result = np.int16(3).tostring()") == b"\3\0"
    assert script(
        "a = np.zeros((2, 2)); a.itemset((0, 1), 5); a.itemset(2, 7); result = a"
    ).tolist() == [
        [0.0, 5.0],
        [7.0, 0.0],
    ]
    assert script("result = np.array([[1, 5], [2, 9]]).ptp(axis=0)").tolist() == [1, 4]
    assert script("result = np.array([1], np.uint16).newbyteorder()").tolist() == [256]
    if not hasattr(np.ndarray, "tostring"):
        with pytest.raises(AttributeError, match="'numpy.ndarray'|'ndarray'"):
            np.zeros(1).tostring()


def test_functions_of_numpy(script, tmp_path):
    import numpy as np

    assert script("result = np.array([[1], [2, 3]])").dtype == object
    assert script("result = np.asarray([[1, 2], [3, 4]])").shape == (2, 2)
    assert script("result = np.array([1.0], copy=False)").tolist() == [1.0]
    with pytest.raises(ValueError):
        script("result = np.array([[1], [2, 3]], np.float32)")
    assert script("result = np.fromstring(b'\\1\\2', np.uint8)").tolist() == [1, 2]
    assert script("result = np.fromstring('1 2', sep=' ')").tolist() == [1.0, 2.0]
    grid = script("result = np.meshgrid([1, 2], [3, 4]); result.append(5)")
    assert grid[0].tolist() == [[1, 2], [1, 2]] and grid[2] == 5
    assert isinstance(script("result = np.atleast_2d(1, 2)"), list)
    assert script("result = np.atleast_2d(1)").tolist() == [[1]]
    assert script("result = np.vstack(row for row in ([1], [2]))").tolist() == [[1], [2]]
    assert script("result = np.concatenate(map(list, ([1], [2])))").tolist() == [1, 2]
    assert script("result = np.linspace(0, 1, 3.0)").tolist() == [0.0, 0.5, 1.0]
    assert script("result = np.sum(n * n for n in range(4)) + np.sum([[1, 2]], axis=1)[0]") == 17
    np.save(str(tmp_path / "x.npy"), np.array([{"a": 1}], object), allow_pickle=True)
    assert script("result = np.load(file)", file=str(tmp_path / "x.npy"))[0] == {"a": 1}


RAGGED = {
    "np.concatenate([[[1], [2, 3]], [[4], [5, 6]]])": [[1], [2, 3], [4], [5, 6]],
    "np.stack([[[1], [2, 3]]])": [[[1], [2, 3]]],
    "np.hstack([[[1], [2, 3]], [[4, 5], [6]]])": [[1], [2, 3], [4, 5], [6]],
    "np.append([[1], [2, 3]], [None])": [[1], [2, 3], None],
    "np.shape([[1], [2, 3]])": (2,),
    "np.reshape([[1], [2, 3], [4], [5]], (2, 2))": [[[1], [2, 3]], [[4], [5]]],
    "np.reshape([1, 2], newshape=(2, 1))": [[1], [2]],
    "sorted(np.random.permutation([[1], [2, 3]]))": [[1], [2, 3]],
    "np.repeat([[1], [2, 3]], 2)": [[1], [1], [2, 3], [2, 3]],
    "np.asanyarray([np.ones(1), np.ones(2)]).shape": (2,),
}


@pytest.mark.parametrize("expression", RAGGED)
def test_functions_of_sequences_of_different_lengths(expression, script):
    found = script(f"result = {expression}")
    assert getattr(found, "tolist", lambda: found)() == RAGGED[expression]


def test_sequences_of_different_lengths_in_a_file(tmp_path, script):
    path = str(tmp_path / "ragged.npy")
    assert script(f"np.save({path!r}, [[1], [2, 3]]); result = np.load({path!r})").tolist() == [
        [1],
        [2, 3],
    ]


def test_other_errors_stay(script):
    with pytest.raises(ValueError, match="dimension"):
        script("result = np.concatenate([np.ones([2, 2]), np.ones([1])])")
    with pytest.raises(
        ValueError, match="dimension"
    ):  # NumPy 1.18 took the second for a matrix, too
        script("result = np.concatenate([[[1], [2, 3]], [[4]]])")


def test_arrays_of_what_has_no_numbers_yet(script):
    """As a graph's tensors are, which say so when NumPy asks them for an array."""

    class Symbol:
        message = "Cannot convert a symbolic tf.Tensor (x:0) to a numpy array."

        def __array__(self, dtype=None, copy=None):
            raise NotImplementedError(self.message)

    a, b = Symbol(), Symbol()
    assert script("result = np.asarray([[a, 1], [b, 2]])", a=a, b=b).tolist() == [[a, 1], [b, 2]]
    found = script("result = np.array([[a], [b, 2]])", a=a, b=b)
    assert found.shape == (2,) and found[1] == [b, 2]
    for code in ("result = np.array(a)", "result = np.array([a], np.float32)"):
        with pytest.raises((NotImplementedError, TypeError)):
            script(code, a=a)


def test_the_literals_of_gast(script):
    """TensorFlow Probability 0.8 compares with them."""
    gast = pytest.importorskip("gast", reason="comes with TensorFlow")
    number = gast.parse("1 + 'a'").body[0].value.left
    assert isinstance(number, script.seen.module("gast").Num)


def test_other_arrays_that_are_not_implemented(script):
    import numpy as np

    if np.lib.NumpyVersion(np.__version__) < "1.20.0":
        pytest.skip("NumPy takes a sequence's items for objects there, whatever they say")

    class Other:
        def __array__(self, dtype=None, copy=None):
            raise NotImplementedError("something else")

    with pytest.raises(NotImplementedError, match="something else"):
        script("result = np.array([a])", a=Other())


FRAME = "frame = pd.DataFrame({'a': [1.0, 2.0], 'b': [3.0, 5.0], 'text': ['x', 'y']});"


@pytest.mark.parametrize(
    "code, expected",
    [
        ("frame.drop('b', 1).columns.tolist()", ["a", "text"]),
        ("frame.drop(0, 0).index.tolist()", [1]),
        ("frame.mean().tolist()", [1.5, 4.0]),
        ("frame.corr().shape", (2, 2)),
        ("frame.append(frame).shape", (4, 3)),
        ("frame.append({'a': 9.0}, ignore_index=True).a.tolist()", [1.0, 2.0, 9.0]),
        ("frame.append([{'a': 9.0}, {'a': 8.0}]).a.tolist()", [1.0, 2.0, 9.0, 8.0]),
        ("frame.append([frame.loc[0], frame.loc[1]]).a.tolist()", [1.0, 2.0, 1.0, 2.0]),
        ("frame.a.append(frame.b).tolist()", [1.0, 2.0, 3.0, 5.0]),
        ("frame.as_matrix(['a', 'b']).tolist()", [[1.0, 3.0], [2.0, 5.0]]),
        ("frame.ix[1, 'b']", 5.0),
        ("frame.ix[0, 1]", 3.0),
        ("frame.ix[:, :2].shape", (2, 2)),
        ("[name for name, _ in frame.iteritems()]", ["a", "b", "text"]),
        ("frame[['a']].applymap(lambda x: -x).a.tolist()", [-1.0, -2.0]),
        ("frame.a.where(frame.a > 1).fillna(method='bfill').tolist()", [2.0, 2.0]),
        ("frame.sort_values('a', 0, False).a.tolist()", [2.0, 1.0]),
        ("pd.concat([frame, frame], 1).shape", (2, 6)),
        ("pd.get_dummies(frame.text).values.tolist()", [[1, 0], [0, 1]]),
        ("frame.text.dtype == object", True),
        ("pd.np.sqrt(4.0)", 2.0),
        ("frame.text.str.replace('[xz]', 'w').tolist()", ["w", "y"]),
        ("pd.Series(['a.b']).str.replace('.', '-').tolist()", ["a-b"]),
        ("pd.Series(['a b c']).str.split(' ', 1).tolist()", [["a", "b c"]]),
        ("frame.groupby('text')['a', 'b'].sum().values.tolist()", [[1.0, 3.0], [2.0, 5.0]]),
        ("pd.Series(pd.to_datetime(['2019-12-31'])).dt.week.tolist()", [1]),
        ("pd.to_datetime(['2019-01-07'], infer_datetime_format=True).weekofyear.tolist()", [2]),
        ("pd.DataFrame.from_items([('n', [1])]).columns.tolist()", ["n"]),
        ("frame[['a', 'b']].mad().tolist()", [0.5, 1.0]),
        ("frame.lookup([0, 1], ['b', 'a']).tolist()", [3.0, 2.0]),
        ("frame.loc[frame.index, ['a', 'b']].values.tolist()", [[1.0, 3.0], [2.0, 5.0]]),
        ("frame.loc[np.array([True, False]), 'a'].tolist()", [1.0]),
        ("pd.value_counts([1, 2, 2]).to_dict()", {2: 2, 1: 1}),
        ("pd.io.json.json_normalize([{'a': {'b': 1}}]).columns.tolist()", ["a.b"]),
    ],
)
def test_pandas(script, code, expected):
    found = script(FRAME + "result = " + code)
    assert found == expected
    assert type(found) is not bool or found is expected


@pytest.mark.parametrize(
    "code, expected",
    [
        ("frame['a'].replace(1.0, 7.0, inplace=True)", [7.0, 2.0]),
        ("frame.a.fillna(0, inplace=True); frame.a.clip(0, 1, inplace=True)", [1.0, 1.0]),
        ("frame['a'][frame['b'] > 3] = 0", [1.0, 0.0]),
        ("frame.a[1] = 'two'", [1.0, "two"]),
        ("frame['a'].iloc[-1] = 4.0; frame.loc[:, 'a'].loc[0] = 3.0", [3.0, 4.0]),
        ("frame.loc[1, 'a'] = 'two'", [1.0, "two"]),
        ("column = frame['a']; column[0] = 6.0", [6.0, 2.0]),
        ("frame['a'].values[0] = 6.0", [6.0, 2.0]),
        ("other = frame.copy(); other['a'].values[0] = 6.0", [1.0, 2.0]),
        ("other = frame.drop('b', 1); values = other.a.values; values += 1", [1.0, 2.0]),
        ("frame[['a']].fillna(0, inplace=True); frame.a.copy()[0] = 9.0", [1.0, 2.0]),
    ],
)
def test_columns_belong_to_their_frame(script, code, expected):
    found = script(FRAME + code + "; result = frame")
    assert found["a"].tolist() == expected
    assert found["b"].tolist() == [3.0, 5.0]


def test_a_frame_s_values_can_be_written_to(script):
    values = script("frame = pd.DataFrame(np.zeros((2, 2))); v = frame.values; v += 1; result = v")
    assert values.tolist() == [[1.0, 1.0], [1.0, 1.0]]


class _Called:
    """A class of today's release."""

    def __init__(self, estimator=None, **rest):
        self.estimator, self.rest = estimator, rest


def _function(*, x=None, data=None, **rest):
    """A function of today's release."""
    return x, data, rest


def test_arguments_of_then():
    then = renamed.Then("", "x data", {"base": "estimator"}, {"iid": None, "minimum": (None,)})
    function = renamed.adapted(_function, then)
    assert function(1, 2, c=3) == (1, 2, {"c": 3})
    assert function(iid=1, minimum=None) == (None, None, {})
    assert function(minimum=0.5) == (None, None, {"minimum": 0.5})
    kind = renamed.adapted(_Called, then)
    made = kind(base=5, iid=True)
    assert type(made) is _Called and isinstance(made, kind) and made.estimator == 5

    class Own(kind):
        pass

    assert Own(base=6).estimator == 6 and not isinstance(made, Own)


def test_scikit_learn(script):
    pytest.importorskip("sklearn")
    tools = script.seen.module("sklearn.utils").class_weight
    weights = tools.compute_class_weight("balanced", [0, 1], [0, 1, 1, 1])
    assert weights.tolist() == pytest.approx([2.0, 2 / 3])
    metrics = script.seen.module("sklearn.metrics.classification")
    assert metrics.accuracy_score([1], [1]) == 1.0
    assert script.seen.module("sklearn.externals.joblib").Parallel
    trees = script.seen.module("sklearn.ensemble")
    made = trees.AdaBoostClassifier(base_estimator=None, n_estimators=3)
    assert isinstance(made, trees.AdaBoostClassifier) and made.get_params()["n_estimators"] == 3


def test_pandas_reads_with_the_arguments_of_then(script, tmp_path):
    (tmp_path / "x.csv").write_text("a;b\n1;2\n3;4;5\n")
    found = script(
        "result = pd.read_csv(file, ';', error_bad_lines=False)", file=tmp_path / "x.csv"
    )
    assert found.values.tolist() == [[1, 2]]


def test_others_see_the_methods_of_today(script):
    import pandas as pd

    script("result = 0")
    frame = pd.DataFrame({"a": [1]})
    if int(pd.__version__.partition(".")[0]) < 2:
        pytest.skip("this pandas has the old methods itself")
    with pytest.raises(AttributeError, match="append"):
        frame.append(frame)
    with pytest.raises(TypeError):
        frame.drop("a", 1)
    assert frame.drop(columns="a").shape == (1, 0)


def test_a_wrong_row_of_the_script_is_pandas_own_error(script):
    with pytest.raises(KeyError):
        script(FRAME + "result = frame.drop('absent', 1)")
    with pytest.raises(AttributeError):
        script(FRAME + "result = frame.no_such_method()")


def test_small_libraries(script):
    image = pytest.importorskip("PIL.Image")
    assert script.seen.module("PIL.Image").ANTIALIAS == image.LANCZOS
    space = script.seen.module("json")
    assert space.loads("[1]", encoding="utf-8") == [1]
    assert sorted(script.seen.module("random").sample({1, 2, 3}, 3)) == [1, 2, 3]
    script.seen.module("xml.etree.ElementTree")
    code = """
    from xml.etree import ElementTree
    result = [child.tag for child in ElementTree.fromstring("<a><b/><c/></a>").getchildren()]
    """
    assert script(code) == ["b", "c"]


def test_files_of_h5py(script, tmp_path):
    """As h5py 2.10 gives them, whose File opens to write, or makes one, where no mode is said."""
    h5py = pytest.importorskip("h5py")
    script.seen.module("h5py")
    code = """
    file = h5py.File(path)
    text = file.create_dataset("text", (2,), dtype=h5py.special_dtype(vlen=str))
    text[0] = "a cat"
    file["one"] = "abc"
    file["fixed"] = np.array([b"ab"])
    file.create_dataset("raw", (1,), dtype=h5py.special_dtype(vlen=bytes))[0] = b"xy"
    file["numbers"] = np.arange(4).reshape(2, 2)
    file.close()
    file = h5py.File(path)
    result = [
        file.mode, isinstance(file, h5py.File), file["text"][0], list(file["text"]), file["text"][:].tolist(),
        file["text"].value.tolist(), file["one"].value, file["one"][()], file["fixed"][0], list(file["raw"]),
        [row.tolist() for row in file["numbers"]],
    ]
    file.close()
    """
    path = str(tmp_path / "data.h5")
    texts = ["a cat", ""]
    strings = ["a cat", texts, texts, texts, "abc", "abc", b"ab", [b"xy"]]
    assert script(code, h5py=h5py, path=path) == ["r+", True, *strings, [[0, 1], [2, 3]]]
    with pytest.raises(OSError):
        script("h5py.File(path)", h5py=h5py, path=str(tmp_path / "none" / "data.h5"))
    if int(h5py.__version__.partition(".")[0]) > 2:
        with h5py.File(path) as file:  # everybody else's
            assert file.mode == "r" and file["text"][0] == b"a cat"


def test_attributes_of_h5py(script, tmp_path):
    """As h5py 2.10 gives them: what was written as bytes is bytes, as Keras writes a model's configuration."""
    h5py = pytest.importorskip("h5py")
    np = pytest.importorskip("numpy")
    script.seen.module("h5py")
    code = """
    attrs = h5py.File(path, "r+").attrs
    result = [
        attrs["config"].decode("utf-8"), attrs.get("config"), attrs.get("none", 3), attrs["text"],
        attrs["fixed"], [name.decode("utf-8") for name in attrs["layers"]], attrs["layers"].shape,
        list(attrs["texts"]), dict(attrs.items())["config"], b"{}" in list(attrs.values()),
        attrs.pop("config"), attrs.pop("config", None), "config" in attrs,
    ]
    """
    path = str(tmp_path / "data.h5")
    with h5py.File(path, "w") as file:
        file.attrs["config"] = b"{}"
        file.attrs["text"] = "abc"
        file.attrs["fixed"] = np.bytes_(b"xy")
        file.attrs.create("layers", [b"dense", b"dense_1"], dtype=h5py.special_dtype(vlen=bytes))
        file.attrs.create("texts", ["a", "b"], dtype=h5py.special_dtype(vlen=str))
    names = [["dense", "dense_1"], (2,), ["a", "b"]]
    taken = [b"{}", None, False]
    assert script(code, h5py=h5py, path=path) == [
        *("{}", b"{}", 3, "abc", b"xy", *names, b"{}", True),
        *taken,
    ]
    with pytest.raises(KeyError):
        script("h5py.File(path).attrs['none']", h5py=h5py, path=path)
    if int(h5py.__version__.partition(".")[0]) > 2:
        with h5py.File(path, "r+") as file:  # everybody else's
            file.attrs["config"] = b"{}"
            assert file.attrs["config"] == file.attrs.get("config") == "{}"


def test_a_text_s_size(script):
    draw = pytest.importorskip("PIL.ImageDraw")
    from PIL import Image

    script.seen.module("PIL.ImageDraw")
    canvas = draw.Draw(Image.new("L", (90, 30)))
    width, height = script("result = canvas.textsize('tpu')", canvas=canvas)
    assert 0 < height < width


@pytest.mark.parametrize(
    "since, expected",
    [("python 3.0", True), ("python 99.0", False), ("numpy 0.1", True), ("absent 1.0", False)],
)
def test_changes_are_in_force_from_a_release_on(since, expected):
    pytest.importorskip("numpy")
    assert surroundings.in_force(Changed("x:y", since)) is expected
