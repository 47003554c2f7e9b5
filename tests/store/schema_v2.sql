-- The second schema (alerts) with a few rows. Never made anew: it must open for ever.
PRAGMA application_id = 1146046295;
PRAGMA user_version = 2;
BEGIN TRANSACTION;
CREATE TABLE chain (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL,
        hash BLOB NOT NULL, seal INTEGER NOT NULL);
INSERT INTO "chain" VALUES(1,6,X'D86162C13BA1E5E41C2E3E43472E54B61CE51A2159D7A56AB945EF4FEDE0848C',3165340652);
CREATE TABLE channels (
        key INTEGER PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, settings TEXT NOT NULL, route TEXT NOT NULL,
        added REAL NOT NULL, after INTEGER NOT NULL, removed REAL, seal INTEGER NOT NULL);
CREATE TABLE cursors (name TEXT PRIMARY KEY, seq INTEGER NOT NULL, seal INTEGER NOT NULL);
CREATE TABLE deliveries (
        key INTEGER PRIMARY KEY, notice INTEGER NOT NULL REFERENCES notices (id), channel TEXT NOT NULL,
        at REAL NOT NULL, ok INTEGER NOT NULL, detail TEXT NOT NULL, seal INTEGER NOT NULL);
CREATE TABLE events (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, mono REAL NOT NULL, kind TEXT NOT NULL,
        ref TEXT, place TEXT, level TEXT NOT NULL, text TEXT NOT NULL, body TEXT NOT NULL,
        hash BLOB NOT NULL);
INSERT INTO "events" VALUES(1,1800000000.0,1.0,'job.added','here/process:1','here','info','train-1 is watched','{}',X'C21CEC43AA402C29740D8CB21CD253A4EC1C284F71A863B53EBCF08D96083A47');
INSERT INTO "events" VALUES(2,1800000000.0,1.0,'job.added','here/process:2','here','info','train-2 is watched','{}',X'6DC6FC56AB3E29389981C4602E4A9B12455BB96E8591A17BC07E4A27B55FA887');
INSERT INTO "events" VALUES(3,1800000000.0,1.0,'job.added','here/process:3','here','info','train-3 is watched','{}',X'0D0C16F9F180B934AB88D9BB95991D48663ADA913D5115E90F9D8F4B95A06A56');
INSERT INTO "events" VALUES(4,1800000000.0,1.0,'job.added','here/process:4','here','info','train-4 is watched','{}',X'9AD5B906A7339E777596CC80B6CAA7E0B015572A72BACFEB5CCADF6A90D34975');
INSERT INTO "events" VALUES(5,1800000001.0,1.0,'job.state','here/process:1',NULL,'info','step 1','{"n":1}',X'4314C69756808E7A9AD1CB2859922623C38C38050E49E6D379AFACD3443B142F');
INSERT INTO "events" VALUES(6,1800000002.0,2.0,'job.state','here/process:1',NULL,'info','step 2','{"n":2}',X'D86162C13BA1E5E41C2E3E43472E54B61CE51A2159D7A56AB945EF4FEDE0848C');
CREATE TABLE findings (
        key INTEGER PRIMARY KEY, subject TEXT NOT NULL, rule TEXT NOT NULL, what TEXT NOT NULL,
        level TEXT NOT NULL, text TEXT NOT NULL, opened REAL NOT NULL, resolved REAL,
        lasting INTEGER NOT NULL, seal INTEGER NOT NULL);
INSERT INTO "findings" VALUES(1,'here/process:1','numbered','','warning','2',1800000001.0,NULL,0,3988864638);
CREATE TABLE jobs (
        key INTEGER PRIMARY KEY, ref TEXT NOT NULL UNIQUE, place TEXT NOT NULL REFERENCES places (name),
        source TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, description TEXT NOT NULL,
        submitted REAL, registered REAL NOT NULL, track TEXT NOT NULL, expect TEXT NOT NULL,
        active INTEGER NOT NULL, forgotten REAL, state TEXT, state_facts TEXT, outcome TEXT,
        native TEXT NOT NULL, reason TEXT NOT NULL, exit_code INTEGER, signal INTEGER,
        attempts INTEGER NOT NULL, attempt TEXT NOT NULL, since REAL, proved_at REAL, started REAL,
        proof TEXT NOT NULL, progress TEXT, eta TEXT, diagnosis TEXT, detail TEXT NOT NULL,
        seal INTEGER NOT NULL, UNIQUE (place, source, id, submitted));
