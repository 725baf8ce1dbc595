"""The numbers that README and guide claim are those of the files that they come from."""

from __future__ import annotations

import sys

import pytest

if sys.version_info < (3, 9):
    pytest.skip("the tools need Python 3.9", allow_module_level=True)

import claims


@pytest.mark.parametrize("claim", claims.CLAIMS, ids=lambda claim: claim.pattern)
def test_a_claim_is_what_its_source_says(claim):
    assert claim.said() == claim.truth()


def test_a_claim_that_is_gone_or_another_one_is_seen(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("It compares 316\ncalls.\n")
    monkeypatch.setattr(claims, "ROOT", str(tmp_path))
    claim = claims.Claim("page.md", r"compares (\d+) calls", "", lambda: ("553",))
    assert claim.said() == ("316",) != claim.truth()
    with pytest.raises(ValueError, match="does not say"):
        claim._replace(pattern=r"counts (\d+)").said()
