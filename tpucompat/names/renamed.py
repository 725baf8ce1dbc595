"""Functions and classes that take other arguments now: renamed, without positions, or fewer.

A row's target is made when it is asked for, from the table below: ``renamed:sklearn_manifold.TSNE``.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from typing import Any, Mapping, NamedTuple

from tpucompat.names.rows import Changed


class Then(NamedTuple):
    """How a callable was called.

    Attributes:
      since: The release that ended it.
      order: Its arguments by position, where it takes fewer now.
      first: How many of them still go by position.
      renamed: Old keyword -> its name now.
      dropped: Keyword that is gone -> the values of it that say what is now the rule; None: all do.
    """

    since: str
    order: str = ""
    renamed: Mapping[str, str] = {}
    dropped: Mapping[str, tuple[Any, ...] | None] = {}
    first: int = 0


_CATEGORIES = Then("seaborn 0.12", "x y hue data order hue_order")
_RELATION = Then("seaborn 0.12", "x y hue size style data")
_REGRESSION = Then("seaborn 0.12", "x y data")
_GRID = Then("seaborn 0.12", "data row col hue", {"size": "height"})  # renamed in 0.9
_ESTIMATOR = Then("sklearn 1.2", renamed={"base_estimator": "estimator"})
_TREE = Then("sklearn 0.24", dropped={"min_impurity_split": (None,), "presort": None})
_SEARCH = Then("sklearn 0.24", dropped={"iid": None})
_SCORE = Then("sklearn 1.4", renamed={"fit_params": "params"})
_RANGE = Then("pandas 2.0", renamed={"closed": "inclusive"}, dropped={"closed": (None,)})
_LINEAR = Then("sklearn 1.2", dropped={"normalize": (False,)})

#: Module -> name -> how it was called.
CALLS: Mapping[str, Mapping[str, Then]] = {
    "json": dict.fromkeys(("load", "loads"), Then("python 3.9", dropped={"encoding": None})),
    "pandas": {
        "concat": Then(
            "pandas 2.0",
            "objs axis join ignore_index keys levels names verify_integrity sort copy",
            first=1,
        ),
        **dict.fromkeys(("bdate_range", "date_range"), _RANGE),
        "to_datetime": Then("pandas 2.0", dropped={"infer_datetime_format": None}),
    },
    "seaborn": {
        **dict.fromkeys(("barplot", "boxenplot", "boxplot", "countplot"), _CATEGORIES),
        **dict.fromkeys(("pointplot", "stripplot", "swarmplot", "violinplot"), _CATEGORIES),
        **dict.fromkeys(("lineplot", "relplot", "scatterplot"), _RELATION),
        **dict.fromkeys(("regplot", "residplot"), _REGRESSION),
        "catplot": Then("seaborn 0.12", "x y hue data", {"size": "height"}),
        "jointplot": Then("seaborn 0.12", "x y data kind", {"size": "height"}),
        "lmplot": Then("seaborn 0.12", "x y data hue col row", {"size": "height"}),
        "pairplot": Then("seaborn 0.12", "data hue", {"size": "height"}),
        "FacetGrid": _GRID,
        "PairGrid": Then("seaborn 0.12", "data", {"size": "height"}),
    },
    "sklearn.cluster": {
        "KMeans": Then("sklearn 1.0", dropped={"n_jobs": None, "precompute_distances": None})
    },
    "sklearn.ensemble": {
        **dict.fromkeys(("AdaBoostClassifier", "AdaBoostRegressor"), _ESTIMATOR),
        **dict.fromkeys(("BaggingClassifier", "BaggingRegressor"), _ESTIMATOR),
        **dict.fromkeys(("ExtraTreesClassifier", "ExtraTreesRegressor"), _TREE),
        **dict.fromkeys(("RandomForestClassifier", "RandomForestRegressor"), _TREE),
        **dict.fromkeys(("GradientBoostingClassifier", "GradientBoostingRegressor"), _TREE),
    },
    "sklearn.linear_model": {
        **dict.fromkeys(("ElasticNet", "Lasso", "LinearRegression", "Ridge", "RidgeCV"), _LINEAR),
        "LogisticRegression": Then(
            "sklearn 1.7", dropped={"multi_class": ("auto", "multinomial", "warn")}
        ),
    },
    "sklearn.manifold": {"TSNE": Then("sklearn 1.5", renamed={"n_iter": "max_iter"})},
    "sklearn.metrics": {"log_loss": Then("sklearn 1.5", dropped={"eps": None})},
    "sklearn.model_selection": {
        **dict.fromkeys(("GridSearchCV", "RandomizedSearchCV"), _SEARCH),
        **dict.fromkeys(("cross_val_predict", "cross_val_score"), _SCORE),
    },
    "sklearn.preprocessing": {
        "OneHotEncoder": Then("sklearn 1.2", renamed={"sparse": "sparse_output"})
    },
    "sklearn.tree": dict.fromkeys(("DecisionTreeClassifier", "DecisionTreeRegressor"), _TREE),
}

_LABELS = "labels axis index columns level inplace errors"
_AXIS = "axis ascending inplace kind na_position"
_PATTERN = Then("pandas 2.0", "pat n expand", first=1)

#: Class of pandas -> method -> how it was called.
METHODS: Mapping[str, Mapping[str, Then]] = {
    "DataFrame": {
        "drop": Then("pandas 2.0", _LABELS, first=1),
        "dropna": Then("pandas 2.0", "axis how thresh subset inplace"),
        "reset_index": Then("pandas 2.0", "level drop inplace col_level col_fill", first=1),
        "set_index": Then("pandas 2.0", "keys drop append inplace verify_integrity", first=1),
        "sort_index": Then("pandas 2.0", "axis level ascending inplace kind"),
        "sort_values": Then("pandas 2.0", "by " + _AXIS, first=1),
        "to_csv": Then(
            "pandas 3.0",
            "path_or_buf sep na_rep float_format columns header index index_label mode encoding",
            {"line_terminator": "lineterminator"},
            first=1,
        ),
        "pivot": Then("pandas 2.0", "index columns values"),
        "set_axis": Then(
            "pandas 2.0", "labels axis inplace", dropped={"inplace": (False,)}, first=1
        ),
    },
    "Series": {
        "drop": Then("pandas 2.0", _LABELS, first=1),
        "reset_index": Then("pandas 2.0", "level drop name inplace", first=1),
        "sort_values": Then("pandas 2.0", _AXIS),
    },
    "Series.str": {"split": _PATTERN, "rsplit": _PATTERN},
}


def rows(module: str) -> dict[str, Changed]:
    """The rows of a module's callables."""
    prefix = f"{__name__}:{module.replace('.', '_')}."
    return {name: Changed(prefix + name, then.since) for name, then in CALLS[module].items()}


