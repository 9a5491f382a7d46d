/**
 * The tables of a log file, and the two numbers in its header by which the file is known.
 *
 * - S1 The header names Runstream (`application_id`) and the schema (`user_version`) before the file holds anything else, and
 *   outside the write-ahead log, so that a file can be recognised without opening it as a database.
 * - S2 `events` is only ever added to. `type` stands before `data`: skipping by type never touches the payload.
 * - S3 In a group, all deliveries of one stream have one owner, or none.
 * - S4 A group's deliveries are only what is in somebody's hands or waits to be: the backlog is the log behind `scanned`.
 */
export const APPLICATION_ID = 0x52756e73;
export const SCHEMA_VERSION = 1;

export const SCHEMA = `
CREATE TABLE streams (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE types (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE events (
  position INTEGER PRIMARY KEY,
  stream INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  type INTEGER NOT NULL,
  at INTEGER NOT NULL,
  id BLOB NOT NULL,
  metadata TEXT,
  data TEXT
);
CREATE UNIQUE INDEX events_of_stream ON events (stream, revision);
CREATE TABLE groups (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, scanned INTEGER NOT NULL, filter TEXT NOT NULL);
CREATE TABLE consumers (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  grp INTEGER NOT NULL,
  owner TEXT NOT NULL,
  beat INTEGER NOT NULL
);
CREATE TABLE deliveries (
  grp INTEGER NOT NULL,
  stream INTEGER NOT NULL,
  position INTEGER NOT NULL,
  owner INTEGER,
  waiting INTEGER NOT NULL,
  redeliveries INTEGER NOT NULL,
  due INTEGER NOT NULL,
  PRIMARY KEY (grp, stream, position)
) WITHOUT ROWID;
CREATE INDEX deliveries_waiting ON deliveries (grp, owner, due, position) WHERE waiting = 1;
CREATE TABLE parked (
  grp INTEGER NOT NULL,
  position INTEGER NOT NULL,
  redeliveries INTEGER NOT NULL,
  reason TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (grp, position)
) WITHOUT ROWID;
PRAGMA application_id = ${APPLICATION_ID};
PRAGMA user_version = ${SCHEMA_VERSION};
`;
