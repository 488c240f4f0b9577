"""Self-distilled replies may answer a prompt that is no message, and what drafters have read of them is counted."""

from __future__ import annotations

from alembic import op

revision = "0027"
down_revision = "0026"

# SQLite allows NULL in an existing column only in a table that is made anew.
CHANGES = """
ALTER TABLE vocabularies ADD COLUMN num_exercises INTEGER DEFAULT 0 NOT NULL;
CREATE TABLE practice_read (
    vocabulary_id INTEGER NOT NULL, drafter_fingerprint TEXT NOT NULL, until INTEGER NOT NULL,
    num_tokens INTEGER NOT NULL,
    CONSTRAINT pk_practice_read PRIMARY KEY (vocabulary_id, drafter_fingerprint),
    CONSTRAINT fk_practice_read_vocabulary_id_vocabularies
        FOREIGN KEY(vocabulary_id) REFERENCES vocabularies (id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE TABLE practice_anew (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, vocabulary_id INTEGER NOT NULL, message_id INTEGER, prompt TEXT,
    created_at DATETIME NOT NULL, width INTEGER NOT NULL, tokens BLOB NOT NULL, law_tokens BLOB NOT NULL,
    law_logs BLOB NOT NULL, system_prompt TEXT NOT NULL, temperature DOUBLE DEFAULT 0 NOT NULL,
    CONSTRAINT fk_practice_vocabulary_id_vocabularies
        FOREIGN KEY(vocabulary_id) REFERENCES vocabularies (id) ON DELETE CASCADE,
    CONSTRAINT fk_practice_message_id_messages FOREIGN KEY(message_id) REFERENCES messages (id) ON DELETE CASCADE
);
INSERT INTO practice_anew (
    id, vocabulary_id, message_id, created_at, width, tokens, law_tokens, law_logs, system_prompt, temperature
) SELECT
    id, vocabulary_id, message_id, created_at, width, tokens, law_tokens, law_logs, system_prompt, temperature
FROM practice;
DELETE FROM sqlite_sequence WHERE name = 'practice_anew';
INSERT INTO sqlite_sequence (name, seq) SELECT 'practice_anew', seq FROM sqlite_sequence WHERE name = 'practice';
DROP TABLE practice;
ALTER TABLE practice_anew RENAME TO practice;
CREATE INDEX ix_practice_message_id ON practice (message_id);
CREATE INDEX ix_practice_vocabulary_id ON practice (vocabulary_id)
"""


def upgrade() -> None:
    for statement in CHANGES.split(";"):
        op.execute(statement)
