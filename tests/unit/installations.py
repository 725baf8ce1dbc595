"""Made-up installations: every TensorFlow release, complete or with something changed."""

from tpucompat.base import probes
from tpucompat.base.releases import NEWEST, release_of

ACCEL = ("/dev/accel0", "/dev/accel1")
VFIO = ("/dev/vfio/0", "/dev/vfio/1", "/dev/vfio/2", "/dev/vfio/3")
NVIDIA = ("/dev/nvidia0", "/dev/nvidia1")

# One patch release of every minor, with the keras that its own metadata asks for ("" = bundled) and
# the newest Python that it was published for.
RELEASES = [
    ("1.13.1", "", (3, 7)),
    ("1.14.0", "", (3, 7)),
    ("1.15.5", "", (3, 7)),
    ("2.0.0", "", (3, 7)),
    ("2.1.4", "", (3, 7)),
    ("2.2.3", "", (3, 8)),
    ("2.3.4", "", (3, 8)),
    ("2.4.4", "", (3, 8)),
    ("2.5.3", "", (3, 9)),
    ("2.6.5", "2.6.0", (3, 9)),
    ("2.7.4", "2.7.0", (3, 9)),
    ("2.8.4", "2.8.0", (3, 10)),
    ("2.9.3", "2.9.0", (3, 10)),
    ("2.10.1", "2.10.0", (3, 10)),
    ("2.11.1", "2.11.0", (3, 10)),
    ("2.12.1", "2.12.0", (3, 11)),
    ("2.13.1", "2.13.1", (3, 11)),
    ("2.14.1", "2.14.0", (3, 11)),
    ("2.15.1", "2.15.0", (3, 11)),
    ("2.16.2", "3.4.0", (3, 12)),
    ("2.17.1", "3.5.0", (3, 12)),
    ("2.18.1", "3.6.0", (3, 12)),
    ("2.19.1", "3.9.0", (3, 12)),
    ("2.20.0", "3.11.0", (3, 13)),
    ("2.21.0", "3.15.1", (3, 13)),
]


def made_up(tensorflow="2.21.0", distribution="tensorflow", **changes):
    """Probes of a complete installation of one TensorFlow release; changes replace what they name.

    A version of None takes a distribution away, with its module.
    """
    keras, python = next(
        (row[1:] for row in RELEASES if release_of(row[0]) == release_of(tensorflow or "2.21")),
        ("3.15.1", (3, 13)),
    )
    release = release_of(tensorflow) if tensorflow else NEWEST
    versions = {distribution: tensorflow, "keras": keras or None}
    versions["tensorflow-estimator"] = "2.15.0" if release >= (2, 15) else tensorflow
    versions["tf-keras"] = "{}.{}.0".format(*release) if release >= (2, 16) else None
    versions.update(changes.pop("versions", {}))
    versions = {name: version for name, version in versions.items() if version}
    modules = {name.replace("-", "_") for name in versions} - {distribution.replace("-", "_")}
    if tensorflow:
        modules.add("tensorflow")
    given = {
        "versions": versions,
        "modules": frozenset(modules),
        "environ": {},
        "python": (*python, 4),
    }
    given.update(changes)
    return probes.Probes(**given)
