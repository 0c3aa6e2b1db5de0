-- Metering: what runs by the hour, the sweeps that post its cost, and the ladder that a wallet without money goes down.
--
-- What a meter has cost is a function of its row and the time, so a meter that has nothing to post is not written.

create table meters (
  id uuid primary key,
  org_id uuid not null references organisations (id) on delete restrict,
  mode text not null check (mode in ('live', 'test')),
  shard smallint not null check (shard between 0 and 63),
  cause_kind text not null check (length(cause_kind) between 1 and 50 and position(':' in cause_kind) = 0),
  cause_id text not null check (length(cause_id) between 1 and 100),
  name text not null check (length(name) between 1 and 50),
  product text not null check (product in ('rental', 'volume', 'inference', 'instance')),
  key_id uuid,
  rate_nano_usd_per_hour bigint not null check (rate_nano_usd_per_hour >= 0),
  quantity bigint not null check (quantity >= 0),
  unit text not null check (unit ~ '^[a-z][a-zA-Z]{0,19}$'),
  supplier_org_id uuid references organisations (id) on delete restrict,
  supplier_rate_nano_usd_per_hour bigint,
  supplier_posted_nano_usd bigint not null default 0 check (supplier_posted_nano_usd >= 0),
  funding text not null check (funding in ('ahead', 'committed')),
  term_ends_at timestamptz,
  refund_ppm integer not null default 0 check (refund_ppm between 0 and 1000000),
  retention_ms bigint not null default 0 check (retention_ms >= 0),
  state text not null check (state in ('open', 'paused', 'closed')),
  running_since timestamptz,
  elapsed_before_ms bigint not null default 0 check (elapsed_before_ms >= 0),
  posted_ms bigint not null default 0 check (posted_ms >= 0),
  posted_nano_usd bigint not null default 0,
  shortfall_nano_usd bigint not null default 0 check (shortfall_nano_usd >= 0),
  rest_of_term_nano_usd bigint not null default 0 check (rest_of_term_nano_usd >= 0),
  hold_id uuid,
  held_nano_usd bigint not null default 0 check (held_nano_usd >= 0),
  covered_until timestamptz,
  next_post_at timestamptz,
  postings integer not null default 0 check (postings >= 0),
  transitions integer not null default 1 check (transitions >= 1),
  opened_at timestamptz not null,
  closed_at timestamptz,
  constraint meters_once unique (org_id, cause_kind, cause_id, name),
  constraint meters_test_mode_is_free check (mode = 'live' or rate_nano_usd_per_hour = 0),
  constraint meters_posted_is_rate_times_time check (
    posted_nano_usd = div(rate_nano_usd_per_hour::numeric * posted_ms, 3600000)),
  constraint meters_split_is_a_part check (
    (supplier_org_id is null) = (supplier_rate_nano_usd_per_hour is null)
    and (supplier_rate_nano_usd_per_hour is null
         or supplier_rate_nano_usd_per_hour between 0 and rate_nano_usd_per_hour)),
  constraint meters_term_is_committed check ((term_ends_at is not null) = (funding = 'committed')),
  constraint meters_runs_when_open check ((state = 'open') = (running_since is not null)),
  constraint meters_closed_when_closed check ((state = 'closed') = (closed_at is not null)),
  constraint meters_only_what_runs_is_due check (next_post_at is null or state = 'open'),
  constraint meters_what_costs_is_due check (
    state <> 'open' or rate_nano_usd_per_hour = 0 or next_post_at is not null),
  constraint meters_what_costs_has_a_hold check (rate_nano_usd_per_hour = 0 or hold_id is not null)
) with (fillfactor = 85);
create index meters_due_idx on meters (shard, next_post_at) where next_post_at is not null;
create index meters_open_idx on meters (shard, org_id, mode) where state = 'open' and rate_nano_usd_per_hour > 0;
create index meters_org_idx on meters (org_id, mode, state);
create unique index meters_hold_idx on meters (hold_id) where hold_id is not null;
revoke update, delete on meters from millrace_app;
grant update (supplier_posted_nano_usd, state, running_since, elapsed_before_ms, posted_ms, posted_nano_usd,
              shortfall_nano_usd, rest_of_term_nano_usd, held_nano_usd, covered_until, next_post_at, postings,
              transitions, closed_at) on meters to millrace_app;
comment on table meters is 'Things that cost by the hour. What one has cost = rate x elapsed, rounded down once; a charge is that less what was posted.';
comment on column meters.mode is 'live or test. Test mode is free.';
comment on column meters.shard is 'The shard of the organisation, as in the outbox. Sweeps go by it.';
comment on column meters.cause_kind is 'With cause_id: the rental, volume or instance that is metered. Its charges carry the same cause.';
comment on column meters.name is 'Which of its thing''s meters this is (gpu, disk, gpu-2). Opening the same name twice is opening it once.';
comment on column meters.rate_nano_usd_per_hour is 'For the whole quantity. Frozen when the meter was opened.';
comment on column meters.quantity is 'How many units run, for usage reports; the price is in the rate already.';
comment on column meters.unit is 'gpu, gb: a charge says how many milliseconds of how many of them it is for.';
comment on column meters.supplier_rate_nano_usd_per_hour is 'The supplier''s part of the rate. Its share is a total of its own, so it is exact; the platform has the rest.';
comment on column meters.supplier_posted_nano_usd is 'What the supplier was credited, less what was taken back.';
comment on column meters.funding is 'ahead: holds the next stretch of time and renews it. committed: the price of the whole term is held from the start.';
comment on column meters.term_ends_at is 'Committed only: time after this instant costs nothing here.';
comment on column meters.refund_ppm is 'Committed only: what an early end gives back of the rest of the term, in parts per million.';
comment on column meters.retention_ms is 'The hold covers this much more time, so that data can be kept after all other money has gone. 0 for what is merely stopped.';
comment on column meters.running_since is 'The start of the present running interval.';
comment on column meters.elapsed_before_ms is 'Metered time before the present running interval.';
comment on column meters.posted_ms is 'The metered time that posted_nano_usd pays for.';
comment on column meters.posted_nano_usd is 'What was charged, less what was given back, for metered time; what the operator bore included.';
comment on column meters.shortfall_nano_usd is 'The part of the postings that neither hold nor balance reached for: the operator bore it.';
comment on column meters.rest_of_term_nano_usd is 'What an early end of a committed term was charged for the rest of it.';
comment on column meters.held_nano_usd is 'What the hold sets aside since the last posting. Only the meter changes its hold.';
comment on column meters.covered_until is 'Until when the hold pays for it, retention included. Null when nothing needs paying.';
comment on column meters.next_post_at is 'When a sweep posts it next and renews its hold. Null when it neither runs nor costs.';
comment on column meters.postings is 'How often it was settled; numbers the steps of its charges.';
comment on column meters.transitions is 'The number of its newest transition.';

