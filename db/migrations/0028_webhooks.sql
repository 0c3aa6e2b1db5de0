-- Webhooks: where an organisation wants its events sent, and what became of each sending. The statement that numbers an
-- event and stores it also notes here to whom it has to go, so neither happens without the other.

create table webhooks (
  id uuid primary key,
  org_id uuid not null references organisations (id) on delete restrict,
  mode text not null check (mode in ('live', 'test')),
  url text not null check (length(url) between 1 and 2048),
  description text not null check (length(description) <= 255),
  event_types text[] not null check (cardinality(event_types) between 1 and 1000),
  status text not null check (status in ('enabled', 'disabled')),
  disabled_by text check (disabled_by in ('person', 'failures')),
  disabled_reason text check (length(disabled_reason) between 1 and 2000),
  disabled_at timestamptz,
  secret_sealed text not null check (length(secret_sealed) <= 1000),
  previous_secret_sealed text check (length(previous_secret_sealed) <= 1000),
  previous_secret_until timestamptz,
  created_by uuid not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  last_succeeded_at timestamptz,
  failing_since timestamptz,
  last_error text check (length(last_error) <= 2000),
  deleted_at timestamptz,
  constraint webhooks_disabled_says_why check (
    (status = 'disabled') = (disabled_by is not null)
    and (status = 'disabled') = (disabled_reason is not null)
    and (status = 'disabled') = (disabled_at is not null)),
  constraint webhooks_previous_secret_ends check ((previous_secret_sealed is null) = (previous_secret_until is null)),
  constraint webhooks_deleted_is_disabled check (deleted_at is null or status = 'disabled')
) with (fillfactor = 70);
create index webhooks_org_idx on webhooks (org_id, mode, id) where deleted_at is null;
create index webhooks_enabled_idx on webhooks (org_id, mode) where status = 'enabled';
create index webhooks_disabled_idx on webhooks (id) where status = 'disabled';
revoke update on webhooks from millrace_app;
grant update (url, description, event_types, status, disabled_by, disabled_reason, disabled_at, secret_sealed,
  previous_secret_sealed, previous_secret_until, updated_at, last_succeeded_at, failing_since, last_error, deleted_at)
  on webhooks to millrace_app;
comment on table webhooks is 'Where an organisation wants its events sent.';
comment on column webhooks.mode is 'live or test. Events of its own mode are sent, no others.';
comment on column webhooks.event_types is 'The types that are sent; * is every type, also those that come later.';
comment on column webhooks.disabled_by is 'person: switched off by its owner, or deleted; failures: given up because nothing was accepted for days. Notices to people go by this.';
comment on column webhooks.secret_sealed is 'What deliveries are signed with; sealed for this row and column.';
comment on column webhooks.previous_secret_sealed is 'Signs as well until previous_secret_until, so that receivers can change over.';
comment on column webhooks.failing_since is 'When the first attempt failed of which none after it succeeded; null while it works.';
comment on column webhooks.last_error is 'Why the newest attempt failed, while it fails.';
comment on column webhooks.deleted_at is 'Gone for its owner. The row stays until its deliveries are forgotten.';

create table webhook_deliveries (
  webhook_id uuid not null,
  seq bigint not null check (seq >= 1),
  id uuid not null,
  org_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  event_id uuid not null,
  event_type text not null,
  resource_kind text not null,
  resource_id text not null,
  status text not null default 'pending' check (status in ('pending', 'succeeded', 'failed', 'abandoned')),
  failures smallint not null default 0 check (failures >= 0),
  attempts jsonb not null default '[]' check (jsonb_typeof(attempts) = 'array' and jsonb_array_length(attempts) <= 30),
  next_attempt_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  primary key (webhook_id, seq),
  constraint webhook_deliveries_pending_has_its_time check ((status = 'pending') = (next_attempt_at is not null))
) with (fillfactor = 70);
create index webhook_deliveries_id_idx on webhook_deliveries (webhook_id, id);
create index webhook_deliveries_status_idx on webhook_deliveries (webhook_id, status, seq);
create index webhook_deliveries_due_idx on webhook_deliveries (webhook_id, next_attempt_at, seq) where status = 'pending';
create index webhook_deliveries_ahead_idx on webhook_deliveries (webhook_id, resource_kind, resource_id, seq)
  where status = 'pending';
