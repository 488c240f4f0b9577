BEGIN TRANSACTION;
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
	weights BLOB NOT NULL
, ordinal INTEGER DEFAULT 0 NOT NULL);
INSERT INTO "adapters" VALUES(1,'target','drafter','2026-01-02 03:04:17.000000',2.0,2.5,30,200,0,X'66697273742077656967687473',1);
INSERT INTO "adapters" VALUES(2,'target','drafter','2026-01-02 03:04:18.000000',2.5,2.75,30,230,1,X'77656967687473',2);
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0006');
CREATE TABLE conversations (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	title TEXT NOT NULL, 
	system_prompt TEXT NOT NULL, 
	created_at DATETIME NOT NULL, 
	updated_at DATETIME NOT NULL, 
	deleted_at DATETIME, 
	head_message_id INTEGER
, sampling TEXT, draft TEXT DEFAULT '' NOT NULL, left_heads TEXT DEFAULT '[]' NOT NULL);
INSERT INTO "conversations" VALUES(1,'Old chat','Be kind.','2026-01-02 03:04:05.000000','2026-01-02 03:04:09.000000',NULL,2,'{"temperature": 0.5, "seed": 7}','begun','[2,4]');
INSERT INTO "conversations" VALUES(3,'Deleted','','2026-01-02 03:04:13.000000','2026-01-02 03:04:14.000000','2026-01-02 03:04:15.000000',6,NULL,'','[]');
CREATE TABLE imported_recall (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	vocabulary_id INTEGER NOT NULL, 
	tokens BLOB NOT NULL, 
	CONSTRAINT fk_imported_recall_vocabulary_id_vocabularies FOREIGN KEY(vocabulary_id) REFERENCES vocabularies (id) ON DELETE CASCADE
);
INSERT INTO "imported_recall" VALUES(1,1,X'0900000009000000');
CREATE TABLE learning_days (
	day TEXT NOT NULL, 
	seconds DOUBLE NOT NULL, 
	CONSTRAINT pk_learning_days PRIMARY KEY (day)
)
 WITHOUT ROWID

;
INSERT INTO "learning_days" VALUES('2026-01-02',60.0);
CREATE TABLE lessons (
	vocabulary_id INTEGER NOT NULL, 
	message_id INTEGER NOT NULL, 
	width INTEGER NOT NULL, 
	tokens BLOB NOT NULL, 
	law_tokens BLOB NOT NULL, 
	law_logs BLOB NOT NULL, system_prompt TEXT DEFAULT '' NOT NULL, 
	CONSTRAINT pk_lessons PRIMARY KEY (vocabulary_id, message_id), 
	CONSTRAINT fk_lessons_message_id_messages FOREIGN KEY(message_id) REFERENCES messages (id) ON DELETE CASCADE, 
	CONSTRAINT fk_lessons_vocabulary_id_vocabularies FOREIGN KEY(vocabulary_id) REFERENCES vocabularies (id) ON DELETE CASCADE
)
 WITHOUT ROWID

;
INSERT INTO "lessons" VALUES(1,2,1,X'0700000008000000',X'0700000008000000',X'00000000','Be kind.');
CREATE TABLE messages (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	conversation_id INTEGER NOT NULL, 
	parent_id INTEGER, 
	role VARCHAR(16) NOT NULL, 
	text TEXT NOT NULL, 
	created_at DATETIME NOT NULL, 
	target_name TEXT, 
	CONSTRAINT fk_messages_conversation_id_conversations FOREIGN KEY(conversation_id) REFERENCES conversations (id) ON DELETE CASCADE, 
	CONSTRAINT fk_messages_parent_id_messages FOREIGN KEY(parent_id) REFERENCES messages (id)
);
INSERT INTO "messages" VALUES(1,1,NULL,'user','asked','2026-01-02 03:04:06.000000',NULL);
INSERT INTO "messages" VALUES(2,1,1,'assistant','first','2026-01-02 03:04:07.000000','tiny');
INSERT INTO "messages" VALUES(3,1,1,'assistant','second','2026-01-02 03:04:08.000000','tiny');
INSERT INTO "messages" VALUES(4,1,3,'user','and now? ☂','2026-01-02 03:04:09.000000',NULL);
INSERT INTO "messages" VALUES(6,3,NULL,'user','hidden','2026-01-02 03:04:14.000000',NULL);
CREATE TABLE ngrams (
	pair_id INTEGER NOT NULL, 
	string BLOB NOT NULL, 
	token INTEGER NOT NULL, 
	count INTEGER NOT NULL, 
	doubts INTEGER NOT NULL, 
	last_use INTEGER NOT NULL, 
	CONSTRAINT pk_ngrams PRIMARY KEY (pair_id, string), 
	CONSTRAINT fk_ngrams_pair_id_vocabulary_pairs FOREIGN KEY(pair_id) REFERENCES vocabulary_pairs (id) ON DELETE CASCADE
)
 WITHOUT ROWID

