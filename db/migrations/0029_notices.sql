-- Notices: what matters to a person and not only to a program. Each goes by mail to those members of the organisation
-- whose role may know it and who want it. Who that is, is decided when it is addressed, and written down as one row for
-- each letter, so that a letter is sent by whoever claims its row.

create table notices (
  id uuid primary key,
  org_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  type text not null check (length(type) between 1 and 100),
  data jsonb not null check (jsonb_typeof(data) = 'object'),
  occurred_at timestamptz not null,
  recorded_at timestamptz not null default clock_timestamp(),
  addressed_at timestamptz
) with (fillfactor = 85);
create index notices_unaddressed_idx on notices (recorded_at, id) where addressed_at is null;
create index notices_recorded_idx on notices using brin (recorded_at);
revoke update on notices from millrace_app;
grant update (addressed_at) on notices to millrace_app;
comment on table notices is 'What people are to be told. Removed by retention alone.';
comment on column notices.id is 'The id of its event where it comes from one: the same event is told once.';
comment on column notices.org_id is 'No foreign key: a notice must never keep an event from getting its number.';
comment on column notices.type is 'A type of event, or of what has none because it is about the tenant''s own settings.';
comment on column notices.data is 'What the event says. Never a secret.';
comment on column notices.occurred_at is 'When the cause happened, by the clock of the process that wrote it.';
comment on column notices.recorded_at is 'By the clock of the database. Retention goes by this.';
comment on column notices.addressed_at is 'When its letters were written down; null while nobody has looked who gets it.';

create table notice_mails (
  notice_id uuid not null references notices (id) on delete cascade,
  user_id uuid not null references users (id) on delete cascade,
  org_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  category text not null check (length(category) between 1 and 40),
  state text not null check (state in ('waiting', 'sent', 'refused', 'given_up', 'skipped')),
  attempts integer not null default 0 check (attempts >= 0),
  next_attempt_at timestamptz,
  claim uuid,
  claimed_until timestamptz,
  last_error text check (length(last_error) <= 500),
  created_at timestamptz not null,
  done_at timestamptz,
  primary key (notice_id, user_id),
  constraint notice_mails_waiting_is_due check ((state = 'waiting') = (next_attempt_at is not null)),
  constraint notice_mails_done_when_done check ((state = 'waiting') = (done_at is null)),
  constraint notice_mails_claim_is_dated check ((claim is null) = (claimed_until is null)),
  constraint notice_mails_failure_has_a_reason check (state in ('waiting', 'sent') or last_error is not null)
) with (fillfactor = 70);
create index notice_mails_due_idx on notice_mails (next_attempt_at) where state = 'waiting';
create index notice_mails_recent_idx on notice_mails (org_id, user_id, category, created_at);
revoke update, delete on notice_mails from millrace_app;
grant update (state, attempts, next_attempt_at, claim, claimed_until, last_error, done_at) on notice_mails
  to millrace_app;
comment on table notice_mails is 'One letter: a notice and somebody who gets it.';
comment on column notice_mails.category is 'What people switch on and off, and what is counted so that nobody is flooded.';
comment on column notice_mails.state is 'refused: the server will never take it. given_up: it was tried for long enough. skipped: it was not tried.';
comment on column notice_mails.attempts is 'How often the server put this letter off. Outages of the server do not count.';
comment on column notice_mails.next_attempt_at is 'Not tried before this instant.';
comment on column notice_mails.claim is 'The worker that is sending it now. Only it may write what became of it.';
comment on column notice_mails.claimed_until is 'From then on another may take it, by the clock of the database.';
comment on column notice_mails.last_error is 'Why the latest attempt failed, or why there was none.';

create table notice_preferences (
  org_id uuid not null,
  user_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  category text not null check (length(category) between 1 and 40),
  wanted boolean not null,
  updated_at timestamptz not null,
  primary key (org_id, user_id, mode, category),
  foreign key (org_id, user_id) references members (org_id, user_id) on delete cascade
);
revoke update on notice_preferences from millrace_app;
grant update (wanted, updated_at) on notice_preferences to millrace_app;
comment on table notice_preferences is 'What somebody chose other than by role: one organisation, one mode, one category. Gone with the membership.';

-- Every role has the scope for this, so a key that was made with all that its role had has it as well. What tells such keys
-- is that they hold what all roles have in common; others are left as they are.
update api_keys
   set scopes = array_append(scopes, 'notices:write')
 where revoked_at is null
   and scopes @> array['organisation:read', 'members:read', 'events:read', 'operations:read', 'catalog:read', 'usage:read']
   and 'notices:write' <> all (scopes);

-- In the statement that numbers events, so that each is told once and none is missed. It must never fail: then nothing of
-- these organisations would be numbered. So it only copies what the checks of events have let through.
create function collect_notices() returns trigger language plpgsql as $$
begin
  insert into notices (id, org_id, mode, type, data, occurred_at)
  select id, org_id, mode, type, data, occurred_at
    from stored
   where type in ('balance.low', 'balance.floor', 'budget.threshold', 'budget.exceeded', 'rental.expiring',
                  'instance.expiring', 'maintenance.announced', 'invoice.finalized', 'key.created')
      or (type = 'maintenance.ended' and data @> '{"cancelled": true}')
      on conflict (id) do nothing;
  return null;
end;
$$;
comment on function collect_notices() is 'Keeps the events that matter to a person, to be told by mail.';

create trigger events_to_notices after insert on events
  referencing new table as stored
  for each statement execute function collect_notices();
