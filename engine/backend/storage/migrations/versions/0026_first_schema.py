"""The schema of the first release, in SQL: a migration must not change when `schema.py` does."""

from __future__ import annotations

from alembic import op

revision = "0026"  # earlier ones were never released
down_revision = None

SCHEMA = """
CREATE TABLE adapters (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, target_fingerprint TEXT NOT NULL,
    drafter_fingerprint TEXT NOT NULL, created_at DATETIME NOT NULL, accepted_before DOUBLE NOT NULL,
    accepted_after DOUBLE NOT NULL, num_replies INTEGER NOT NULL, num_learned INTEGER NOT NULL,
    is_published BOOLEAN NOT NULL, weights BLOB NOT NULL, ordinal INTEGER DEFAULT 0 NOT NULL,
    error DOUBLE DEFAULT 0 NOT NULL, num_chats INTEGER DEFAULT 0 NOT NULL, num_tokens INTEGER DEFAULT 0 NOT NULL
);
CREATE INDEX ix_adapters_target_fingerprint ON adapters (target_fingerprint, drafter_fingerprint);
CREATE TABLE allowed_tools (
    server TEXT NOT NULL, tool TEXT NOT NULL, definition TEXT NOT NULL,
    CONSTRAINT pk_allowed_tools PRIMARY KEY (server, tool)
);
CREATE TABLE candidates (
    target_fingerprint TEXT NOT NULL, drafter_fingerprint TEXT NOT NULL, adapter INTEGER,
    scored_until INTEGER NOT NULL, learned_until INTEGER NOT NULL, num_learned INTEGER NOT NULL,
    capital TEXT NOT NULL, weights BLOB NOT NULL,
    CONSTRAINT pk_candidates PRIMARY KEY (target_fingerprint, drafter_fingerprint)
) WITHOUT ROWID;
CREATE TABLE conversations (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, system_prompt TEXT NOT NULL,
    created_at DATETIME NOT NULL, updated_at DATETIME NOT NULL, deleted_at DATETIME, head_message_id INTEGER,
    sampling TEXT, draft TEXT DEFAULT '' NOT NULL, left_heads TEXT DEFAULT '[]' NOT NULL, folder_id INTEGER,
    pinned_at DATETIME, archived_at DATETIME
);
CREATE INDEX ix_conversations_folder_id ON conversations (folder_id);
CREATE INDEX ix_conversations_updated_at ON conversations (updated_at);
CREATE TABLE drafter_figures (
    target_identity TEXT NOT NULL, drafter_key TEXT NOT NULL, num_first DOUBLE NOT NULL,
    first_right DOUBLE NOT NULL, num_next DOUBLE NOT NULL, next_right DOUBLE NOT NULL, step_s DOUBLE NOT NULL,
    CONSTRAINT pk_drafter_figures PRIMARY KEY (target_identity, drafter_key)
) WITHOUT ROWID;
CREATE TABLE erasures (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, holder TEXT NOT NULL, row_id INTEGER NOT NULL,
    created_at TEXT NOT NULL
);
CREATE TABLE form_figures (
    target_identity TEXT NOT NULL, build TEXT NOT NULL, threads INTEGER NOT NULL, form TEXT NOT NULL,
    measured_at DATETIME NOT NULL, figures TEXT NOT NULL,
    CONSTRAINT pk_form_figures PRIMARY KEY (target_identity, build, threads, form)
) WITHOUT ROWID;
CREATE TABLE known_pace (
    target_identity TEXT NOT NULL, build TEXT NOT NULL, threads INTEGER NOT NULL, pace TEXT NOT NULL,
    CONSTRAINT pk_known_pace PRIMARY KEY (target_identity, build, threads)
) WITHOUT ROWID;
CREATE TABLE learning_days (
    day TEXT NOT NULL, seconds DOUBLE NOT NULL,
    CONSTRAINT pk_learning_days PRIMARY KEY (day)
) WITHOUT ROWID;
CREATE TABLE presets (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, system_prompt TEXT, sampling TEXT,
    thinks BOOLEAN, target_name TEXT DEFAULT '' NOT NULL, target_identity TEXT DEFAULT '' NOT NULL,
    CONSTRAINT uq_presets_name UNIQUE (name)
);
CREATE TABLE prompts (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, text TEXT NOT NULL,
    CONSTRAINT uq_prompts_name UNIQUE (name)
);
CREATE TABLE targets (
    id INTEGER NOT NULL, identity TEXT, last_used_at DATETIME, options TEXT DEFAULT '' NOT NULL,
    vocabulary TEXT DEFAULT '' NOT NULL,
    CONSTRAINT pk_targets PRIMARY KEY (id),
    CONSTRAINT uq_targets_identity UNIQUE (identity)
);
CREATE TABLE vocabularies (
    id INTEGER NOT NULL, fingerprint TEXT NOT NULL,
    CONSTRAINT pk_vocabularies PRIMARY KEY (id),
    CONSTRAINT uq_vocabularies_fingerprint UNIQUE (fingerprint)
);
CREATE TABLE vocabulary_pairs (
    id INTEGER NOT NULL, target_fingerprint TEXT NOT NULL, drafter_fingerprint TEXT NOT NULL,
    CONSTRAINT pk_vocabulary_pairs PRIMARY KEY (id),
    CONSTRAINT uq_vocabulary_pairs_target_fingerprint UNIQUE (target_fingerprint, drafter_fingerprint)
);
CREATE TABLE chat_tools (
    conversation_id INTEGER NOT NULL, server TEXT NOT NULL, tool TEXT NOT NULL, definition TEXT NOT NULL,
    CONSTRAINT pk_chat_tools PRIMARY KEY (conversation_id, server, tool),
    CONSTRAINT fk_chat_tools_conversation_id_conversations
        FOREIGN KEY(conversation_id) REFERENCES conversations (id) ON DELETE CASCADE
);
CREATE TABLE folders (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, system_prompt TEXT, preset_id INTEGER,
    target_name TEXT DEFAULT '' NOT NULL, target_identity TEXT DEFAULT '' NOT NULL,
    CONSTRAINT uq_folders_name UNIQUE (name),
    CONSTRAINT fk_folders_preset_id_presets FOREIGN KEY(preset_id) REFERENCES presets (id) ON DELETE SET NULL
);
CREATE TABLE imported_names (
    vocabulary_id INTEGER NOT NULL, name TEXT NOT NULL,
    CONSTRAINT pk_imported_names PRIMARY KEY (vocabulary_id, name),
    CONSTRAINT fk_imported_names_vocabulary_id_vocabularies
        FOREIGN KEY(vocabulary_id) REFERENCES vocabularies (id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE TABLE imported_recall (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, vocabulary_id INTEGER NOT NULL, tokens BLOB NOT NULL,
    CONSTRAINT fk_imported_recall_vocabulary_id_vocabularies
        FOREIGN KEY(vocabulary_id) REFERENCES vocabularies (id) ON DELETE CASCADE
);
CREATE INDEX ix_imported_recall_vocabulary_id ON imported_recall (vocabulary_id);
CREATE TABLE messages (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, conversation_id INTEGER NOT NULL, parent_id INTEGER,
    role VARCHAR(16) NOT NULL, text TEXT NOT NULL, created_at DATETIME NOT NULL, target_name TEXT,
    target_identity TEXT, thoughts TEXT DEFAULT '[]' NOT NULL, calls TEXT DEFAULT '[]' NOT NULL, result TEXT,
    CONSTRAINT fk_messages_conversation_id_conversations
        FOREIGN KEY(conversation_id) REFERENCES conversations (id) ON DELETE CASCADE,
    CONSTRAINT fk_messages_parent_id_messages FOREIGN KEY(parent_id) REFERENCES messages (id)
);
CREATE INDEX ix_messages_conversation_id ON messages (conversation_id);
CREATE INDEX ix_messages_parent_id ON messages (parent_id);
CREATE TABLE ngrams (
    pair_id INTEGER NOT NULL, string BLOB NOT NULL, token INTEGER NOT NULL, count INTEGER NOT NULL,
    doubts INTEGER NOT NULL, last_use INTEGER NOT NULL,
    CONSTRAINT pk_ngrams PRIMARY KEY (pair_id, string),
    CONSTRAINT fk_ngrams_pair_id_vocabulary_pairs
        FOREIGN KEY(pair_id) REFERENCES vocabulary_pairs (id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE TABLE pictures (
    conversation_id INTEGER NOT NULL, digest TEXT NOT NULL, width INTEGER NOT NULL, height INTEGER NOT NULL,
    data BLOB NOT NULL,
    CONSTRAINT pk_pictures PRIMARY KEY (conversation_id, digest),
    CONSTRAINT fk_pictures_conversation_id_conversations
        FOREIGN KEY(conversation_id) REFERENCES conversations (id) ON DELETE CASCADE
);
CREATE TABLE target_files (
    id INTEGER NOT NULL, target_id INTEGER NOT NULL, name TEXT NOT NULL, path TEXT NOT NULL,
    size_bytes INTEGER NOT NULL, details TEXT DEFAULT '' NOT NULL, loaded_stamp TEXT DEFAULT '' NOT NULL,
    CONSTRAINT pk_target_files PRIMARY KEY (id),
    CONSTRAINT fk_target_files_target_id_targets FOREIGN KEY(target_id) REFERENCES targets (id) ON DELETE CASCADE,
    CONSTRAINT uq_target_files_name UNIQUE (name),
    CONSTRAINT uq_target_files_path UNIQUE (path)
);
CREATE INDEX ix_target_files_target_id ON target_files (target_id);
CREATE TABLE lessons (
    vocabulary_id INTEGER NOT NULL, message_id INTEGER NOT NULL, width INTEGER NOT NULL, tokens BLOB NOT NULL,
    law_tokens BLOB NOT NULL, law_logs BLOB NOT NULL, system_prompt TEXT DEFAULT '' NOT NULL,
    temperature DOUBLE DEFAULT 0 NOT NULL,
    CONSTRAINT pk_lessons PRIMARY KEY (vocabulary_id, message_id),
    CONSTRAINT fk_lessons_vocabulary_id_vocabularies
        FOREIGN KEY(vocabulary_id) REFERENCES vocabularies (id) ON DELETE CASCADE,
    CONSTRAINT fk_lessons_message_id_messages FOREIGN KEY(message_id) REFERENCES messages (id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX ix_lessons_message_id ON lessons (message_id);
CREATE TABLE practice (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, vocabulary_id INTEGER NOT NULL, message_id INTEGER NOT NULL,
    created_at DATETIME NOT NULL, width INTEGER NOT NULL, tokens BLOB NOT NULL, law_tokens BLOB NOT NULL,
    law_logs BLOB NOT NULL, system_prompt TEXT NOT NULL, temperature DOUBLE DEFAULT 0 NOT NULL,
    CONSTRAINT fk_practice_vocabulary_id_vocabularies
        FOREIGN KEY(vocabulary_id) REFERENCES vocabularies (id) ON DELETE CASCADE,
    CONSTRAINT fk_practice_message_id_messages FOREIGN KEY(message_id) REFERENCES messages (id) ON DELETE CASCADE
);
CREATE INDEX ix_practice_message_id ON practice (message_id);
CREATE INDEX ix_practice_vocabulary_id ON practice (vocabulary_id);
CREATE TABLE recall (
    vocabulary_id INTEGER NOT NULL, message_id INTEGER NOT NULL, tokens BLOB NOT NULL,
    CONSTRAINT pk_recall PRIMARY KEY (vocabulary_id, message_id),
    CONSTRAINT fk_recall_vocabulary_id_vocabularies
        FOREIGN KEY(vocabulary_id) REFERENCES vocabularies (id) ON DELETE CASCADE,
    CONSTRAINT fk_recall_message_id_messages FOREIGN KEY(message_id) REFERENCES messages (id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX ix_recall_message_id ON recall (message_id);
CREATE TABLE reply_proposers (
    message_id INTEGER NOT NULL, "key" TEXT NOT NULL, num_rounds INTEGER NOT NULL, num_drafted INTEGER NOT NULL,
    num_accepted INTEGER NOT NULL,
    CONSTRAINT pk_reply_proposers PRIMARY KEY (message_id, "key"),
    CONSTRAINT fk_reply_proposers_message_id_messages
        FOREIGN KEY(message_id) REFERENCES messages (id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE TABLE reply_statistics (
    message_id INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL, evaluated_tokens INTEGER NOT NULL,
    reply_tokens INTEGER NOT NULL, prompt_s DOUBLE NOT NULL, reply_s DOUBLE NOT NULL,
    stop_reason VARCHAR(16) NOT NULL, context_used INTEGER NOT NULL, context_size INTEGER NOT NULL,
    left_out_messages INTEGER NOT NULL, num_rounds INTEGER DEFAULT 0 NOT NULL,
    num_drafted INTEGER DEFAULT 0 NOT NULL, num_accepted INTEGER DEFAULT 0 NOT NULL,
    plain_tokens_per_s DOUBLE DEFAULT 0 NOT NULL, plain_error DOUBLE DEFAULT 0 NOT NULL,
    draft_s DOUBLE DEFAULT 0 NOT NULL, check_s DOUBLE DEFAULT 0 NOT NULL, kind VARCHAR(16) DEFAULT 'prose' NOT NULL,
    origins TEXT DEFAULT '[]' NOT NULL, ratio DOUBLE DEFAULT 0 NOT NULL, repeats BOOLEAN DEFAULT 0 NOT NULL,
    seed TEXT DEFAULT '' NOT NULL, hindrance VARCHAR(16) DEFAULT '' NOT NULL,
    CONSTRAINT pk_reply_statistics PRIMARY KEY (message_id),
    CONSTRAINT fk_reply_statistics_message_id_messages
        FOREIGN KEY(message_id) REFERENCES messages (id) ON DELETE CASCADE
);
CREATE TABLE scores (
    vocabulary_id INTEGER NOT NULL, drafter_fingerprint TEXT NOT NULL, message_id INTEGER NOT NULL,
    num_tokens INTEGER NOT NULL, rounds_before DOUBLE NOT NULL, rounds_after DOUBLE NOT NULL,
    CONSTRAINT pk_scores PRIMARY KEY (vocabulary_id, drafter_fingerprint, message_id),
    CONSTRAINT fk_scores_vocabulary_id_vocabularies
        FOREIGN KEY(vocabulary_id) REFERENCES vocabularies (id) ON DELETE CASCADE,
    CONSTRAINT fk_scores_message_id_messages FOREIGN KEY(message_id) REFERENCES messages (id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX ix_scores_message_id ON scores (message_id)
"""


def upgrade() -> None:
    for statement in SCHEMA.split(";"):
        op.execute(statement)