create index webhook_deliveries_old_idx on webhook_deliveries (created_at);
revoke update on webhook_deliveries from millrace_app;
grant update (status, failures, attempts, next_attempt_at) on webhook_deliveries to millrace_app;
comment on table webhook_deliveries is 'One event on its way to one webhook. No foreign keys and no copied checks: the statement that numbers events writes here, and must not be able to fail for it.';
comment on column webhook_deliveries.seq is 'The number of the event: deliveries about one thing go in this order, one after the other.';
comment on column webhook_deliveries.id is 'The name tenants call it by: the first bits of the event''s id, with its time and cell, then a digest of event and webhook.';
comment on column webhook_deliveries.status is 'pending is tried until it succeeds; failed was given up after the last attempt; abandoned was not tried to the end because the webhook was switched off.';
comment on column webhook_deliveries.failures is 'How many attempts have failed since it was last asked for: its place on the ladder of waits.';
comment on column webhook_deliveries.attempts is 'The newest attempts, oldest first: at, httpStatus, error, durationMs.';
comment on column webhook_deliveries.next_attempt_at is 'Not tried before this instant, by the clock of the workers; nor before an earlier one about the same thing is done with.';
comment on column webhook_deliveries.created_at is 'By the clock of the database. Retention goes by this.';

create table webhook_queues (
  webhook_id uuid primary key,
  org_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  next_due_at timestamptz,
  wakes bigint not null default 0 check (wakes >= 0),
  failing boolean not null default false,
  holder text check (length(holder) between 1 and 200),
  fence bigint not null default 0 check (fence >= 0),
  lease_until timestamptz,
  constraint webhook_queues_held_until check ((holder is null) = (lease_until is null))
) with (fillfactor = 50);
create index webhook_queues_due_idx on webhook_queues (next_due_at) where next_due_at is not null;
create index webhook_queues_held_idx on webhook_queues (holder) where holder is not null;
revoke update on webhook_queues from millrace_app;
grant update (next_due_at, wakes, failing, holder, fence, lease_until) on webhook_queues to millrace_app;
comment on table webhook_queues is 'Which webhooks have something to send, and which worker is sending it: one worker at a time for each webhook.';
comment on column webhook_queues.next_due_at is 'When there is something to do, by the clock of the workers; null while nothing waits.';
comment on column webhook_queues.wakes is 'Grows with everything that is added, so that a worker which found nothing knows whether something came while it looked.';
comment on column webhook_queues.failing is 'The last attempt failed. Such webhooks share a part of the workers'' places, so that they keep the others from nothing.';
comment on column webhook_queues.fence is 'Grows at each change of hands: what a worker writes after it lost the webhook finds nothing to change.';
comment on column webhook_queues.lease_until is 'By the clock of the database.';

create function webhook_delivery_id(event_id uuid, webhook_id uuid) returns uuid
  language sql immutable strict parallel safe
as $$
  select (left(event_id::text, 24) || left(md5(webhook_id::text || event_id::text), 12))::uuid
$$;
comment on function webhook_delivery_id(uuid, uuid) is 'The id of the delivery of an event to a webhook, the same whenever it is asked for.';

create function fan_out_to_webhooks() returns trigger language plpgsql as $$
begin
  with made as (
    insert into webhook_deliveries
      (webhook_id, seq, id, org_id, mode, event_id, event_type, resource_kind, resource_id, next_attempt_at)
    select webhook.id, event.seq, webhook_delivery_id(event.id, webhook.id), event.org_id, event.mode, event.id, event.type,
           event.resource_kind, event.resource_id, least(event.occurred_at, clock_timestamp())
      from stored as event
      join webhooks as webhook
        on webhook.org_id = event.org_id and webhook.mode = event.mode and webhook.status = 'enabled'
       and webhook.event_types && array['*', event.type]
    on conflict (webhook_id, seq) do nothing
    returning webhook_id, next_attempt_at
  )
  update webhook_queues as queue
     set next_due_at = least(queue.next_due_at, due.at), wakes = queue.wakes + 1
    from (select webhook_id, min(next_attempt_at) as at from made group by webhook_id) as due
   where queue.webhook_id = due.webhook_id;
  return null;
end;
$$;
comment on function fan_out_to_webhooks() is 'Notes each new event for the webhooks that want it, in the statement that stores it.';
create trigger events_to_webhooks after insert on events
  referencing new table as stored for each statement execute function fan_out_to_webhooks();
