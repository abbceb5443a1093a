CREATE TABLE session (
  id text PRIMARY KEY, project_id text NOT NULL, workspace_id text, parent_id text,
  slug text NOT NULL, directory text NOT NULL, path text, title text NOT NULL, version text NOT NULL,
  agent text, model text, time_created integer NOT NULL, time_updated integer NOT NULL
);
CREATE TABLE message (
  id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
  time_updated integer NOT NULL, data text NOT NULL
);
CREATE TABLE part (
  id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL
);
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
CREATE INDEX part_message_id_id_idx ON part (message_id, id);

INSERT INTO session VALUES
  ('ses_late', '9a1b', NULL, 'ses_early', 'calm-cart', '/home/ada/shop/src', NULL,
   'Child session - 2026-11-03T08:00:10.000Z', '1.18.34', 'explore', NULL, 1793692810000, 1793692811000),
  ('ses_early', '9a1b', NULL, NULL, 'quiet-cart', '/home/ada/shop', NULL,
   'Counting carts', '1.18.34', 'build', NULL, 1793692800000, 1793692805000),
  ('ses_empty', '9a1b', NULL, NULL, 'no-cart', '/home/ada/shop', NULL,
   'Never said', '1.18.34', 'build', NULL, 1793692800000, 1793692800000);

INSERT INTO message VALUES
  ('msg_3', 'ses_late', 1793692810000, 1793692810000, '{"role":"user","time":{"created":1793692810000}}'),
  ('msg_2', 'ses_early', 1793692802000, 1793692805000,
   '{"role":"assistant","time":{"created":1793692802000,"completed":1793692805000},"modelID":"claude-sonnet-4-5"}'),
  ('msg_9', 'ses_early', 1793692801000, 1793692801000, '{"role":"user","time":{"created":1793692801000}}'),
  ('msg_4', 'ses_late', 1793692811000, 1793692811000, '{"role":"assistant","time":{"crea');

INSERT INTO part VALUES
  ('prt_1', 'msg_9', 'ses_early', 1793692801001, 1793692801001, '{"type":"text","text":"Count the carts"}'),
  ('prt_4', 'msg_2', 'ses_early', 1793692804000, 1793692804000, '{"type":"text","text":"Two carts."}'),
  ('prt_3', 'msg_2', 'ses_early', 1793692803000, 1793692803000,
   '{"type":"tool","tool":"bash","callID":"call_0","state":{"status":"completed","input":{"command":"ls carts"},"output":"red\nblue\n","time":{"start":1793692803000,"end":1793692803500}}}'),
  ('prt_2', 'msg_2', 'ses_early', 1793692802000, 1793692802000, '{"type":"text","text":"Looking."}'),
  ('prt_5', 'msg_3', 'ses_late', 1793692810001, 1793692810001, '{"type":"text","text":"Weigh them"}'),
  ('prt_6', 'msg_3', 'ses_late', 1793692810002, 1793692810002, CAST(x'7b22ff' AS TEXT));
