"""The HTTP interface of the curator: routes, requests, responses, middleware."""
