"""The Alembic environment. `engine/storage/upgrade.py` runs it; there is no alembic.ini.

To change the schema: change `schema.py`, let Alembic draft the next file of `versions/`, read and mend it, and add its
number to `upgrade.MIGRATIONS`; the tests compare the outcome with `schema.py`.

    with engine.begin() as connection:  # of a store that is at the present revision
        alembic.command.revision(alembic_config(connection), "what changes", autogenerate=True, rev_id="0005")

A table that Alembic rebuilds ("batch") keeps AUTOINCREMENT only with `table_kwargs={"sqlite_autoincrement": True}`,
and the highest id it has ever given only if the migration carries over its line of `sqlite_sequence`.
"""
