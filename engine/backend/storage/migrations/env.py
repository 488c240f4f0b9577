"""Read by Alembic. The caller hands over a connection with an open transaction, in which everything happens."""

from alembic import context

from engine.backend.storage.schema import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,  # SQLite alters a table by building it anew
)
with context.begin_transaction():
    context.run_migrations()
