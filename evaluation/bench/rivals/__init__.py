"""`surehit bench peers`: other semantic caches run next to Surehit, each in a virtual environment of its own.

`recipes` makes the environments, `running` starts each product in its own way, `wire` says what goes over the wire,
`bench` measures all of them in turn. The scripts in `servers` run inside the peers' environments and import nothing
of this repository.
"""
