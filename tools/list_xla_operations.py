"""Writes the table of operations that XLA compiles for a TPU: tpucompat/engines/xla_operations.json.

An operation and the types of its attributes stand in TensorFlow's registry of kernels, under the device
XLA_TPU_JIT, which only tensorflow-tpu has. Run it with an interpreter that has tensorflow-tpu 2.20, or
give it dumps of the registry (``--dump FILE`` writes one, on any machine, for the device named).

    python tools/list_xla_operations.py --dump tpu.json --device XLA_TPU_JIT
    python tools/list_xla_operations.py tpu.json cpu.json
"""

from __future__ import annotations

import argparse
import json
import pathlib

OUT = pathlib.Path(__file__).resolve().parent.parent / "tpucompat" / "check" / "operations.json"


def registry(device: str) -> dict[str, list[dict[str, list[str]]]]:
    """Operation -> for each kernel of the device: attribute -> the types that it takes."""
    import tensorflow as tf
    from tensorflow.python.framework import kernels

    # The kernels of a compiler are registered when something is compiled.
    tf.function(lambda x: x + 1, jit_compile=True)(tf.constant(1))
    result: dict[str, list[dict[str, list[str]]]] = {}
    for kernel in kernels.get_all_registered_kernels().kernel:
        if kernel.device_type == device:
            result.setdefault(kernel.op, []).append(
                {
                    constraint.name: [
                        tf.as_dtype(kind).name for kind in constraint.allowed_values.list.type
                    ]
                    for constraint in kernel.constraint
                }
            )
    return result


def compact(tpu: dict, cpu: dict) -> dict:
    """The table: lists of types that many operations share are written once."""
    lists: list[list[str]] = []

    def number(types: list[str]) -> int:
        types = sorted(types)
        if types not in lists:
            lists.append(types)
        return lists.index(types)

    operations = {
        name: [{key: number(kinds) for key, kinds in sorted(each.items())} for each in kernels]
        for name, kernels in sorted(tpu.items())
    }
    return {
        "source": "XLA_TPU_JIT and XLA_CPU_JIT kernels of TensorFlow 2.20",
        "types": lists,
        "operations": operations,
        "not_on_cpu": sorted(set(tpu) - set(cpu)),
    }


def main() -> None:
    """Writes a dump, or the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tpu", nargs="?", help="dump of XLA_TPU_JIT")
    parser.add_argument("cpu", nargs="?", help="dump of XLA_CPU_JIT")
    parser.add_argument("--dump", metavar="FILE")
    parser.add_argument("--device", default="XLA_CPU_JIT")
    args = parser.parse_args()
    if args.dump:
        found = registry(args.device)
        if not found:
            raise SystemExit(f"this TensorFlow has no kernels for {args.device}")
        pathlib.Path(args.dump).write_text(json.dumps({args.device: found}), encoding="utf-8")
        return
    tables = [
        next(iter(json.loads(pathlib.Path(f).read_text()).values())) for f in (args.tpu, args.cpu)
    ]
    lines = json.dumps(compact(*tables), separators=(",", ":"))
    OUT.write_text(lines.replace('],"', '],\n"') + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
