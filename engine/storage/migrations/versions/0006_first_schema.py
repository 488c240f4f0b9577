"""The schema of the first release, in SQL: a migration must not change when `schema.py` does."""

from __future__ import annotations

from alembic import op

revision = "0006"  # the ones before were never released
down_revision = None

SCHEMA = """
CREATE TABLE conversations (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL,
    system_prompt TEXT NOT NULL,
    created_at DATETIME NOT NULL,
    updated_at DATETIME NOT NULL,
    deleted_at DATETIME,
    head_message_id INTEGER,
    sampling TEXT,
    draft TEXT DEFAULT '' NOT NULL,
    left_heads TEXT DEFAULT '[]' NOT NULL
);
CREATE INDEX ix_conversations_updated_at ON conversations (updated_at);
CREATE TABLE messages (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    conversation_id INTEGER NOT NULL,
    parent_id INTEGER,
    role VARCHAR(16) NOT NULL,
    text TEXT NOT NULL,
    created_at DATETIME NOT NULL,
    target_name TEXT,
    CONSTRAINT fk_messages_conversation_id_conversations
        FOREIGN KEY(conversation_id) REFERENCES conversations (id) ON DELETE CASCADE,
    CONSTRAINT fk_messages_parent_id_messages FOREIGN KEY(parent_id) REFERENCES messages (id)
);
CREATE INDEX ix_messages_conversation_id ON messages (conversation_id);
CREATE INDEX ix_messages_parent_id ON messages (parent_id);
CREATE TABLE reply_statistics (
    message_id INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    evaluated_tokens INTEGER NOT NULL,
    reply_tokens INTEGER NOT NULL,
    prompt_s DOUBLE NOT NULL,
    reply_s DOUBLE NOT NULL,
    stop_reason VARCHAR(16) NOT NULL,
    context_used INTEGER NOT NULL,
    context_size INTEGER NOT NULL,
    left_out_messages INTEGER NOT NULL,
    num_rounds INTEGER DEFAULT 0 NOT NULL,
    num_drafted INTEGER DEFAULT 0 NOT NULL,
    num_accepted INTEGER DEFAULT 0 NOT NULL,
    plain_tokens_per_s DOUBLE DEFAULT 0 NOT NULL,
    plain_error DOUBLE DEFAULT 0 NOT NULL,
    draft_s DOUBLE DEFAULT 0 NOT NULL,
    check_s DOUBLE DEFAULT 0 NOT NULL,
    drafter_accepted INTEGER DEFAULT 0 NOT NULL,
    recall_accepted INTEGER DEFAULT 0 NOT NULL,
    kind VARCHAR(16) DEFAULT 'prose' NOT NULL,
    origins TEXT DEFAULT '[]' NOT NULL,
    CONSTRAINT pk_reply_statistics PRIMARY KEY (message_id),
    CONSTRAINT fk_reply_statistics_message_id_messages
        FOREIGN KEY(message_id) REFERENCES messages (id) ON DELETE CASCADE
);
CREATE TABLE targets (
    id INTEGER NOT NULL,
    name TEXT NOT NULL,
    path TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    last_used_at DATETIME,
    options TEXT DEFAULT '' NOT NULL,
    details TEXT DEFAULT '' NOT NULL,
    CONSTRAINT pk_targets PRIMARY KEY (id),
    CONSTRAINT uq_targets_name UNIQUE (name),
    CONSTRAINT uq_targets_path UNIQUE (path)
);
CREATE TABLE learning_days (
    day TEXT NOT NULL,
    seconds DOUBLE NOT NULL,
    CONSTRAINT pk_learning_days PRIMARY KEY (day)
) WITHOUT ROWID;
CREATE TABLE vocabulary_pairs (
    id INTEGER NOT NULL,
    target_fingerprint TEXT NOT NULL,
    drafter_fingerprint TEXT NOT NULL,
    CONSTRAINT pk_vocabulary_pairs PRIMARY KEY (id),
    CONSTRAINT uq_vocabulary_pairs_target_fingerprint UNIQUE (target_fingerprint, drafter_fingerprint)
);
CREATE TABLE ngrams (
    pair_id INTEGER NOT NULL,
    string BLOB NOT NULL,
    token INTEGER NOT NULL,
    count INTEGER NOT NULL,
    doubts INTEGER NOT NULL,
    last_use INTEGER NOT NULL,
    CONSTRAINT pk_ngrams PRIMARY KEY (pair_id, string),
    CONSTRAINT fk_ngrams_pair_id_vocabulary_pairs
        FOREIGN KEY(pair_id) REFERENCES vocabulary_pairs (id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE TABLE vocabularies (
    id INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    CONSTRAINT pk_vocabularies PRIMARY KEY (id),
    CONSTRAINT uq_vocabularies_fingerprint UNIQUE (fingerprint)
);
CREATE TABLE recall (
    vocabulary_id INTEGER NOT NULL,
    message_id INTEGER NOT NULL,
    tokens BLOB NOT NULL,
    CONSTRAINT pk_recall PRIMARY KEY (vocabulary_id, message_id),
    CONSTRAINT fk_recall_message_id_messages FOREIGN KEY(message_id) REFERENCES messages (id) ON DELETE CASCADE,
    CONSTRAINT fk_recall_vocabulary_id_vocabularies
        FOREIGN KEY(vocabulary_id) REFERENCES vocabularies (id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX ix_recall_message_id ON recall (message_id);
CREATE TABLE imported_recall (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    vocabulary_id INTEGER NOT NULL,
    tokens BLOB NOT NULL,
    CONSTRAINT fk_imported_recall_vocabulary_id_vocabularies
        FOREIGN KEY(vocabulary_id) REFERENCES vocabularies (id) ON DELETE CASCADE
);
CREATE INDEX ix_imported_recall_vocabulary_id ON imported_recall (vocabulary_id);
CREATE TABLE lessons (
    vocabulary_id INTEGER NOT NULL,
    message_id INTEGER NOT NULL,
    width INTEGER NOT NULL,
    tokens BLOB NOT NULL,
    law_tokens BLOB NOT NULL,
    law_logs BLOB NOT NULL,
    system_prompt TEXT DEFAULT '' NOT NULL,
    CONSTRAINT pk_lessons PRIMARY KEY (vocabulary_id, message_id),
    CONSTRAINT fk_lessons_message_id_messages FOREIGN KEY(message_id) REFERENCES messages (id) ON DELETE CASCADE,
    CONSTRAINT fk_lessons_vocabulary_id_vocabularies
        FOREIGN KEY(vocabulary_id) REFERENCES vocabularies (id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX ix_lessons_message_id ON lessons (message_id);
CREATE TABLE adapters (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    target_fingerprint TEXT NOT NULL,
    drafter_fingerprint TEXT NOT NULL,
    created_at DATETIME NOT NULL,
    accepted_before DOUBLE NOT NULL,
    accepted_after DOUBLE NOT NULL,
    num_replies INTEGER NOT NULL,
    num_learned INTEGER NOT NULL,
    is_published BOOLEAN NOT NULL,
    weights BLOB NOT NULL,
    ordinal INTEGER DEFAULT 0 NOT NULL
);
CREATE INDEX ix_adapters_target_fingerprint ON adapters (target_fingerprint, drafter_fingerprint)
"""


def upgrade() -> None:
    for statement in SCHEMA.split(";"):
        op.execute(statement)
