"""The Alembic environment. `storage/upgrade.py` runs it; there is no alembic.ini.

To change the schema, change `schema.py`, have Alembic draft the next file of `versions/`, read that file and correct
it. The tests compare the result with `schema.py`. A file's name begins with its revision, four digits.

    with engine.begin() as connection:  # of a store at the current revision
        alembic.command.revision(alembic_config(connection), "what changes", autogenerate=True, rev_id="0027")

A table that Alembic rebuilds ("batch") keeps AUTOINCREMENT only with `table_kwargs={"sqlite_autoincrement": True}`,
and its highest id so far only if the migration carries over its row of `sqlite_sequence`.
"""
