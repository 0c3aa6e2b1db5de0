-- The processes may change of the outbox, the feed and the counters what their work changes, and nothing else: what
-- happened stays as it was written, whatever statement a mistake or an intruder gets to run as this role.

-- The relay notes refusals and deletes what was delivered. It never rewrites what a transaction asked for.
revoke update on outbox from millrace_app;
grant update (attempts, next_attempt_at, last_error, parked_at) on outbox to millrace_app;

-- An event is numbered, marked as published and, after its retention, forgotten. It is never rewritten.
revoke update on events from millrace_app;
grant update (published_at) on events to millrace_app;

-- A head or a lease that were deleted would begin again at 1, and give out numbers and fences a second time.
revoke delete on event_heads, relay_leases from millrace_app;

-- A block stays with its cell; only how far it is used up changes.
revoke update on id_blocks from millrace_app;
grant update (next_id) on id_blocks to millrace_app;
