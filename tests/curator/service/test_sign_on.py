"""Links between people of the ledger and what a provider calls them."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.curator.service.config import SignOnConfig, read_config
from discreet.curator.service.sign_on import SignOn
from discreet.errors import BadParameter, NotRegistered
from tests.helpers.curator.land import write_town
from tests.helpers.curator.town import Town

ISSUER = "https://login.example"


def sign_on(town: Town, issuer: str = ISSUER, claim: str = "sub") -> SignOn:
    config = SignOnConfig.model_validate(
        {"issuer": issuer, "client": "us", "redirect": "https://curator.example/", "claim": claim}
    )
    return SignOn.configured(town.curator.ledger, town.curator.access, config)


@pytest.mark.slow
def test_a_link_is_for_one_person_one_provider_and_one_claim(new_town: Town) -> None:
    ours = sign_on(new_town)
    ours.link("ann", "1", by="owner")
    with pytest.raises(BadParameter):
        ours.link("bob", "1", by="owner")
    ours.link("ann", "2", by="owner")
    ours.link("bob", "1", by="owner")
    assert ours.links() == {"2": "ann", "1": "bob"}
    assert not sign_on(new_town, "https://other.example").links()
    assert not sign_on(new_town, claim="email").links()
    ours.link("bob", None, by="owner")
    assert ours.links() == {"2": "ann"}
    for wrong in ("", "a\n", "a" * 201):
        with pytest.raises(BadParameter):
            ours.link("ann", wrong, by="owner")
    with pytest.raises(NotRegistered):
        ours.link("eve", "3", by="owner")


def test_the_section_is_read_and_its_secret_is_the_owners_alone(tmp_path: Path) -> None:
    path = write_town(tmp_path)
    before = path.read_text()
    section = f'[sign_on]\nissuer = "{ISSUER}"\nclient = "us"\nsecret = "secret"\nredirect = "https://c.example/"\n'
    path.write_text(section + before)
    config = read_config(path).sign_on
    assert config is not None
    assert (config.claim, config.hours) == ("sub", 8)
    secret = tmp_path / "secret"
    with pytest.raises(BadParameter, match="can be read"):
        config.read_secret()
    secret.write_text("hidden\n")
    secret.chmod(0o644)
    with pytest.raises(BadParameter, match="chmod 600"):
        config.read_secret()
    secret.chmod(0o600)
    assert config.read_secret() == "hidden"
    for wrong in (
        section.replace(ISSUER, "http://login.example"),
        section.replace("https://c.example/", "http://c.example/"),
        section + 'claim = "name"\n',
        section + "hours = 1000\n",
        section + "colour = 1\n",
        section.replace('client = "us"\n', ""),
    ):
        path.write_text(wrong + before)
        with pytest.raises(BadParameter, match="sign_on"):
            read_config(path)
