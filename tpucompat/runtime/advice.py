"""What an error of a script's own means, where one can tell: a code, a cause and a next step.

The error is always shown first, as it is; this is the one line after it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import machinery
from typing import Iterable, NamedTuple

from tpucompat.base import journal
from tpucompat.base.codes import CODES
from tpucompat.base.late import late
from tpucompat.runtime import installation, namespace

metadata = late("importlib.metadata")  # slow to import; Python 3.8 and later


class Advice(NamedTuple):
    """The line after an error."""

    code: str
    cause: str
    next_step: str

    def __str__(self) -> str:
        return f"tpucompat: {self.cause} Next: {self.next_step} [{self.code}]"


# Types of Python 3 for what was a list in Python 2.
_LAZY = r"(zip|map|filter|range|generator|dict_(keys|values|items))"

#: (code, the error's type, its text): the first row that fits both.
ROWS: tuple[tuple[str, str, str], ...] = (
    # tensorflow/core/kernels/sparse_xent_op.cc; the checks of shapes before it in ops/nn_ops.py, and Keras'.
    ("TPU478", r".*", r"Received a label value of \S+ which is outside the valid range"),
    (
        "TPU479",
        r".*",
        r"`labels\.shape(\.rank)?` must equal|Rank mismatch: Rank of labels|[Ll]ogits and labels must "
        r"|Can not squeeze dim\[\d+\], expected a dimension of 1(.|\n)*(metrics|loss|[Aa]cc)"
        r"|A target array with shape .* was passed for an output of shape|Error when checking target:",
    ),
    # framework/op_def_library.py; what the estimators check of a specification, and of what comes of a step.
    (
        "TPU494",
        r"TypeError",
        r"Value passed to parameter '\w+' has DataType|Op has type \w+ that does not match type \w+",
    ),
    (
        "TPU495",
        r"ValueError",
        r"^Loss must be (a )?scalar|^Missing loss\.|grad can be .* only for scalar",
    ),
    ("TPU335", r"ValueError", r"^Invalid TPUConfig"),
    ("TPU498", r"ValueError", r"^Missing (train_op|predictions)\."),
    ("TPU496", r"ValueError", r"No gradients provided for any variable"),
    (
        "TPU497",
        r"NanLossDuringTrainingError|InvalidArgumentError",
        r"^NaN loss during training|Tensor had (NaN|Inf)|Found Inf or NaN",
    ),
    # tensorflow/core/kernels/split_op.cc
    ("TPU489", r"InvalidArgumentError", r"Number of ways to split should evenly divide"),
    # Keras' two loops, and what is left of their logs.
    (
        "TPU490",
        r"ValueError",
        r"Empty training data|Expected input data to be non-empty|Unexpected result of "
        r"`train_function` \(Empty Logs\)",
    ),
    # What TensorFlow says of graphs where it is eager, and the other way round (framework/ops.py, tensor.py).
    (
        "TPU491",
        r".*",
        r"only (supported|iterable|supports Python-style iteration)\b[^\n]*\beager|not '(Symbolic)?Tensor'$"
        r"|Tensor' object has no attribute 'numpy'|when eager execution is not enabled",
    ),
    (
        "TPU492",
        r".*",
        r"when eager execution is enabled|When eager execution is enabled|The Session graph is empty"
        r"|not (supported in|compatible with) eager (mode|execution)",
    ),
    ("TPU337", r"InvalidArgumentError|NotFoundError", r"^Restoring from checkpoint failed"),
    ("TPU337", r"ValueError", r"(Layer|Weight) count mismatch|Shape mismatch in layer"),
    # What Keras' layers check of their input (engine/input_spec.py).
    ("TPU303", r"ValueError", r"Input \d+ of layer .* is incompatible with the layer"),
    ("TPU480", r"ValueError", r"Cannot feed value of shape"),
    (
        "TPU481",
        r"FailedPreconditionError",
        r"Attempting to use uninitialized value|Could not find variable|reading (resource )?variable",
    ),
    # What a function of the script raised: tensorflow/python/lib/core/py_func.cc puts its traceback there.
    (
        "TPU482",
        r"\w+",
        r"Traceback \(most recent call last\):(.|\n)*\{\{node (\w+/)*(Eager)?PyFunc",
    ),
    # tensorflow/core/lib/io: record_reader.cc, zlib_inputstream.cc, snappy and zstd beside it.
    (
        "TPU460",
        r"DataLossError",
        r"corrupted record|truncated record|inflate\(\) failed|[Ss]nappy|zstd",
    ),
    ("TPU336", r"OutOfRangeError", r"End of sequence"),
    ("TPU477", r"KeyError", r"^'(COLAB_TPU_ADDR|TPU_NAME|KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS)'$"),
    (
        "TPU476",
        r".*",
        r"Parent directory of .* doesn't exist|[Uu]nable to (synchronously )?create file",
    ),
    # tensorflow/core/platform/cloud: what the file system for gs:// raises.
    ("TPU442", r".*", r"gs://.*(HTTP|retry attempts|libcurl|credentials|permission|403|401)"),
    ("TPU442", r".*", r"(HTTP request|retry attempts|libcurl|credentials)(.|\n)*gs://"),
    (
        "TPU443",
        r"URLError|HTTPError|gaierror|ConnectionError|ProxyError|SSLError|RemoteDisconnected",
        r"",
    ),
    (
        "TPU443",
        r".*",
        r"URL fetch failure|urlopen error|Max retries exceeded|Name or service not known",
    ),
    # training/saver.py
    ("TPU444", r"ValueError", r"save_path is not a valid checkpoint"),
    ("TPU447", r"ModuleNotFoundError", r"No module named '(?!tensorflow['.])"),
    ("TPU446", r".*", r"\.so\b.*undefined symbol"),
    ("TPU446", r"NotFoundError|ImportError", r"\.so\b.*cannot open shared object"),
    ("TPU444", r"FileNotFoundError|NotFoundError|OSError|IOError", r"[Nn]o such file or directory"),
    # What CPython says of the iterators and views that were lists in Python 2.
    (
        "TPU499",
        r"TypeError",
        rf"^'{_LAZY}' object (is not subscriptable|does not support item)"
        rf"|^object of type '{_LAZY}' has no len\(\)"
        rf"|^unsupported operand type\(s\) for \+=?: .*'{_LAZY}'"
        rf"|^can only concatenate list \(not \"{_LAZY}\"\) to list"
        r"|^'float' object cannot be interpreted as an integer|^slice indices must be integers",
    ),
    (
        "TPU499",
        r"AttributeError",
        rf"^'{_LAZY}' object has no attribute '(next|sort|append|extend|insert|remove|pop|reverse|index)'"
        r"|^'(\w*[Dd]ict)' object has no attribute '(has_key|iter(items|keys|values))'",
    ),
    # The kernels of a CPU (tensorflow/core/kernels), where oneDNN does not take their place.
    ("TPU474", r".*", r"(?i)only support(s|ed)\b[^\n]*\bND?HWC\b"),
    (
        "TPU444",
        r"NotFoundError|ValueError|InvalidArgumentError",
        r"[Uu]nsuccessful TensorSliceReader|matching files|No files matched",
    ),
)

#: (code, era) -> the next step, where it is not the code's: the script runs as the code says already.
IN_ERA = {
    ("TPU491", "tf2"): (
        "In a tf.function, print with tf.print, or return the tensor and use its value outside."
    ),
    ("TPU492", "tf1"): (
        "Leave out enable_eager_execution, or build the graph in `with tf.Graph().as_default():`."
    ),
}

#: Modules of Python 2's standard library -> what Python 3 has for them (PEP 3108).
PYTHON_2_MODULES = {
    "BaseHTTPServer": "http.server",
    "CGIHTTPServer": "http.server",
    "ConfigParser": "configparser",
    "Cookie": "http.cookies",
    "HTMLParser": "html.parser",
    "Queue": "queue",
    "SimpleHTTPServer": "http.server",
    "SocketServer": "socketserver",
    "StringIO": "io",
    "Tkinter": "tkinter",
    "UserDict": "collections",
    "UserList": "collections",
    "UserString": "collections",
    "__builtin__": "builtins",
    "anydbm": "dbm",
    "cPickle": "pickle",
    "cStringIO": "io",
    "commands": "subprocess",
    "cookielib": "http.cookiejar",
    "copy_reg": "copyreg",
    "dummy_thread": "_thread",
    "exceptions": "builtins",
    "hotshot": "cProfile",
    "htmlentitydefs": "html.entities",
    "httplib": "http.client",
    "md5": "hashlib",
    "new": "types",
    "robotparser": "urllib.robotparser",
    "sets": "the built-in set",
    "sha": "hashlib",
    "thread": "_thread",
    "urllib2": "urllib.request (and urllib.error)",
    "urlparse": "urllib.parse",
    "whichdb": "dbm",
    "xmlrpclib": "xmlrpc.client",
}

# What a package for TensorFlow 1 runs into where it is shown the one of today, and the file that tells
# which package it was.
_OUT_OF_DATE = (
    ("AttributeError", r"^module '[\w.]+' has no attribute"),
    ("ImportError", r"^cannot import name .* from '(tensorflow|keras|tf_keras|numpy)\b"),
    ("ModuleNotFoundError", r"No module named '(tensorflow|keras)\."),
    ("TypeError", r"^Descriptors cannot be created directly"),
)
# A line that makes a folder or a file; where it fails, no file is missing.
_MAKES = re.compile(
    r"\b(mkdirs?|makedirs|MakeDirs|Recursively?CreateDir|CreateDir)\(|\bopen\(.*['\"][wax]b?\+?['\"]"
)
_NOT_MADE = re.compile(
    r"[Nn]o such file or directory|[Pp]ermission denied|Read-only file system|[Nn]ot a directory|File exists"
)
_MODULE = re.compile(r"No module named '(\w+)")
_BUCKET = re.compile(r"gs://[\w.-]+")
_INSTALLED = re.compile(r"[\\/](?:site|dist)-packages[\\/](\w+)")
_LACKS = re.compile(
    r"module '(\w+)[\w.]*' has no attribute|cannot import name '\w+' from '(\w+)[\w.]*'"
)
_LACKS_V1 = re.compile(
    r"module 'tensorflow(?:_core)?\.(?:_api\.v2\.)?compat\.v1((?:\.\w+)*)' has no attribute '(\w+)'"
)
# Python 3.12 and later say more of modules that are not complete.
_HIDDEN = re.compile(
    r"(?:partially initialized )?module '(\w+)[\w.]*' has no attribute|cannot import name '\w+' from "
    r"(?:partially initialized module )?'(\w+)[\w.]*'"
)
_RUNTIME = frozenset(["tensorflow", "keras", "tf_keras", "numpy", "google", "absl", "six"])


def for_code(code: str) -> Advice:
    """What a code says in general."""
    return Advice(code, CODES[code].title + ".", CODES[code].what_to_do)


def for_error(kind: str, text: str, files: Iterable[str] = (), line: str = "") -> Advice | None:
    """What is known about an error.

    Args:
      kind: The name of the error's type.
      text: Its message.
      files: The files of the lines that led to it, the innermost last.
      line: The innermost of these lines, where its text is known.

    Returns:
      None where its own words are all there is to say, or where they have a code and a next step.
    """
    if "\n  Next: " in text:
        return None
    if _NOT_MADE.search(text) and _MAKES.search(line):
        return for_code("TPU476")
    files = list(files)
    if kind == "FileNotFoundError" and files[-1:] == [subprocess.__file__]:
        step = "Install it, or correct its path; the folder that `cwd=` names has to exist."
        return Advice("TPU444", "A program that the script starts is missing.", step)
    missing = _MODULE.match(text)
    if kind == "ModuleNotFoundError" and missing and missing.group(1) in PYTHON_2_MODULES:
        module, today = missing.group(1), PYTHON_2_MODULES[missing.group(1)]
        cause = f"{module} is a Python 2 module."
        return Advice("TPU475", cause, f"Use {today}, its Python 3 name.")
    mistaken = _own_module(kind, text, files)
    if mistaken:
        return for_code("TPU447")._replace(cause=mistaken[0], next_step=mistaken[1])
    for code, kinds, pattern in ROWS:
        if re.fullmatch(kinds, kind) and re.search(pattern, text):
            general = for_code(code)
            here = installation.installed()
            if here is not None and (code, here.era) in IN_ERA:
                return general._replace(next_step=IN_ERA[code, here.era])
            bucket = _BUCKET.search(text)
            own = bucket.group() if bucket else "gs://bucket"
            return general._replace(next_step=general.next_step.replace("gs://bucket", own))
    later = _LACKS_V1.match(text) if kind == "AttributeError" else None
    if later and namespace.came_later(f"{later.group(1)}.{later.group(2)}"[1:]):
        cause = f"tf{later.group(1)}.{later.group(2)} came with TensorFlow 2."
        return Advice("TPU102", cause, namespace.IN_TENSORFLOW_2)
    if any(kind == each and re.search(pattern, text) for each, pattern in _OUT_OF_DATE):
        package = _innermost_package(files)
        if package:
            general = for_code("TPU428")
            return general._replace(next_step=general.next_step.replace("NAME", package))
    lacks = _LACKS.match(text) if kind in ("AttributeError", "ImportError") else None
    if lacks:
        package = lacks.group(1) or lacks.group(2)
        release = _release_of(package)
        if release:
            return for_code("TPU461")._replace(cause=f"{package} {release} lacks this name.")
    if any(code == "TPU425" for code, _ in journal.notices()):
        cause = "This run has fewer epochs and steps than the script asks for (--smoke)."
        return Advice("TPU425", cause, "Run it without --smoke to see whether the error remains.")
    return None


def _own_module(kind: str, text: str, files: Iterable[str]) -> tuple[str, str] | None:
    """Cause and next step, where a file of the script's is not the module that it is taken for."""
    if kind == "ImportError" and text == "attempted relative import with no known parent package":
        file = (list(files) or ["FOLDER/NAME.py"])[-1]
        above, package = os.path.split(os.path.dirname(file))
        name = f"{package}.{os.path.splitext(os.path.basename(file))[0]}"
        step = f"Start it as a module: `cd {above or '..'}; tpucompat run -m {name}`."
        return "The script belongs to a package.", step
    lacks = _HIDDEN.match(text) if kind in ("AttributeError", "ImportError") else None
    module = lacks.group(1) or lacks.group(2) if lacks else ""
    hiding = _find(module, sys.path[:1]) if module else None
    if hiding is None or hiding.origin is None or _find(module, sys.path[1:]) is None:
        return None
    return f"{hiding.origin} hides the module {module}.", "Give the file or folder another name."


def _find(module: str, places: list[str]) -> machinery.ModuleSpec | None:
    return machinery.PathFinder.find_spec(module, places)


def _release_of(package: str) -> str:
    """The version of an installed package; "" of a module of the script's, or of TensorFlow's and Python's."""
    if package in _RUNTIME:
        return ""
    try:
        return str(metadata.version(package.replace("_", "-")))
    except ImportError:  # also that there is no such distribution
        return ""


def _innermost_package(files: Iterable[str]) -> str:
    """The installed package that asked TensorFlow, or what lies below it, for the last thing; or ""."""
    package = ""
    for file in files:
        found = _INSTALLED.search(file)
        if not found:
            package = ""
        elif found.group(1) not in _RUNTIME:
            package = found.group(1)
    return package