INSERT INTO "jobs" VALUES(1,'here/process:1','here','process','1','train-1','',NULL,1800000001.0,'{}','{"workers":null,"logs":[],"outputs":[],"checkpoints":[],"total_items":null,"launch_timeout":60.0,"stall_timeout":null,"check_interval":null,"progress_patterns":{},"error_patterns":[]}',1,NULL,'running','{"since":1800000000.0,"where":"here"}',NULL,'R','',NULL,NULL,1,'a1',1800000000.0,1800000002.0,NULL,'[{"by":"probe","says":"running","at":1800000002.0}]','{"step":2,"at":1800000002.0}',NULL,NULL,'{"workers":[]}',1729536964);
INSERT INTO "jobs" VALUES(2,'here/process:2','here','process','2','train-2','',NULL,1800000002.0,'{}','{"workers":null,"logs":[],"outputs":[],"checkpoints":[],"total_items":null,"launch_timeout":60.0,"stall_timeout":null,"check_interval":null,"progress_patterns":{},"error_patterns":[]}',1,NULL,NULL,NULL,NULL,'','',NULL,NULL,0,'',NULL,NULL,NULL,'[]',NULL,NULL,NULL,'{}',325829373);
INSERT INTO "jobs" VALUES(3,'here/process:3','here','process','3','train-3','',NULL,1800000003.0,'{}','{"workers":null,"logs":[],"outputs":[],"checkpoints":[],"total_items":null,"launch_timeout":60.0,"stall_timeout":null,"check_interval":null,"progress_patterns":{},"error_patterns":[]}',0,NULL,'ended','{"at":1800000000.0,"reason":""}','succeeded','exit 0','',0,NULL,1,'a1',1800000000.0,1800000000.0,NULL,'[{"by":"keeper","says":"exit 0","at":1800000000.0}]',NULL,NULL,NULL,'{"workers":[]}',3943188975);
INSERT INTO "jobs" VALUES(4,'here/process:4','here','process','4','train-4','',NULL,1800000004.0,'{}','{"workers":null,"logs":[],"outputs":[],"checkpoints":[],"total_items":null,"launch_timeout":60.0,"stall_timeout":null,"check_interval":null,"progress_patterns":{},"error_patterns":[]}',0,NULL,'ended','{"at":1800000000.0,"reason":""}','succeeded','exit 0','',0,NULL,1,'a1',1800000000.0,1800000000.0,NULL,'[{"by":"keeper","says":"exit 0","at":1800000000.0}]',NULL,NULL,NULL,'{"workers":[]}',2126076380);
CREATE TABLE letters (
        key INTEGER PRIMARY KEY, notice INTEGER NOT NULL REFERENCES notices (id), channel TEXT NOT NULL,
        state TEXT NOT NULL, reason TEXT NOT NULL, due REAL NOT NULL, message INTEGER, seal INTEGER NOT NULL);
CREATE TABLE memories (job INTEGER PRIMARY KEY REFERENCES jobs (key), body TEXT NOT NULL,
        seal INTEGER NOT NULL);
INSERT INTO "memories" VALUES(1,'{"n":2}',4008362021);
INSERT INTO "memories" VALUES(2,'{}',486028104);
CREATE TABLE messages (
        key INTEGER PRIMARY KEY, token TEXT NOT NULL UNIQUE, channel TEXT NOT NULL, state TEXT NOT NULL,
        created REAL NOT NULL, due REAL NOT NULL, tries INTEGER NOT NULL, detail TEXT NOT NULL, settled REAL,
        seal INTEGER NOT NULL);
CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, at REAL NOT NULL);
INSERT INTO "migrations" VALUES(1,'m001_first',1.79479705255915665627e+09);
INSERT INTO "migrations" VALUES(2,'m002_alerts',1.79479705255915665627e+09);
CREATE TABLE notes (
        notice INTEGER PRIMARY KEY REFERENCES notices (id), rule TEXT NOT NULL, what TEXT NOT NULL, since REAL NOT NULL,
        resolved INTEGER NOT NULL, why TEXT NOT NULL, remedy TEXT NOT NULL, routed REAL, seal INTEGER NOT NULL);
