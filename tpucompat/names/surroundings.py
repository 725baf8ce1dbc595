"""One row per name that an old script takes from around TensorFlow and that is gone or has changed.

The comment at each group cites the release that removed it. A row serves only where the installed release
lacks the name, or is one of those that have changed it.
"""

from __future__ import annotations

from typing import Mapping

from tpucompat.names import renamed
from tpucompat.names.rows import Changed, Constant, Moved, Row, StandIn

_NUMPY = "tpucompat.standins.numpy_names:"
_RAGGED = "tpucompat.standins.ragged:"
_TAKES_RAGGED = """
append array_split asanyarray ascontiguousarray delete expand_dims insert ndim ravel repeat reshape save savez
savez_compressed shape size split squeeze take tile transpose unique
"""
_PANDAS = "tpucompat.standins.pandas_names:"
_VIEWS = "tpucompat.standins.pandas_views:"
_PYTHON = "tpucompat.standins.python_names:"
_SMALL = "tpucompat.standins.library_names:"

# scikit-learn 0.22 gave its private modules names with an underscore, and 0.24 removed the others.
_PRIVATE_OF_SKLEARN = {
    "cluster": ("k_means_", "hierarchical"),
    "decomposition": ("pca", "truncated_svd"),
    "ensemble": ("bagging", "forest", "gradient_boosting", "weight_boosting"),
    "linear_model": ("base", "coordinate_descent", "logistic", "ridge", "stochastic_gradient"),
    "manifold": ("t_sne",),
    "metrics": ("classification", "ranking", "regression", "scorer"),
    "neighbors": ("classification", "regression", "unsupervised"),
    "preprocessing": ("data", "imputation", "label"),
    "svm": ("classes",),
    "tree": ("tree",),
}

