"""What goes in a repository beside its code: hooks, workflows, templates, the page on a package index."""

import re
import sys
from pathlib import Path

import pytest
import yaml

from tpucompat.__main__ import COMMANDS
from tpucompat.base.codes import GUIDE
from tpucompat.commands.cli import migrate

ROOT = Path(__file__).parents[2]


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def checks(commands):
    """The names of the checks in some command lines."""
    return set(re.findall(r"ruff check|ruff format|lint-imports|mypy", commands))


def test_make_tox_and_pre_commit_run_the_same_checks():
    made = re.search(r"(?s)\nlint: .*?\n(?=docs:)", text("Makefile"))[0]
    tox = "".join(re.findall(r"(?s)\[testenv:(?:lint|types)\].*?\n(?=\[)", text("tox.ini")))
    hooks = yaml.safe_load(text(".pre-commit-config.yaml"))["repos"][0]["hooks"]
    entries = " ".join(hook["entry"] for hook in hooks)
    assert checks(made) == checks(tox.split("commands_pre", 1)[1]) == checks(entries)
    assert len(hooks) == len(checks(entries)) == 4


def test_the_rehearsed_environments_run_every_module_with_targets():
    """Of several lines tox would make several commands."""
    modules = re.search(r"(?m)^modules =\n((?: +\S+ \\\n)* +\S+)\n\n", text("tox.ini"))[1]
    folder = ROOT / "tests" / "behaviour"
    cores = [
        path.relative_to(ROOT).as_posix()
        for path in folder.glob("test_*.py")
        if re.search(r"(?m)^import targets$", path.read_text(encoding="utf-8"))
    ]
    assert sorted(modules.replace("\\", "").split()) == sorted(cores)


def test_a_release_needs_the_tests():
    jobs = yaml.safe_load(text(".github/workflows/release.yml"))["jobs"]
    needed, job = [], "publish"
    while "needs" in jobs[job]:
        job = jobs[job]["needs"]
        needed.append(job)
    assert needed[-1] == "tests"
    assert jobs["tests"]["uses"] == "./.github/workflows/tests.yml"
    assert "workflow_call" in yaml.safe_load(text(".github/workflows/tests.yml"))[True]  # `on`


def test_issue_forms_ask_for_the_environment():
    folder = ROOT / ".github" / "ISSUE_TEMPLATE"
    forms = [yaml.safe_load(path.read_text()) for path in folder.glob("*.yml")]
    forms = [form for form in forms if "body" in form]
    assert len(forms) == 2
    for form in forms:
        assert "tpucompat doctor" in form["body"][0]["attributes"]["description"]
        assert len({field["id"] for field in form["body"]}) == len(form["body"])
    links = yaml.safe_load((folder / "config.yml").read_text())["contact_links"]
    assert all(link["url"].startswith(GUIDE) for link in links)


def test_addresses_of_the_guide_are_one():
    table = text("pyproject.toml").split("[project.urls]")[1].split("[")[0]
    addresses = re.findall(r'= "(.+)"', table)
    assert len(addresses) == 2 and all(one.startswith(GUIDE) for one in addresses)
    assert text("tpucompat/base/codes.py").count("readthedocs") == 1
    others = [p for p in (ROOT / "tpucompat").rglob("*.py") if "readthedocs" in p.read_text()]
    assert [path.name for path in others] == ["codes.py"]


def test_what_is_imported_at_run_time_is_a_dependency():
    dependencies = re.search(r"(?m)^dependencies = \[(.*)\]$", text("pyproject.toml"))[1]
    needed = {
        name
        for path in (ROOT / "tpucompat" / "commands").rglob("*.py")
        for name in re.findall(r"(?m)^(?:import|from) (numpy|packaging)\b", path.read_text())
    }
    assert needed == {"numpy"}
    assert all(f'"{name}"' in dependencies for name in needed)


@pytest.mark.skipif(sys.version_info < (3, 9), reason="the tools need Python 3.9")
def test_a_package_index_gets_no_link_to_a_file():
    import package_page

    address = "https://example.org/somebody/tpucompat"
    page = package_page.absolute_links(text("README.md"), address, "v1.0.0")
    links = re.findall(r"\]\(([^)\s]+)\)", page)
    assert len(links) > 10 and all(re.match("https://", link) for link in links)
    assert f"]({address}/raw/v1.0.0/docs/_static/pictures/readme_curves.svg)" in page
    assert f"]({address}/blob/v1.0.0/CHANGELOG.md)" in page
    for link in links:
        if link.startswith(address):
            assert (ROOT / re.sub(r".*/(?:raw|blob)/v1\.0\.0/", "", link)).exists()
    urls = package_page.with_repository(text("pyproject.toml"), address).split("[project.urls]")[1]
    assert f'Issues = "{address}/issues"' in urls.split("[project.scripts]")[0]


def test_the_security_page_says_what_each_command_does_with_untrusted_files():
    table = [line for line in text("SECURITY.md").splitlines() if line.startswith("| `")]
    named = {word for line in table for word in re.findall(r"`([^`]+)`", line.split("|")[1])}
    runs = [line for line in table if line.rstrip(" |").endswith("not safe")]
    assert {name for name in named if " " not in name} == COMMANDS.keys()
    assert len(runs) == 1 and "**runs it**" in runs[0]
    options = migrate.parser().format_help()
    for option in re.findall(r"(--\w+) +run (?:each|every)", options):
        assert f"`migrate {option}`" in runs[0], option
    assert "--try" in options
