"""One row per name that an old script takes from around TensorFlow and that is gone.

The comment at each group cites the release that removed it. A row serves only where the installed release
lacks the name.
"""

from __future__ import annotations

from typing import Mapping

from tpucompat.legacy.rows import Constant, Moved, Row, StandIn

ROWS: Mapping[str, Mapping[str, Row]] = {
    "numpy": {
        # NumPy 1.24 (release notes, "Expired deprecations") removed the aliases of Python's own types.
        "bool": Moved("builtins:bool"),
        "int": Moved("builtins:int"),
        "float": Moved("builtins:float"),
        "complex": Moved("builtins:complex"),
        "object": Moved("builtins:object"),
        "str": Moved("builtins:str"),
        "long": Moved("builtins:int"),
        "unicode": Moved("builtins:str"),
        "typeDict": Moved("numpy:sctypeDict"),
        # NumPy 2.0 (migration guide) removed these names.
        "float_": Moved("numpy:float64"),
        "complex_": Moved("numpy:complex128"),
        "longfloat": Moved("numpy:longdouble"),
        "singlecomplex": Moved("numpy:complex64"),
        "cfloat": Moved("numpy:complex128"),
        "string_": Moved("numpy:bytes_"),
        "unicode_": Moved("numpy:str_"),
        "Inf": Constant(float("inf")),
        "Infinity": Constant(float("inf")),
        "infty": Constant(float("inf")),
        "PINF": Constant(float("inf")),
        "NINF": Constant(float("-inf")),
        "NaN": Constant(float("nan")),
        "PZERO": Constant(0.0),
        "NZERO": Constant(-0.0),
        "alltrue": Moved("numpy:all"),
        "sometrue": Moved("numpy:any"),
        "product": Moved("numpy:prod"),
        "cumproduct": Moved("numpy:cumprod"),
        "round_": Moved("numpy:round"),
        "row_stack": Moved("numpy:vstack"),
        "in1d": Moved("numpy:isin"),
        "trapz": Moved("numpy:trapezoid"),
        "asfarray": StandIn("tpucompat.legacy.removed.numpy_names:asfarray"),
        "msort": StandIn("tpucompat.legacy.removed.numpy_names:msort"),
        "asscalar": StandIn("tpucompat.legacy.removed.numpy_names:asscalar"),  # removed in 1.23
        "issubsctype": Moved("numpy:issubdtype"),
        "obj2sctype": StandIn("tpucompat.legacy.removed.numpy_names:obj2sctype"),
        "find_common_type": StandIn("tpucompat.legacy.removed.numpy_names:find_common_type"),
        "mat": Moved("numpy:asmatrix"),
    },
    # Python 3.10 removed the aliases of collections.abc (What's New, "Removed").
    "collections": {
        name: Moved("collections.abc:" + name)
        for name in (
            "Awaitable",
            "ByteString",
            "Callable",
            "Collection",
            "Container",
            "Generator",
            "Hashable",
            "ItemsView",
            "Iterable",
            "Iterator",
            "KeysView",
            "Mapping",
            "MappingView",
            "MutableMapping",
            "MutableSequence",
            "MutableSet",
            "Sequence",
            "Set",
            "Sized",
            "ValuesView",
        )
    },
    "time": {"clock": StandIn("tpucompat.legacy.removed.python_names:clock")},  # Python 3.8
    "inspect": {
        # Python 3.11
        "getargspec": StandIn("tpucompat.legacy.removed.python_names:getargspec"),
        "ArgSpec": StandIn("tpucompat.legacy.removed.python_names:ArgSpec"),
    },
    "fractions": {"gcd": Moved("math:gcd")},  # Python 3.9
    "string": {  # Python 3.0; scripts ported half-way still have them
        "letters": Moved("string:ascii_letters"),
        "lowercase": Moved("string:ascii_lowercase"),
        "uppercase": Moved("string:ascii_uppercase"),
    },
    "pandas": {"np": Moved("numpy"), "datetime": Moved("datetime:datetime")},  # pandas 2.0
    "scipy": {},
    "scipy.misc": {
        # SciPy 1.0 deprecated its image functions in favour of Pillow and imageio, 1.2 and 1.3 removed them;
        # 1.10 moved comb, factorial and logsumexp for good.
        "imread": StandIn("tpucompat.legacy.removed.scipy_images:imread"),
        "imsave": StandIn("tpucompat.legacy.removed.scipy_images:imsave"),
        "imresize": StandIn("tpucompat.legacy.removed.scipy_images:imresize"),
        "imrotate": StandIn("tpucompat.legacy.removed.scipy_images:imrotate"),
        "toimage": StandIn("tpucompat.legacy.removed.scipy_images:toimage"),
        "fromimage": StandIn("tpucompat.legacy.removed.scipy_images:fromimage"),
        "bytescale": StandIn("tpucompat.legacy.removed.scipy_images:bytescale"),
        "comb": Moved("scipy.special:comb"),
        "factorial": Moved("scipy.special:factorial"),
        "logsumexp": Moved("scipy.special:logsumexp"),
        "face": Moved("scipy.datasets:face"),
        "ascent": Moved("scipy.datasets:ascent"),
    },
    "sklearn": {},
    # scikit-learn 0.23 removed its copies of other packages; 0.20 the modules before model_selection.
    "sklearn.externals": {"joblib": Moved("joblib"), "six": Moved("six")},
    "sklearn.cross_validation": {
        name: Moved("sklearn.model_selection:" + name)
        for name in (
            "train_test_split",
            "cross_val_score",
            "KFold",
            "StratifiedKFold",
            "ShuffleSplit",
        )
    },
    "sklearn.grid_search": {
        name: Moved("sklearn.model_selection:" + name)
        for name in ("GridSearchCV", "RandomizedSearchCV", "ParameterGrid")
    },
    "imp": {},
    # TensorFlow 1.x (framework/meta_graph.py) imported distutils.version: `import distutils` is enough for
    # a script to find it.
    "distutils": {},
    "distutils.version": {},
    "distutils.util": {},
    "google": {},
    "google.colab": {},
}

#: Modules that are gone as a whole -> what stands for them; None is a module that has only its rows.
MODULES: Mapping[str, str | None] = {
    "imp": "tpucompat.legacy.removed.imp_module",  # Python 3.12
    "scipy.misc": None,  # SciPy 1.12 emptied it, 2.0 removes it
    "sklearn.externals": None,
    "sklearn.cross_validation": None,
    "sklearn.grid_search": None,
    "distutils": None,  # Python 3.12, from which on setuptools may bring it
    "distutils.version": "tpucompat.legacy.removed.distutils_names",
    "distutils.util": "tpucompat.legacy.removed.distutils_names",
    "google": None,
    "google.colab": "tpucompat.legacy.colab",  # exists on Colab only; what lies below it too
}

#: First parts of names -> whether all below is looked at here; of google's packages only one is.
ROOTS: Mapping[str, bool] = {
    **dict.fromkeys((name.partition(".")[0] for name in ROWS), True),
    "google": False,
}