ROWS: Mapping[str, Mapping[str, Row]] = {
    # NumPy 2.0 (migration guide) took its functions out of numpy.lib, where they were as well.
    "numpy.lib": {
        name: Moved("numpy:" + name)
        for name in (
            *("average", "flip", "interp", "median", "meshgrid", "pad", "percentile", "tile"),
            "unique",
        )
    },
    "numpy.random": {"permutation": Changed(_RAGGED + "random_permutation", "numpy 1.24")},
    "numpy": {
        "array": Changed(_NUMPY + "array", "numpy 1.20"),
        "asarray": Changed(_NUMPY + "asarray", "numpy 1.20"),
        "load": Changed(_NUMPY + "load", "numpy 1.16.3"),
        "fromstring": Changed(_NUMPY + "fromstring", "numpy 2.3"),
        "linspace": Changed(_NUMPY + "linspace", "numpy 1.18"),
        "sum": Changed(_NUMPY + "sum_", "numpy 2.4"),
        **{
            name: Changed(_NUMPY + name, "numpy 1.16")
            for name in ("column_stack", "concatenate", "dstack", "hstack", "stack", "vstack")
        },
        **{
            name: Changed(_NUMPY + name, "numpy 2.0")
            for name in ("atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "meshgrid")
        },
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
        "asfarray": StandIn(_NUMPY + "asfarray"),
        "msort": StandIn(_NUMPY + "msort"),
        "asscalar": StandIn(_NUMPY + "asscalar"),  # removed in 1.23
        "issubsctype": Moved("numpy:issubdtype"),
        "obj2sctype": StandIn(_NUMPY + "obj2sctype"),
        "find_common_type": StandIn(_NUMPY + "find_common_type"),
        "mat": Moved("numpy:asmatrix"),
        "NAN": Constant(float("nan")),
        # NumPy 2.0 keeps them in other modules (numpy/_expired_attrs_2_0.py).
        **{
            name: Moved("numpy.exceptions:" + name)
            for name in (
                *("AxisError", "ComplexWarning", "ModuleDeprecationWarning", "RankWarning"),
                *("TooHardError", "VisibleDeprecationWarning"),
            )
        },
        "DataSource": Moved("numpy.lib.npyio:DataSource"),
        "byte_bounds": Moved("numpy.lib.array_utils:byte_bounds"),
        "compare_chararrays": Moved("numpy.char:compare_chararrays"),
        "format_parser": Moved("numpy.rec:format_parser"),
        "clongfloat": Moved("numpy:clongdouble"),
        "longcomplex": Moved("numpy:clongdouble"),
        "issubclass_": Moved("builtins:issubclass"),
        "safe_eval": Moved("ast:literal_eval"),
        "disp": Moved("builtins:print"),  # 2.3
        # NumPy 1.24 and earlier.
        "bool8": Moved("numpy:bool_"),
        "bytes0": Moved("numpy:bytes_"),
        "int0": Moved("numpy:intp"),
        "object0": Moved("numpy:object_"),
        "str0": Moved("numpy:str_"),
        "uint0": Moved("numpy:uintp"),
        "void0": Moved("numpy:void"),
        "loads": Moved("pickle:loads"),
        "rank": Moved("numpy:ndim"),
        "sys": Moved("sys"),
        "math": Moved("math"),  # 1.25: what NumPy had merely imported
        "warnings": Moved("warnings"),
        **{name: Changed(_RAGGED + name, "numpy 1.24") for name in _TAKES_RAGGED.split()},
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
    "time": {"clock": StandIn(_PYTHON + "clock")},  # Python 3.8
    "inspect": {
        # Python 3.11
        "getargspec": StandIn(_PYTHON + "getargspec"),
        "ArgSpec": StandIn(_PYTHON + "ArgSpec"),
    },
    "fractions": {"gcd": Moved("math:gcd")},  # Python 3.9
    "string": {  # Python 3.0; scripts ported half-way still have them
        "letters": Moved("string:ascii_letters"),
        "lowercase": Moved("string:ascii_lowercase"),
        "uppercase": Moved("string:ascii_uppercase"),
    },
    "itertools": {  # Python 3.0: what returned lists is the built-in function of now
        "ifilter": Moved("builtins:filter"),
        "ifilterfalse": Moved("itertools:filterfalse"),
        "imap": Moved("builtins:map"),
        "izip": Moved("builtins:zip"),
        "izip_longest": Moved("itertools:zip_longest"),
    },
    # Python 3.0 (PEP 3108) divided it into modules.
    "urllib": {
        **{
            name: Moved("urllib.request:" + name)
            for name in (
                *("FancyURLopener", "URLopener", "pathname2url", "url2pathname", "urlcleanup"),
                *("urlopen", "urlretrieve"),
            )
        },
        **{
            name: Moved("urllib.parse:" + name)
            for name in ("quote", "quote_plus", "unquote", "unquote_plus", "urlencode")
        },
    },
    "json": {  # Python 3.9
        **renamed.rows("json"),
    },
    "random": {"sample": Changed(_PYTHON + "sample", "python 3.11")},
    "base64": {  # Python 3.9
        "encodestring": Moved("base64:encodebytes"),
        "decodestring": Moved("base64:decodebytes"),
    },
    "configparser": {"SafeConfigParser": Moved("configparser:ConfigParser")},  # Python 3.12
    "pandas": {
        "np": Moved("numpy"),  # pandas 2.0
        "datetime": Moved("datetime:datetime"),  # pandas 2.0
        "get_dummies": Changed(_PANDAS + "get_dummies", "pandas 2.0"),
        "read_csv": Changed(_PANDAS + "read_csv", "pandas 2.0"),
        "read_table": Changed(_PANDAS + "read_table", "pandas 2.0"),
        "value_counts": StandIn(_PANDAS + "value_counts"),  # pandas 3.0
        **renamed.rows("pandas"),
    },
    "pandas.io": {},
    "pandas.io.json": {"json_normalize": Moved("pandas:json_normalize")},  # pandas 2.0
    "pandas.tools": {},  # pandas 0.20 deprecated it, 1.0 removed it
    "pandas.tools.plotting": {},
    "PIL": {},
    # Pillow 10.0 (release notes, "Constants") removed the other names of its filters.
    "PIL.Image": {
        "ANTIALIAS": Moved("PIL.Image:LANCZOS"),
        "LINEAR": Moved("PIL.Image:BILINEAR"),
        "CUBIC": Moved("PIL.Image:BICUBIC"),
    },
    "matplotlib": {},
    "matplotlib.cm": {"get_cmap": StandIn(_SMALL + "get_cmap")},  # matplotlib 3.9
    "seaborn": {
        "factorplot": StandIn(_SMALL + "factorplot"),  # 0.11
        "plt": Moved("matplotlib.pyplot"),  # 0.8
        **renamed.rows("seaborn"),
    },
    "yaml": {"load": Changed(_SMALL + "yaml_load", "yaml 6.0")},
    # gast 0.3, after Python 3.8; tensorflow-probability 0.8 has them.
    "gast": {
        name: Moved("gast:Constant") for name in ("Bytes", "Ellipsis", "NameConstant", "Num", "Str")
    },
    "scipy": {},
    "scipy.ndimage": {  # SciPy 1.2
        "imread": StandIn("tpucompat.standins.scipy_images:imread"),
    },
    "scipy.signal": {  # SciPy 1.13 left them in scipy.signal.windows alone
        name: Moved("scipy.signal.windows:" + name)
        for name in (
            *("barthann", "bartlett", "blackman", "blackmanharris", "bohman", "boxcar", "chebwin"),
            *(
                "cosine",
                "exponential",
                "flattop",
                "gaussian",
                "general_gaussian",
                "hamming",
                "hann",
            ),
            *("hanning", "kaiser", "nuttall", "parzen", "triang", "tukey"),
        )
    },
    "scipy.stats": {  # SciPy 1.9 and 1.11
        "itemfreq": StandIn(_SMALL + "itemfreq"),
        "median_absolute_deviation": StandIn(_SMALL + "median_absolute_deviation"),
    },
    "scipy.misc": {
        # SciPy 1.0 deprecated its image functions in favour of Pillow and imageio, 1.2 and 1.3 removed them;
        # 1.10 moved comb, factorial and logsumexp for good.
        "imread": StandIn("tpucompat.standins.scipy_images:imread"),
        "imsave": StandIn("tpucompat.standins.scipy_images:imsave"),
        "imresize": StandIn("tpucompat.standins.scipy_images:imresize"),
        "imrotate": StandIn("tpucompat.standins.scipy_images:imrotate"),
        "toimage": StandIn("tpucompat.standins.scipy_images:toimage"),
        "fromimage": StandIn("tpucompat.standins.scipy_images:fromimage"),
        "bytescale": StandIn("tpucompat.standins.scipy_images:bytescale"),
        "comb": Moved("scipy.special:comb"),
        "factorial": Moved("scipy.special:factorial"),
        "logsumexp": Moved("scipy.special:logsumexp"),
        "face": Moved("scipy.datasets:face"),
        "ascent": Moved("scipy.datasets:ascent"),
    },
    "sklearn": {},
    "sklearn.cluster": renamed.rows("sklearn.cluster"),
    "sklearn.ensemble": renamed.rows("sklearn.ensemble"),
    "sklearn.linear_model": renamed.rows("sklearn.linear_model"),
    "sklearn.manifold": renamed.rows("sklearn.manifold"),
    "sklearn.metrics": {
        "jaccard_similarity_score": StandIn(_SMALL + "jaccard_similarity_score"),  # 0.23
        "mean_squared_error": Changed(_SMALL + "mean_squared_error", "sklearn 1.6"),
        "plot_confusion_matrix": StandIn(_SMALL + "plot_confusion_matrix"),  # 1.2
        **renamed.rows("sklearn.metrics"),
    },
    "sklearn.model_selection": renamed.rows("sklearn.model_selection"),
    "sklearn.preprocessing": {
        "Imputer": StandIn(_SMALL + "Imputer"),  # scikit-learn 0.22
        **renamed.rows("sklearn.preprocessing"),
    },
    "sklearn.tree": renamed.rows("sklearn.tree"),
    "sklearn.utils": {},
    "sklearn.utils.class_weight": {
        "compute_class_weight": Changed(_SMALL + "compute_class_weight", "sklearn 1.0")
    },
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
    "kaggle_datasets": {},
    "kaggle_secrets": {},
}

#: Modules that are gone as a whole -> what stands for them; None is a module that has only its rows.
MODULES: Mapping[str, str | None] = {
    "imp": "tpucompat.standins.imp_module",  # Python 3.12
    "scipy.misc": None,  # SciPy 1.12 emptied it, 2.0 removes it
    "sklearn.externals": None,
    "sklearn.cross_validation": None,
    "sklearn.grid_search": None,
    "sklearn.externals.joblib": "joblib",
    "sklearn.externals.six": "six",
    **{
        f"sklearn.{package}.{name}": "sklearn." + package
        for package, names in _PRIVATE_OF_SKLEARN.items()
        for name in names
    },
    "pandas.tools": None,
    "pandas.tools.plotting": "pandas.plotting",
    "distutils": None,  # Python 3.12, from which on setuptools may bring it
    "distutils.version": "tpucompat.standins.distutils_names",
    "distutils.util": "tpucompat.standins.distutils_names",
    "google": None,
    "google.colab": "tpucompat.standins.colab",  # exists on Colab only; what lies below it too
    "kaggle_datasets": "tpucompat.standins.kaggle.datasets",  # these exist on Kaggle only
    "kaggle_secrets": "tpucompat.standins.kaggle.secrets",
}

#: Modules that exist in one place only, so that an import may be the question whether the script is there ->
#: the variables by which the user answers it: what the place has is offered here.
PLACES: Mapping[str, tuple[str, ...]] = {
    "google.colab": ("TPUCOMPAT_DRIVE", "TPUCOMPAT_DOWNLOADS", "TPUCOMPAT_UPLOADS"),
    "kaggle_datasets": ("TPUCOMPAT_KAGGLE_INPUT",),
    "kaggle_secrets": ("TPUCOMPAT_KAGGLE_INPUT",),
}

# pandas 3.0: arrays of frames can be written to no longer, nor what they are made of change its type.
_VIEWED = {
    name: Changed(_VIEWS + name, "pandas 3.0")
    for name in ("at", "iat", "iloc", "loc", "to_numpy", "values")
}

#: Module -> class, or what leads to it -> attributes that are gone or changed; see
#: :mod:`tpucompat.standins.attributes`.
ATTRIBUTES: Mapping[str, Mapping[str, Mapping[str, Row]]] = {
    "numpy": {
        "ndarray": {
            # Seen in NumPy 2.0 and 2.1 to be there still, and to raise where they are asked for.
            "itemset": Changed(_NUMPY + "itemset", "numpy 2.0"),
            "newbyteorder": Changed(_NUMPY + "newbyteorder", "numpy 2.0"),
            "ptp": Changed(_NUMPY + "ptp", "numpy 2.0"),
            "tostring": StandIn(_NUMPY + "tostring"),  # NumPy 2.3
        },
        "generic": {"tostring": StandIn(_NUMPY + "tostring")},
    },
    "pandas": {
        "DataFrame": {
            # pandas 1.0
            "as_matrix": StandIn(_PANDAS + "as_matrix"),
            "from_csv": StandIn(_PANDAS + "frame_from_csv"),
            "from_items": StandIn(_PANDAS + "frame_from_items"),
            "get_values": StandIn(_PANDAS + "get_values"),
            "get_value": StandIn(_PANDAS + "get_value"),
            "ix": StandIn(_PANDAS + "ix"),
            "set_value": StandIn(_PANDAS + "set_value"),
            # pandas 2.0
            "append": StandIn(_PANDAS + "frame_append"),
            "iteritems": StandIn(_PANDAS + "iteritems"),
            "lookup": StandIn(_PANDAS + "lookup"),
            "mad": StandIn(_PANDAS + "mad"),
            **{
                name: Changed(_PANDAS + "frame_" + name, "pandas 2.0")
                for name in (
                    *("drop", "dropna", "reset_index", "set_index", "sort_index", "sort_values"),
                    *("pivot", "set_axis"),
                    *("corr", "cov", "kurt", "mean", "median", "quantile", "skew", "std", "var"),
                )
            },
            # pandas 3.0
            "applymap": StandIn(_PANDAS + "applymap"),
            "fillna": Changed(_PANDAS + "fillna", "pandas 2.0"),
            "to_csv": Changed(_PANDAS + "to_csv", "pandas 3.0"),
            "__getattr__": Changed(_VIEWS + "frame_getattr", "pandas 3.0"),
            "__getitem__": Changed(_VIEWS + "frame_getitem", "pandas 3.0"),
            **_VIEWED,
        },
        "Series": {
            "append": StandIn(_PANDAS + "series_append"),
            "as_matrix": StandIn(_PANDAS + "as_matrix"),
            "drop": Changed(_PANDAS + "series_drop", "pandas 2.0"),
            "from_csv": StandIn(_PANDAS + "series_from_csv"),
            "get_value": StandIn(_PANDAS + "get_value"),
            "get_values": StandIn(_PANDAS + "get_values"),
            "iteritems": StandIn(_PANDAS + "iteritems"),
            "mad": StandIn(_PANDAS + "mad"),
            "ix": StandIn(_PANDAS + "ix"),
            "reset_index": Changed(_PANDAS + "series_reset_index", "pandas 2.0"),
            "set_value": StandIn(_PANDAS + "set_value"),
            "sort_values": Changed(_PANDAS + "series_sort_values", "pandas 2.0"),
            "fillna": Changed(_VIEWS + "series_fillna", "pandas 2.0"),
            # pandas 3.0: what changes a column in place changes its frame no longer
            **{
                name: Changed(_VIEWS + "series_" + name, "pandas 3.0")
                for name in (
                    *("replace", "clip", "interpolate", "ffill", "bfill", "mask", "where"),
                    "update",
                )
            },
            "__setitem__": Changed(_VIEWS + "series_setitem", "pandas 3.0"),
            **_VIEWED,
        },
        "Series.str": {  # pandas 2.0
            "replace": Changed(_PANDAS + "text_replace", "pandas 2.0"),
            "split": Changed(_PANDAS + "text_split", "pandas 2.0"),
            "rsplit": Changed(_PANDAS + "text_rsplit", "pandas 2.0"),
        },
        **{
            owner: {
                name: StandIn(_PANDAS + "week") for name in ("week", "weekofyear")
            }  # pandas 2.0
            for owner in ("DatetimeIndex", "core.indexes.accessors.DatetimeProperties")
        },
        "core.groupby.DataFrameGroupBy": {
            "__getitem__": Changed(_PANDAS + "grouped_columns", "pandas 2.0")
        },
    },
    "h5py": {
        "AttributeManager": {
            name: Changed(_SMALL + "h5_attribute" + suffix, "h5py 3.0")
            for name, suffix in (
                *(("__getitem__", ""), ("get", "_or"), ("items", "_items")),
                *(("pop", "_taken"), ("values", "_values")),
            )
        },
        "Dataset": {
            "value": StandIn(_SMALL + "value"),  # h5py 3.0
            "__getitem__": Changed(_SMALL + "h5_item", "h5py 3.0"),
            "__iter__": Changed(_SMALL + "h5_items", "h5py 3.0"),
        },
        "File": {"__init__": Changed(_SMALL + "open_h5", "h5py 3.0")},
    },
    "PIL.ImageDraw": {"ImageDraw": {"textsize": StandIn(_SMALL + "textsize")}},  # Pillow 10
    "PIL.ImageFont": {
        "FreeTypeFont": {"getsize": StandIn(_SMALL + "getsize")},
        "ImageFont": {"getsize": StandIn(_SMALL + "getsize")},
    },
    "builtins": {  # Python 3.0
        "dict": {
            name: StandIn(_PYTHON + name)
            for name in (
                *("has_key", "iteritems", "iterkeys", "itervalues"),
                *("viewitems", "viewkeys", "viewvalues"),
            )
        }
    },
    "array": {  # Python 3.9
        "array": {
            "fromstring": StandIn(_PYTHON + "fromstring"),
            "tostring": StandIn(_PYTHON + "tostring"),
        }
    },
    "threading": {"Thread": {"isAlive": StandIn(_PYTHON + "is_alive")}},  # Python 3.9
    "xml.etree.ElementTree": {  # Python 3.9
        "Element": {
            "getchildren": StandIn(_PYTHON + "getchildren"),
            "getiterator": StandIn(_PYTHON + "getiterator"),
        },
        "ElementTree": {"getiterator": StandIn(_PYTHON + "getiterator")},
    },
    "unittest": {  # Python 3.12
        "TestCase": {
            name: StandIn(_PYTHON + name)
            for name in (
                *("assertEquals", "assertNotEquals", "assertAlmostEquals", "assert_"),
                *("assertNotAlmostEquals", "assertRegexpMatches", "assertNotRegexpMatches"),
                "assertRaisesRegexp",
            )
        }
    },
}

#: Module -> what is called when a script first imports it, where the release has the setting. It is given
#: the test for the script's own modules.
SETTINGS: Mapping[str, Changed] = {
    "numpy": Changed(_NUMPY + "restore_numbers", "numpy 1.13"),
    "pandas": Changed(_PANDAS + "keep_text_as_objects", "pandas 3.0"),
    "matplotlib.pyplot": Changed(_SMALL + "add_styles_without_version", "matplotlib 3.6"),
    "matplotlib.style": Changed(_SMALL + "add_styles_without_version", "matplotlib 3.6"),
}

#: First parts of names -> whether all below is looked at here: of google's packages only one is, and some
#: imports are questions.
ROOTS: Mapping[str, bool] = {
    **dict.fromkeys((name.partition(".")[0] for name in (*ROWS, *ATTRIBUTES, *SETTINGS)), True),
    **dict.fromkeys((name.partition(".")[0] for name in PLACES), False),
}