INSERT INTO "notes" VALUES(1,'','',1800000001.0,0,'','',NULL,2792077567);
INSERT INTO "notes" VALUES(2,'','',1800000002.0,0,'','',NULL,1044155838);
CREATE TABLE notices (
        id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, subject TEXT NOT NULL, level TEXT NOT NULL,
        text TEXT NOT NULL, created REAL NOT NULL, done REAL, seal INTEGER NOT NULL);
INSERT INTO "notices" VALUES(1,'n1','here/process:1','info','1',1800000001.0,NULL,413659094);
INSERT INTO "notices" VALUES(2,'n2','here/process:1','info','2',1800000002.0,NULL,1011849505);
CREATE TABLE places (
        key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, reach TEXT NOT NULL,
        floor REAL NOT NULL, looked_at REAL, seen_at REAL, dark_since REAL, dark_why TEXT,
        looks INTEGER NOT NULL, dark_looks INTEGER NOT NULL, facts TEXT NOT NULL, seal INTEGER NOT NULL);
INSERT INTO "places" VALUES(1,'here','here','{}',1.0,1800000002.0,1800000002.0,NULL,NULL,2,0,'{}',2758951645);
CREATE TABLE silences (
        key INTEGER PRIMARY KEY, subject TEXT NOT NULL, rule TEXT NOT NULL, what TEXT, until REAL, why TEXT NOT NULL,
        created REAL NOT NULL, ended REAL, seal INTEGER NOT NULL);
