"""Kaggle's packages: what stands for them is written into the script, because they exist on Kaggle only.

A dataset that was attached to the notebook is a folder, and a secret is an environment variable, as in
:mod:`tpucompat.standins.kaggle`, with the same variable for the folder.
"""

from __future__ import annotations

import ast
from typing import Any, Mapping

from tpucompat.commands.migrate.context import Context, Import
from tpucompat.names.used import Use

_DATASETS = '''

class KaggleDatasets:
{i}"""Datasets of Kaggle as folders of TPUCOMPAT_KAGGLE_INPUT, else of /kaggle/input or ../input."""

{i}def get_gcs_path(self, dataset_dir=None):
{i}{i}own = os.environ.get('TPUCOMPAT_KAGGLE_INPUT')
{i}{i}places = [own] if own else ['/kaggle/input', '../input', 'input']
{i}{i}places = [os.path.abspath(os.path.expanduser(place)) for place in places]
{i}{i}found = [os.path.join(place, name) for place in places if os.path.isdir(place)
{i}{i}         for name in ([dataset_dir] if dataset_dir else os.listdir(place))
{i}{i}         if os.path.isdir(os.path.join(place, name))]
{i}{i}if not found or (len(found) > 1 and not dataset_dir):
{i}{i}{i}raise FileNotFoundError('Not one folder %s in %s' % (dataset_dir or '', ', '.join(places)))
{i}{i}return found[0]
'''
_SECRETS = '''

class UserSecretsClient:
{i}"""Secrets of Kaggle as environment variables; local files need no credentials."""

{i}def get_secret(self, label):
{i}{i}return os.environ[label]

{i}def get_gcloud_credential(self):
{i}{i}return ''

{i}def set_gcloud_credentials(self, *args, **kwargs):
{i}{i}pass

{i}def set_tensorflow_credential(self, credential):
{i}{i}pass
'''

#: What a class of Kaggle's packages is written as.
CLASSES: Mapping[str, str] = {
    "kaggle_datasets.KaggleDatasets": _DATASETS,
    "kaggle_secrets.UserSecretsClient": _SECRETS,
}


def rewrite(context: Context) -> None:
    """Writes the classes that a file uses, and takes out the imports of them."""
    for found in context.imports:
        module = getattr(found.node, "module", "") or found.node.names[0].name
        if any(name.startswith(f"{module}.") for name in CLASSES):
            with context.rule("TPU220"):
                _import(context, found, module)


def _import(context: Context, found: Import, module: str) -> None:
    """Rewrites one import, if each use of what it imports is a class that is known."""
    uses = [use for use in context.names.uses if use.base.partition(".")[0] == module]
    read = [use for use in uses if use.statement is None]
    names = {id(use.node): _class(use) for use in read}
    loads = [node for alias in found.node.names for node in context.loads(_bound(alias))]
    heads = {id(_head(use.node)) for use in read}
    is_followed = all(names.values()) and all(id(node) in heads for node in loads)
    is_only = all(use.statement in (None, found.node) for use in uses)
    is_alone = isinstance(found.node, ast.ImportFrom) or len(found.node.names) == 1
    if not (is_alone and read and is_followed and is_only):
        return
    if any(use.guarded for use in uses) or not all(_is_behind(context, use) for use in read):
        return
    wanted = {name.rpartition(".")[2]: name for name in names.values()}
    own = {id(alias) for alias in found.node.names} | names.keys()
    if not all(context.is_free(name, own) for name in wanted):
        return
    context.remove(found.node, found.cell)
    for use in read:
        context.replace(use.node, context.cell_of(use.node), names[id(use.node)].rpartition(".")[2])
    for name in sorted(wanted):
        context.helper(name, CLASSES[wanted[name]])


def _class(use: Use) -> str:
    return use.name if use.name in CLASSES else ""


def _bound(alias: Any) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _head(node: Any) -> Any:
    return _head(node.value) if hasattr(node, "value") else node


def _is_behind(context: Context, use: Use) -> bool:
    """Whether a use stands behind the imports, where the classes will be."""
    line: int = getattr(use.node, "lineno", 0)
    return (context.cell_of(use.node), line) >= context.behind_imports()[:2]
