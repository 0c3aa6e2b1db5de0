-- Usage that could not be charged when the sink read it: the stream goes on, and a worker charges it later.

create table usage_deferred (
  stream text not null check (length(stream) between 1 and 200),
  seq bigint not null check (seq > 0),
  position integer not null check (position >= 0),
  org_id uuid not null,
  lease_id uuid,
  lane uuid not null generated always as (coalesce(lease_id, org_id)) stored,
  kind text not null check (kind in ('usage', 'end')),
  payload jsonb not null,
  attempts integer not null default 0 check (attempts >= 0),
  recorded_at timestamptz not null,
  primary key (stream, seq, position)
) with (fillfactor = 70);
create index usage_deferred_lane_idx on usage_deferred (org_id, lane, attempts, recorded_at, seq, position);
create index usage_deferred_lease_idx on usage_deferred (lease_id) where lease_id is not null;
revoke update on usage_deferred from millrace_app;
grant update (attempts) on usage_deferred to millrace_app;
comment on table usage_deferred is 'Usage of organisations whose charge was refused by the ledger or ran out of time. Charged by a worker, once for each request, and deleted then. A lease with rows here is not closed.';
comment on column usage_deferred.position is 'Which event of the message, from 0.';
comment on column usage_deferred.lane is 'Rows of one organisation and lane are charged apart from all others: those of one lease, or those without one.';
comment on column usage_deferred.kind is 'end: the end of a gateway''s epochs, which stands behind its usage in the stream.';
comment on column usage_deferred.attempts is 'Failed attempts at this row alone. Rows with fewer come first.';

-- The outcome of usage above the highest possible cost of its model. Migration 48 validates these checks, which blocks neither reads nor
-- writes.
alter table usage_charges drop constraint usage_charges_outcome_check,
  add constraint usage_charges_outcome_check
    check (outcome in ('charged', 'late', 'unknown_lease', 'overpriced')) not valid;
comment on column usage_charges.outcome is 'late: the lease was closed, or its gateway settled, before this came. unknown_lease: no such lease of this organisation. overpriced: its reported cost exceeds the highest possible cost of its model. None of these is charged.';
alter table inference_requests drop constraint inference_requests_outcome_check,
  add constraint inference_requests_outcome_check
    check (outcome in ('charged', 'late', 'unknown_lease', 'overpriced', 'free')) not valid;