create table meter_transitions (
  meter_id uuid not null references meters (id) on delete restrict,
  seq integer not null check (seq >= 1),
  org_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  kind text not null check (kind in ('opened', 'paused', 'resumed', 'closed')),
  at timestamptz not null,
  recorded_at timestamptz not null,
  primary key (meter_id, seq),
  constraint meter_transitions_begin_with_opened check ((seq = 1) = (kind = 'opened'))
);
revoke update, delete on meter_transitions from millrace_app;
create trigger meter_transitions_append_only before update or delete on meter_transitions
  for each row execute function refuse_ledger_change();
create trigger meter_transitions_no_truncate before truncate on meter_transitions
  for each statement execute function refuse_ledger_change();
comment on table meter_transitions is 'When each meter ran. Append-only: all that a meter ever cost can be derived from here and its frozen rate.';
comment on column meter_transitions.seq is 'Counts from 1 within the meter without holes.';
comment on column meter_transitions.at is 'From when it holds. A pause or close may name an instant before the one recorded last: an interval of running ends at the earliest instant that any later pause or close names.';
comment on column meter_transitions.recorded_at is 'When it was written down, by the clock of the process.';

create view metered_things as
  select null::text as kind, null::text as id, null::uuid as org_id, null::text as mode where false;
comment on view metered_things is 'What should have an open or paused meter now. Empty until there are things to sell; each kind adds its rows.';

create table meter_shards (
  shard smallint primary key check (shard between 0 and 63),
  swept_at timestamptz not null default '-infinity'
) with (fillfactor = 50);
insert into meter_shards (shard) select generate_series(0, 63);
revoke insert, delete on meter_shards from millrace_app;
comment on table meter_shards is 'Which shard was last taken up by a sweep, so that workers share the shards out. It spares double work; it is no lock.';

create table wallet_ladders (
  org_id uuid not null references organisations (id) on delete restrict,
  mode text not null check (mode in ('live', 'test')),
  shard smallint not null check (shard between 0 and 63),
  step text not null check (step in ('fine', 'day', 'hour', 'quarter', 'empty')),
  since timestamptz not null,
  primary key (org_id, mode)
) with (fillfactor = 80);
create index wallet_ladders_low_idx on wallet_ladders (shard) where step <> 'fine';
revoke update, delete on wallet_ladders from millrace_app;
grant update (step, since) on wallet_ladders to millrace_app;
comment on table wallet_ladders is 'How near the end of its money a wallet is. No row means that it never came near.';
comment on column wallet_ladders.step is 'The lowest step that was announced: a day, an hour, a quarter of an hour of runway, or none left.';
comment on column wallet_ladders.since is 'Since when it stands there.';
comment on column wallet_ladders.shard is 'The shard of the organisation.';

create table required_actions (
  id bigint generated always as identity primary key,
  org_id uuid not null references organisations (id) on delete restrict,
  mode text not null check (mode in ('live', 'test')),
  cause_kind text not null check (length(cause_kind) between 1 and 50),
  cause_id text not null check (length(cause_id) between 1 and 100),
  action text not null check (action in ('stop', 'delete')),
  reason text not null check (reason in ('balance', 'budget')),
  due_at timestamptz not null,
  state text not null default 'pending' check (state in ('pending', 'claimed', 'done', 'cancelled')),
  claimed_until timestamptz,
  attempts integer not null default 0 check (attempts >= 0),
  created_at timestamptz not null,
  done_at timestamptz,
  constraint required_actions_claim_ends check ((state = 'claimed') = (claimed_until is not null)),
  constraint required_actions_done_when_done check ((state in ('done', 'cancelled')) = (done_at is not null))
) with (fillfactor = 80);
create unique index required_actions_once_idx on required_actions (org_id, mode, cause_kind, cause_id, action)
  where state in ('pending', 'claimed');
create index required_actions_due_idx on required_actions (cause_kind, due_at) where state in ('pending', 'claimed');
revoke update, delete on required_actions from millrace_app;
grant update (due_at, state, claimed_until, attempts, done_at) on required_actions to millrace_app;
comment on table required_actions is 'What the owner of a thing must do to it because its money has ended. Metering asks; rentals, volumes and instances carry it out.';
comment on column required_actions.action is 'stop: it may not run on. delete: the time for which its data was paid has ended.';
comment on column required_actions.reason is 'balance: the wallet is empty. budget: a budget that stops everything refused to prolong it.';
comment on column required_actions.due_at is 'Not before this instant.';
comment on column required_actions.state is 'cancelled: money came in before anyone had begun.';
comment on column required_actions.claimed_until is 'A claim that is not completed by then can be claimed by another.';
