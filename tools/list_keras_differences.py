"""Writes what Keras 3 offers otherwise than ``tf.keras`` of TensorFlow 1.15 did, or not at all.

    python tools/list_keras_differences.py PYTHON115 > tpucompat/names/tables/keras_3.txt

Run it with the latest TensorFlow, Keras 3 and tf-keras; PYTHON115 is a Python with TensorFlow 1.15. Each
public class and function of ``tf.keras`` is compared by its signature, its members and what it takes
from ``**kwargs``:

    symbol NAME KERAS2              tf.keras has it no more; whether tf-keras does
    standalone NAME                 tf.keras has it, and the package keras alone does not
    argument OWNER NAME HOW         it is no parameter any more: refused, or taken all the same
    order OWNER OLD NEW             an argument's place means another parameter; both lists
    default OWNER NAME OLD NEW      where nothing is given, another value is taken
    member OWNER NAME KERAS2        a method or attribute of its objects that is gone, by the class or an object
    base OWNER NAMES                the public classes above one, the nearest first

What a class has from a public class above it is said of that class alone.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import subprocess
import sys
import types
import warnings

import numpy

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
warnings.filterwarnings("ignore")

HEADER = """\
# What Keras {keras} has otherwise than tf.keras of TensorFlow 1.15, and what tf-keras {tf_keras} keeps. Written
# by tools/list_keras_differences.py, which describes the lines; do not edit.
"""
_POPPED = re.compile(r"""kwargs\.(?:pop|get)\(\s*['"](\w+)['"]|['"](\w+)['"] in kwargs""")
_ALLOWED = re.compile(r"allowed_kwargs = (\{[^}]*\})")
#: Arguments without which nothing can be made, by their names.
_NEEDED = {
    "units": 1,
    "filters": 1,
    "kernel_size": 1,
    "input_dim": 2,
    "output_dim": 1,
    "filepath": "w.weights.h5",
    "function": len,
    "n": 1,
    "rate": 0.5,
    "stddev": 0.5,
    "dims": (1,),
    "target_shape": (1,),
    "axes": 1,
    "filename": "log",
    "schedule": len,
}
_SAMPLES = {
    "input_shape": (4,),
    "batch_input_shape": (2, 4),
    "batch_size": 2,
    "weights": [],
    "period": 1,
    "lr": 0.1,
    "decay": 0.1,
    "clipnorm": 1.0,
    "clipvalue": 1.0,
    "nb_epoch": 1,
    "trainable": True,
    "name": "given",
    "dtype": "float32",
}


def signature(function):
    """[name, kind, default] of each parameter, but for ``self``; None where nobody can tell."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    found = []
    for one in parameters:
        text = "" if one.default is one.empty else repr(one.default)
        plain = len(text) < 40 and " at 0x" not in text and not text.startswith("<")
        if one.name not in ("self", "instance"):
            found.append([one.name, int(one.kind), text.replace(" ", "") if plain else "?"])
    return found


def from_kwargs(functions):
    """What functions take out of their ``**kwargs``, by their source."""
    found = set()
    for function in functions:
        try:
            source = inspect.getsource(function)
        except (TypeError, OSError):
            continue
        found.update(a or b for a, b in _POPPED.findall(source))
        for group in _ALLOWED.findall(source):
            found.update(ast.literal_eval(group))
    return sorted(found)


def describe(keras):
    """Name -> what a public class or function of a Keras is; without private ones."""
    found, identities = {}, {}
    waiting = [("", keras)]
    while waiting:
        prefix, module = waiting.pop()
        for name in dir(module):
            full = (prefix + "." + name).lstrip(".")
            if name.startswith("_") or full.split(".")[0] in ("src", "api", "legacy"):
                continue
            try:
                value = getattr(module, name)
            except Exception:
                continue
            if isinstance(value, types.ModuleType):
                if "keras" in value.__name__ and full.count(".") < 3:
                    waiting.append((full, value))
            elif inspect.isclass(value):
                found[full] = describe_class(value, keras)
                identities.setdefault(value, full)
                if full.count(".") < identities[value].count("."):
                    identities[value] = full
            elif callable(value):
                found[full] = {
                    "parameters": signature(value),
                    "kwargs": from_kwargs([value]),
                }
    for one in found.values():
        if "bases" in one:
            one["bases"] = [identities[base] for base in one["bases"] if base in identities]
    return found


def describe_class(value, keras):
    """Its constructor, its public members and the classes above it."""
    members = {}
    for name in dir(value):
        if not name.startswith("_"):
            static = inspect.getattr_static(value, name, None)
            is_method = callable(getattr(value, name, None)) and not isinstance(static, property)
            members[name] = signature(getattr(value, name)) if is_method else None
    makers = [one.__init__ for one in value.__mro__ if "__init__" in vars(one)]
    return {
        "parameters": signature(value.__init__),
        "kwargs": from_kwargs(makers),
        "members": members,
        "held": held(value, keras),
        "bases": list(value.__mro__[1:]),
    }


def needed(value):
    """Arguments without which nothing can be made of a class."""
    parameters = inspect.signature(value.__init__).parameters.values()
    return {
        one.name: _NEEDED[one.name]
        for one in parameters
        if one.default is one.empty and one.name in _NEEDED and int(one.kind) in (0, 1, 3)
    }


def held(value, keras):
    """The public attributes of an object of a class, those of its own with it; None where none can be made."""
    layer = keras.layers.LSTM if value.__name__ == "Bidirectional" else keras.layers.Dense
    try:
        if not issubclass(value, keras.Model):
            wraps = "layer" in inspect.signature(value.__init__).parameters
            made = value(**needed(value), **({"layer": layer(1)} if wraps else {}))
        elif "Sequential" in value.__name__:
            made = value([layer(1)])
        else:
            given = keras.layers.Input((2,))
            made = value(given, layer(1)(given))
        if isinstance(made, keras.Model):
            made.compile("sgd", "mse")
            made.fit(numpy.ones((2, 2)), numpy.ones((2, 1)), verbose=0)
    except Exception:
        return None
    return sorted(name for name in dir(made) if not name.startswith("_"))


def names(parameters, kinds=(0, 1, 3)):
    """Of parameters of some kinds: positional ones are 0 and 1."""
    return [one[0] for one in parameters or [] if one[1] in kinds]


def compare(owner, old, new, extra=()):
    """The lines of one signature."""
    if old is None or new is None:
        return
    before, now = names(old), names(new)
    yield from (
        f"argument {owner} {name} refused"
        for name in [*before, *extra]
        if name not in now and name not in ("kwargs", "args")
    )
    first, then = names(old, (0, 1)), names(new, (0, 1))
    if first != then[: len(first)] and any(one[1] != 2 for one in new):
        yield f"order {owner} {','.join(first) or '-'} {','.join(then) or '-'}"
    defaults = {one[0]: one[2] for one in new}
    for name, _, value in old:
        later = defaults.get(name, value)
        if value and "?" not in (value, later) and not same(value, later):
            yield f"default {owner} {name} {value} {later or '-'}"


def same(one, other):
    """Whether two defaults are one value: 0 and 0.0 are."""
    try:
        return ast.literal_eval(one) == ast.literal_eval(other)
    except (ValueError, SyntaxError):
        return one == other


def differences(old, new, alone, kept):
    """All lines, sorted."""
    found = {}
    for name, one in old.items():
        if name not in new:
            found[name] = {f"symbol {name} {'yes' if name in kept else 'no'}"}
            continue
        lines = set(compare(name, one["parameters"], new[name]["parameters"], one["kwargs"]))
        if name not in alone:
            lines.add(f"standalone {name}")
        has = new[name].get("held") or ()
        for member in one.get("held") or () if has else ():
            if member not in has and member not in one["members"]:
                yes = "yes" if member in kept.get(name, {}).get("held", ()) else "no"
                lines.add(f"member {name} {member} {yes}")
        for member, parameters in one.get("members", {}).items():
            if member not in new[name].get("members", ()):
                has = member in kept.get(name, {}).get("members", ())
                lines.add(f"member {name} {member} {'yes' if has else 'no'}")
            elif parameters:
                extra = from_members(one, member)
                lines.update(
                    compare(f"{name}.{member}", parameters, new[name]["members"][member], extra)
                )
        found[name] = lines
    result = {
        f"base {name} {' '.join(bases)}"
        for name, bases in ((name, old[name].get("bases")) for name in found)
        if bases and name in new
    }
    for name, lines in found.items():
        above = {
            re.sub(rf"^(\w+) {re.escape(base)}(?=[. ])", rf"\1 {name}", line)
            for base in old[name].get("bases", ())
            for line in found.get(base, ())
        }
        result.update(
            line
            for line in lines
            if line not in above
            or line.startswith(("symbol", "standalone", f"order {name} ", f"default {name} "))
        )
    return sorted(result)


def from_members(one, member):
    """What a method takes from ``**kwargs``: only ``fit`` of 1.15 does, by a name of Keras 1."""
    return ["nb_epoch"] if member == "fit" and "epochs" in names(one["members"][member]) else []


def tried(line, keras):
    """An ``argument`` that a class or function takes all the same."""
    _, owner, name, *_ = line.split()
    value = keras
    try:
        for part in owner.split("."):
            value = getattr(value, part)
        parameters = inspect.signature(value).parameters.values()
        needed = {
            one.name: _NEEDED[one.name]
            for one in parameters
            if one.default is one.empty and one.name in _NEEDED and int(one.kind) in (0, 1, 3)
        }
        if not inspect.isclass(value):
            return line
        value(**needed)
    except Exception:
        return line
    try:
        value(**needed, **{name: _SAMPLES.get(name)})
    except Exception:
        return line
    return line.replace(" refused", " taken")


def main() -> None:
    """Writes the table, or with ``--describe`` what TensorFlow 1.15 has."""
    if sys.argv[1:] == ["--describe"]:
        import tensorflow as tf

        sys.stdout.write("DESCRIBED " + json.dumps(describe(tf.keras)) + "\n")
        return
    command = [sys.argv[1], os.path.abspath(__file__), "--describe"]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    old = json.loads(output.rpartition("DESCRIBED ")[2])
    import keras
    import tensorflow as tf
    import tf_keras

    new = describe(tf.keras)
    lines = differences(old, new, describe(keras), describe(tf_keras))
    sys.stdout.write(HEADER.format(keras=keras.__version__, tf_keras=tf_keras.__version__))
    for line in lines:
        sys.stdout.write((tried(line, tf.keras) if line.startswith("argument ") else line) + "\n")


if __name__ == "__main__":
    main()
