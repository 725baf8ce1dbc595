"""``tf.contrib.lookup``: TensorFlow has it all, partly under private or other names."""

from __future__ import annotations

from tpucompat.names.rows import Moved, Package, Row, StandIn

_OURS = "tpucompat.contrib.lookup"
_OPS = "tensorflow.python.ops.lookup_ops"

ROWS: dict[str, Row] = {
    "contrib.lookup": Package((_OURS, _OPS)),
    "contrib.lookup.lookup_ops": Package((_OURS, _OPS)),
    "contrib.lookup.MutableDenseHashTable": Moved(_OPS + ":DenseHashTable"),
    "contrib.lookup.InitializableLookupTableBase": Moved(_OPS + ":InitializableLookupTableBaseV1"),
    **{
        "contrib.lookup." + name: StandIn(_OURS + ":" + name)
        for name in (
            "HashTable",
            "index_table_from_tensor",
            "index_to_string_table_from_tensor",
        )
    },
    **{
        "contrib.lookup." + name: Moved(_OPS + ":" + name)
        for name in (
            "FastHashSpec",
            "HasherSpec",
            "IdTableWithHashBuckets",
            "KeyValueTensorInitializer",
            "LookupInterface",
            "MutableHashTable",
            "StrongHashSpec",
            "TableInitializerBase",
            "TextFileIdTableInitializer",
            "TextFileIndex",
            "TextFileInitializer",
            "TextFileStringTableInitializer",
            "index_table_from_file",
            "index_to_string_table_from_file",
        )
    },
}
