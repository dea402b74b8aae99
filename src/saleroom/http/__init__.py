"""HTTP: the protocol, connections, the guard, requests, forms, problems, the table of endpoints and its documents."""
