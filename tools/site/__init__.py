"""The documentation site: ``python -m tools.site`` builds it into ``out/site``, without a network."""