def as_now(
    then: Then, args: tuple[Any, ...], options: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call as the installed release takes them."""
    kept = {}
    for key, value in options.items():
        meant = then.dropped.get(key, ())
        if meant is not None and not any(value is one or value == one for one in meant):
            kept[then.renamed.get(key, key)] = value
    names = then.order.split()
    # A table of data by itself is what the releases of today take by position, too.
    if not names or len(args) > len(names) or (len(args) == 1 and hasattr(args[0], "columns")):
        return args, kept
    return (), {**dict(zip(names, args)), **kept}


def adapted(real: Any, then: Then) -> Any:
    """A function or class that is called as it was, and gives what the real one gives."""
    if inspect.isclass(real):
        return _adapted_class(real, then)

    @functools.wraps(real)
    def call(*args: Any, **options: Any) -> Any:
        args, options = as_now(then, args, options)
        return real(*args, **options)

    return call


def _adapted_class(real: type, then: Then) -> type:
    """Makes objects of the real class; a subclass of the script's is a subclass of that."""

    class Kind(type(real)):  # type: ignore[misc]
        def __call__(cls, *args: Any, **options: Any) -> Any:
            args, options = as_now(then, args, options)
            return type.__call__(real if cls is made else cls, *args, **options)

        def __instancecheck__(cls, instance: Any) -> bool:
            return (
                isinstance(instance, real) if cls is made else super().__instancecheck__(instance)
            )

    made = Kind(real.__name__, (real,), {"__module__": real.__module__, "__doc__": real.__doc__})
    return made


class _Module:
    """The callables of one module, made when they are asked for."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        real = getattr(importlib.import_module(self._module), name)
        return adapted(real, CALLS[self._module][name])


def __getattr__(name: str) -> Any:
    modules = {module.replace(".", "_"): module for module in CALLS}
    if name not in modules:
        raise AttributeError(name)
    return _Module(modules[name])