;
INSERT INTO "ngrams" VALUES(1,X'0100000002000000',3,4,0,5);
CREATE TABLE recall (
	vocabulary_id INTEGER NOT NULL, 
	message_id INTEGER NOT NULL, 
	tokens BLOB NOT NULL, 
	CONSTRAINT pk_recall PRIMARY KEY (vocabulary_id, message_id), 
	CONSTRAINT fk_recall_message_id_messages FOREIGN KEY(message_id) REFERENCES messages (id) ON DELETE CASCADE, 
	CONSTRAINT fk_recall_vocabulary_id_vocabularies FOREIGN KEY(vocabulary_id) REFERENCES vocabularies (id) ON DELETE CASCADE
)
 WITHOUT ROWID

;
INSERT INTO "recall" VALUES(1,1,X'06000000');
INSERT INTO "recall" VALUES(1,2,X'0700000008000000');
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
	left_out_messages INTEGER NOT NULL, num_rounds INTEGER DEFAULT 0 NOT NULL, num_drafted INTEGER DEFAULT 0 NOT NULL, num_accepted INTEGER DEFAULT 0 NOT NULL, plain_tokens_per_s DOUBLE DEFAULT 0 NOT NULL, plain_error DOUBLE DEFAULT 0 NOT NULL, draft_s DOUBLE DEFAULT 0 NOT NULL, check_s DOUBLE DEFAULT 0 NOT NULL, drafter_accepted INTEGER DEFAULT 0 NOT NULL, recall_accepted INTEGER DEFAULT 0 NOT NULL, kind VARCHAR(16) DEFAULT 'prose' NOT NULL, origins TEXT DEFAULT '[]' NOT NULL, 
	CONSTRAINT pk_reply_statistics PRIMARY KEY (message_id), 
	CONSTRAINT fk_reply_statistics_message_id_messages FOREIGN KEY(message_id) REFERENCES messages (id) ON DELETE CASCADE
);
INSERT INTO "reply_statistics" VALUES(2,11,7,42,0.5,1.5,'end',53,8192,3,20,30,22,15.5,0.01,0.25,1.0,12,10,'code','[[3,"drafter"],[1,"recall"],[1,"target"]]');
INSERT INTO "reply_statistics" VALUES(3,11,0,5,0.0,0.5,'stopped',16,8192,0,0,0,0,0.0,0.0,0.0,0.0,0,0,'prose','[]');
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
INSERT INTO "targets" VALUES(1,'tiny','/models/tiny.gguf',1000,'2026-01-02 03:04:16.000000','{"settings":{"context_size":4096,"threads":null,"gpu_layers":null},"sampling":null,"system_prompt":"Be brief."}','{"facts": 1}');
INSERT INTO "targets" VALUES(2,'unused','/models/unused.gguf',2000,NULL,'','');
CREATE TABLE vocabularies (
	id INTEGER NOT NULL, 
	fingerprint TEXT NOT NULL, 
	CONSTRAINT pk_vocabularies PRIMARY KEY (id), 
	CONSTRAINT uq_vocabularies_fingerprint UNIQUE (fingerprint)
);
INSERT INTO "vocabularies" VALUES(1,'target');
CREATE TABLE vocabulary_pairs (
	id INTEGER NOT NULL, 
	target_fingerprint TEXT NOT NULL, 
	drafter_fingerprint TEXT NOT NULL, 
	CONSTRAINT pk_vocabulary_pairs PRIMARY KEY (id), 
	CONSTRAINT uq_vocabulary_pairs_target_fingerprint UNIQUE (target_fingerprint, drafter_fingerprint)
);
INSERT INTO "vocabulary_pairs" VALUES(1,'target','drafter');
CREATE INDEX ix_conversations_updated_at ON conversations (updated_at);
CREATE INDEX ix_messages_conversation_id ON messages (conversation_id);
CREATE INDEX ix_messages_parent_id ON messages (parent_id);
CREATE INDEX ix_recall_message_id ON recall (message_id);
CREATE INDEX ix_imported_recall_vocabulary_id ON imported_recall (vocabulary_id);
CREATE INDEX ix_lessons_message_id ON lessons (message_id);
CREATE INDEX ix_adapters_target_fingerprint ON adapters (target_fingerprint, drafter_fingerprint);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('conversations',3);
INSERT INTO "sqlite_sequence" VALUES('messages',6);
INSERT INTO "sqlite_sequence" VALUES('adapters',2);
INSERT INTO "sqlite_sequence" VALUES('imported_recall',1);
COMMIT;