INSERT INTO "silences" VALUES(1,'here/process:1','stalled',NULL,NULL,'I know',1800000000.0,NULL,92900813);
CREATE TABLE tallies (
        name TEXT PRIMARY KEY, rows INTEGER NOT NULL, total INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO "tallies" VALUES('channels',0,0);
INSERT INTO "tallies" VALUES('commits',9,0);
INSERT INTO "tallies" VALUES('findings',1,3988864638);
INSERT INTO "tallies" VALUES('findings.open',1,3988864638);
INSERT INTO "tallies" VALUES('jobs',4,8124631692);
INSERT INTO "tallies" VALUES('jobs.open',2,2055366337);
INSERT INTO "tallies" VALUES('letters',0,0);
INSERT INTO "tallies" VALUES('letters.open',0,0);
INSERT INTO "tallies" VALUES('messages',0,0);
INSERT INTO "tallies" VALUES('messages.open',0,0);
INSERT INTO "tallies" VALUES('notes',2,3836233405);
INSERT INTO "tallies" VALUES('notes.open',2,3836233405);
INSERT INTO "tallies" VALUES('notices',2,1425508599);
INSERT INTO "tallies" VALUES('notices.open',2,1425508599);
INSERT INTO "tallies" VALUES('places',1,2758951645);
INSERT INTO "tallies" VALUES('silences',1,92900813);
INSERT INTO "tallies" VALUES('silences.open',1,92900813);
CREATE TABLE watch (
        one INTEGER PRIMARY KEY CHECK (one = 1), who TEXT NOT NULL, started REAL NOT NULL, last_tick REAL,
        last_mono REAL, boot TEXT NOT NULL, stopped REAL, seal INTEGER NOT NULL);
CREATE INDEX jobs_active ON jobs (key) WHERE active = 1;
CREATE INDEX events_of_ref ON events (ref, seq) WHERE ref IS NOT NULL;
CREATE UNIQUE INDEX findings_open ON findings (subject, rule, what) WHERE resolved IS NULL;
CREATE INDEX notices_queued ON notices (id) WHERE done IS NULL;
CREATE TRIGGER events_stay BEFORE UPDATE ON events
        BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
CREATE TRIGGER events_remain BEFORE DELETE ON events
        BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END;
CREATE TRIGGER tally_places_insert AFTER INSERT ON places BEGIN UPDATE tallies SET rows = rows + (1), total = total + (1) * NEW.seal WHERE name = 'places'; END;
CREATE TRIGGER tally_places_update AFTER UPDATE ON places BEGIN UPDATE tallies SET rows = rows - (1) + (1), total = total - (1) * OLD.seal + (1) * NEW.seal WHERE name = 'places'; END;
CREATE TRIGGER tally_places_delete AFTER DELETE ON places BEGIN UPDATE tallies SET rows = rows - (1), total = total - (1) * OLD.seal WHERE name = 'places'; END;
CREATE TRIGGER tally_jobs_insert AFTER INSERT ON jobs BEGIN UPDATE tallies SET rows = rows + (1), total = total + (1) * NEW.seal WHERE name = 'jobs'; END;
CREATE TRIGGER tally_jobs_update AFTER UPDATE ON jobs BEGIN UPDATE tallies SET rows = rows - (1) + (1), total = total - (1) * OLD.seal + (1) * NEW.seal WHERE name = 'jobs'; END;
CREATE TRIGGER tally_jobs_delete AFTER DELETE ON jobs BEGIN UPDATE tallies SET rows = rows - (1), total = total - (1) * OLD.seal WHERE name = 'jobs'; END;
CREATE TRIGGER tally_jobs_open_insert AFTER INSERT ON jobs BEGIN UPDATE tallies SET rows = rows + (NEW.active = 1), total = total + (NEW.active = 1) * NEW.seal WHERE name = 'jobs.open'; END;
CREATE TRIGGER tally_jobs_open_update AFTER UPDATE ON jobs BEGIN UPDATE tallies SET rows = rows - (OLD.active = 1) + (NEW.active = 1), total = total - (OLD.active = 1) * OLD.seal + (NEW.active = 1) * NEW.seal WHERE name = 'jobs.open'; END;
CREATE TRIGGER tally_jobs_open_delete AFTER DELETE ON jobs BEGIN UPDATE tallies SET rows = rows - (OLD.active = 1), total = total - (OLD.active = 1) * OLD.seal WHERE name = 'jobs.open'; END;
CREATE TRIGGER tally_findings_insert AFTER INSERT ON findings BEGIN UPDATE tallies SET rows = rows + (1), total = total + (1) * NEW.seal WHERE name = 'findings'; END;
CREATE TRIGGER tally_findings_update AFTER UPDATE ON findings BEGIN UPDATE tallies SET rows = rows - (1) + (1), total = total - (1) * OLD.seal + (1) * NEW.seal WHERE name = 'findings'; END;
CREATE TRIGGER tally_findings_delete AFTER DELETE ON findings BEGIN UPDATE tallies SET rows = rows - (1), total = total - (1) * OLD.seal WHERE name = 'findings'; END;
CREATE TRIGGER tally_findings_open_insert AFTER INSERT ON findings BEGIN UPDATE tallies SET rows = rows + (NEW.resolved IS NULL), total = total + (NEW.resolved IS NULL) * NEW.seal WHERE name = 'findings.open'; END;
CREATE TRIGGER tally_findings_open_update AFTER UPDATE ON findings BEGIN UPDATE tallies SET rows = rows - (OLD.resolved IS NULL) + (NEW.resolved IS NULL), total = total - (OLD.resolved IS NULL) * OLD.seal + (NEW.resolved IS NULL) * NEW.seal WHERE name = 'findings.open'; END;
CREATE TRIGGER tally_findings_open_delete AFTER DELETE ON findings BEGIN UPDATE tallies SET rows = rows - (OLD.resolved IS NULL), total = total - (OLD.resolved IS NULL) * OLD.seal WHERE name = 'findings.open'; END;
CREATE TRIGGER tally_notices_insert AFTER INSERT ON notices BEGIN UPDATE tallies SET rows = rows + (1), total = total + (1) * NEW.seal WHERE name = 'notices'; END;
CREATE TRIGGER tally_notices_update AFTER UPDATE ON notices BEGIN UPDATE tallies SET rows = rows - (1) + (1), total = total - (1) * OLD.seal + (1) * NEW.seal WHERE name = 'notices'; END;
CREATE TRIGGER tally_notices_delete AFTER DELETE ON notices BEGIN UPDATE tallies SET rows = rows - (1), total = total - (1) * OLD.seal WHERE name = 'notices'; END;
CREATE TRIGGER tally_notices_open_insert AFTER INSERT ON notices BEGIN UPDATE tallies SET rows = rows + (NEW.done IS NULL), total = total + (NEW.done IS NULL) * NEW.seal WHERE name = 'notices.open'; END;
CREATE TRIGGER tally_notices_open_update AFTER UPDATE ON notices BEGIN UPDATE tallies SET rows = rows - (OLD.done IS NULL) + (NEW.done IS NULL), total = total - (OLD.done IS NULL) * OLD.seal + (NEW.done IS NULL) * NEW.seal WHERE name = 'notices.open'; END;
CREATE TRIGGER tally_notices_open_delete AFTER DELETE ON notices BEGIN UPDATE tallies SET rows = rows - (OLD.done IS NULL), total = total - (OLD.done IS NULL) * OLD.seal WHERE name = 'notices.open'; END;
CREATE UNIQUE INDEX channels_used ON channels (name) WHERE removed IS NULL;
CREATE INDEX notices_of_subject ON notices (subject, created);
CREATE INDEX notes_open ON notes (notice) WHERE routed IS NULL;
CREATE INDEX notes_of_rule ON notes (rule, what);
CREATE UNIQUE INDEX letters_once ON letters (notice, channel);
CREATE INDEX letters_open ON letters (channel) WHERE state IN ('waiting', 'held');
CREATE INDEX letters_of_message ON letters (message) WHERE message IS NOT NULL;
CREATE INDEX messages_open ON messages (key) WHERE state = 'open';
CREATE TRIGGER tally_channels_insert AFTER INSERT ON channels BEGIN UPDATE tallies SET rows = rows + (1), total = total + (1) * NEW.seal WHERE name = 'channels'; END;
CREATE TRIGGER tally_channels_update AFTER UPDATE ON channels BEGIN UPDATE tallies SET rows = rows - (1) + (1), total = total - (1) * OLD.seal + (1) * NEW.seal WHERE name = 'channels'; END;
CREATE TRIGGER tally_channels_delete AFTER DELETE ON channels BEGIN UPDATE tallies SET rows = rows - (1), total = total - (1) * OLD.seal WHERE name = 'channels'; END;
CREATE TRIGGER tally_notes_insert AFTER INSERT ON notes BEGIN UPDATE tallies SET rows = rows + (1), total = total + (1) * NEW.seal WHERE name = 'notes'; END;
CREATE TRIGGER tally_notes_update AFTER UPDATE ON notes BEGIN UPDATE tallies SET rows = rows - (1) + (1), total = total - (1) * OLD.seal + (1) * NEW.seal WHERE name = 'notes'; END;
CREATE TRIGGER tally_notes_delete AFTER DELETE ON notes BEGIN UPDATE tallies SET rows = rows - (1), total = total - (1) * OLD.seal WHERE name = 'notes'; END;
CREATE TRIGGER tally_notes_open_insert AFTER INSERT ON notes BEGIN UPDATE tallies SET rows = rows + (NEW.routed IS NULL), total = total + (NEW.routed IS NULL) * NEW.seal WHERE name = 'notes.open'; END;
CREATE TRIGGER tally_notes_open_update AFTER UPDATE ON notes BEGIN UPDATE tallies SET rows = rows - (OLD.routed IS NULL) + (NEW.routed IS NULL), total = total - (OLD.routed IS NULL) * OLD.seal + (NEW.routed IS NULL) * NEW.seal WHERE name = 'notes.open'; END;
CREATE TRIGGER tally_notes_open_delete AFTER DELETE ON notes BEGIN UPDATE tallies SET rows = rows - (OLD.routed IS NULL), total = total - (OLD.routed IS NULL) * OLD.seal WHERE name = 'notes.open'; END;
CREATE TRIGGER tally_letters_insert AFTER INSERT ON letters BEGIN UPDATE tallies SET rows = rows + (1), total = total + (1) * NEW.seal WHERE name = 'letters'; END;
CREATE TRIGGER tally_letters_update AFTER UPDATE ON letters BEGIN UPDATE tallies SET rows = rows - (1) + (1), total = total - (1) * OLD.seal + (1) * NEW.seal WHERE name = 'letters'; END;
CREATE TRIGGER tally_letters_delete AFTER DELETE ON letters BEGIN UPDATE tallies SET rows = rows - (1), total = total - (1) * OLD.seal WHERE name = 'letters'; END;
CREATE TRIGGER tally_letters_open_insert AFTER INSERT ON letters BEGIN UPDATE tallies SET rows = rows + (NEW.state IN ('waiting', 'held')), total = total + (NEW.state IN ('waiting', 'held')) * NEW.seal WHERE name = 'letters.open'; END;
CREATE TRIGGER tally_letters_open_update AFTER UPDATE ON letters BEGIN UPDATE tallies SET rows = rows - (OLD.state IN ('waiting', 'held')) + (NEW.state IN ('waiting', 'held')), total = total - (OLD.state IN ('waiting', 'held')) * OLD.seal + (NEW.state IN ('waiting', 'held')) * NEW.seal WHERE name = 'letters.open'; END;
CREATE TRIGGER tally_letters_open_delete AFTER DELETE ON letters BEGIN UPDATE tallies SET rows = rows - (OLD.state IN ('waiting', 'held')), total = total - (OLD.state IN ('waiting', 'held')) * OLD.seal WHERE name = 'letters.open'; END;
CREATE TRIGGER tally_messages_insert AFTER INSERT ON messages BEGIN UPDATE tallies SET rows = rows + (1), total = total + (1) * NEW.seal WHERE name = 'messages'; END;
CREATE TRIGGER tally_messages_update AFTER UPDATE ON messages BEGIN UPDATE tallies SET rows = rows - (1) + (1), total = total - (1) * OLD.seal + (1) * NEW.seal WHERE name = 'messages'; END;
CREATE TRIGGER tally_messages_delete AFTER DELETE ON messages BEGIN UPDATE tallies SET rows = rows - (1), total = total - (1) * OLD.seal WHERE name = 'messages'; END;
CREATE TRIGGER tally_messages_open_insert AFTER INSERT ON messages BEGIN UPDATE tallies SET rows = rows + (NEW.state = 'open'), total = total + (NEW.state = 'open') * NEW.seal WHERE name = 'messages.open'; END;
CREATE TRIGGER tally_messages_open_update AFTER UPDATE ON messages BEGIN UPDATE tallies SET rows = rows - (OLD.state = 'open') + (NEW.state = 'open'), total = total - (OLD.state = 'open') * OLD.seal + (NEW.state = 'open') * NEW.seal WHERE name = 'messages.open'; END;
CREATE TRIGGER tally_messages_open_delete AFTER DELETE ON messages BEGIN UPDATE tallies SET rows = rows - (OLD.state = 'open'), total = total - (OLD.state = 'open') * OLD.seal WHERE name = 'messages.open'; END;
CREATE TRIGGER tally_silences_insert AFTER INSERT ON silences BEGIN UPDATE tallies SET rows = rows + (1), total = total + (1) * NEW.seal WHERE name = 'silences'; END;
CREATE TRIGGER tally_silences_update AFTER UPDATE ON silences BEGIN UPDATE tallies SET rows = rows - (1) + (1), total = total - (1) * OLD.seal + (1) * NEW.seal WHERE name = 'silences'; END;
CREATE TRIGGER tally_silences_delete AFTER DELETE ON silences BEGIN UPDATE tallies SET rows = rows - (1), total = total - (1) * OLD.seal WHERE name = 'silences'; END;
CREATE TRIGGER tally_silences_open_insert AFTER INSERT ON silences BEGIN UPDATE tallies SET rows = rows + (NEW.ended IS NULL), total = total + (NEW.ended IS NULL) * NEW.seal WHERE name = 'silences.open'; END;
CREATE TRIGGER tally_silences_open_update AFTER UPDATE ON silences BEGIN UPDATE tallies SET rows = rows - (OLD.ended IS NULL) + (NEW.ended IS NULL), total = total - (OLD.ended IS NULL) * OLD.seal + (NEW.ended IS NULL) * NEW.seal WHERE name = 'silences.open'; END;
CREATE TRIGGER tally_silences_open_delete AFTER DELETE ON silences BEGIN UPDATE tallies SET rows = rows - (OLD.ended IS NULL), total = total - (OLD.ended IS NULL) * OLD.seal WHERE name = 'silences.open'; END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('events',6);
COMMIT;
