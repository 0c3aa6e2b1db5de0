-- What inference requests used and cost: one row for each request, kept by the day in its id, and what the sink of the
-- usage stream needs to write them once.

-- The smallest id of a UTC day. Ids are UUIDv7: they begin with the millisecond they were made in, and uuids compare by
-- their bytes, so all ids of a day lie between its first and that of the next.
create function first_id_of_day(day date) returns uuid language sql immutable strict
  set search_path = pg_catalog, public as $$
  select (lpad(to_hex((extract(epoch from day::timestamp) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;
$$;
comment on function first_id_of_day is 'The smallest UUIDv7 of a UTC day: where its partition begins.';

create table inference_requests (
  id uuid primary key,
  org_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  key_id uuid not null,
  lease_id uuid,
  gateway_id text not null,
  model text not null,
  deployment text,
  created_at timestamptz not null,
  streamed boolean not null,
  cancelled boolean not null,
  finish_reason text,
  latency_ms bigint not null check (latency_ms >= 0),
  ttft_ms bigint check (ttft_ms >= 0),
  generation_ms bigint check (generation_ms >= 0),
  tokens_prompt bigint not null check (tokens_prompt >= 0),
  tokens_cached bigint not null check (tokens_cached >= 0),
  tokens_completion bigint not null check (tokens_completion >= 0),
  image_pixel_steps bigint not null check (image_pixel_steps >= 0),
  characters bigint not null check (characters >= 0),
  reserved_nano_usd bigint not null check (reserved_nano_usd >= 0),
  priced_nano_usd bigint not null check (priced_nano_usd >= 0),
  cost_nano_usd bigint not null check (cost_nano_usd >= 0),
  price_ids uuid[] not null,
  attempts jsonb not null,
  source text not null check (source in ('final', 'checkpoint')),
  outcome text not null check (outcome in ('charged', 'late', 'unknown_lease', 'free')),
  transfer_id uuid,
  recorded_at timestamptz not null,
  late_nano_usd bigint check (late_nano_usd >= 0),
  late_at timestamptz,
  constraint inference_requests_cost_within_reservation check (cost_nano_usd <= reserved_nano_usd),
  constraint inference_requests_only_charged_cost check (outcome = 'charged' or (cost_nano_usd = 0 and transfer_id is null)),
  constraint inference_requests_late_has_its_time check ((late_nano_usd is null) = (late_at is null))
) partition by range (id);
create index inference_requests_recorded_idx on inference_requests using brin (recorded_at);
create table inference_requests_rest partition of inference_requests default;
revoke update, delete on inference_requests from millrace_app;
grant update (late_nano_usd, late_at) on inference_requests to millrace_app;
revoke all on inference_requests_rest from millrace_app;
comment on table inference_requests is 'One row for each inference request that was admitted, written once by the sink. No word of a prompt or an answer. Partitioned by the day in its id; partitions are made ahead by the worker.';
comment on table inference_requests_rest is 'What came before the partition of its day was made: it is moved there then.';
comment on column inference_requests.image_pixel_steps is 'Width x height x steps, summed over all images.';
comment on column inference_requests.reserved_nano_usd is 'The worst case that was set aside before it began.';
comment on column inference_requests.priced_nano_usd is 'What was used, by its prices. Above the cost, the operator bears the rest.';
comment on column inference_requests.cost_nano_usd is 'What the organisation pays for it. Never above what was reserved.';
comment on column inference_requests.price_ids is 'The entries of the price book that it was priced by.';
comment on column inference_requests.source is 'checkpoint: its gateway died, and the last it had said of the request was taken for the whole.';
comment on column inference_requests.outcome is 'As in usage_charges; free: in test mode nothing is charged.';
comment on column inference_requests.late_nano_usd is 'What the final event said that came after a checkpoint had been charged: recorded, never charged.';

create table inference_checkpoints (
  request_id uuid primary key,
  org_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  lease_id uuid not null,
  gateway_id text not null,
  amount_nano_usd bigint not null check (amount_nano_usd >= 0),
  event jsonb not null,
  recorded_at timestamptz not null
) with (fillfactor = 70);
create index inference_checkpoints_lease_idx on inference_checkpoints (lease_id, gateway_id);
create index inference_checkpoints_old_idx on inference_checkpoints (recorded_at);
revoke update on inference_checkpoints from millrace_app;
grant update (amount_nano_usd, event, recorded_at) on inference_checkpoints to millrace_app;
comment on table inference_checkpoints is 'How far requests that still run had come when their gateway last said so. Gone with the final event; charged only if the gateway dies.';
comment on column inference_checkpoints.event is 'The newest checkpoint as the gateway reported it.';

create table usage_sinks (
  stream text primary key check (length(stream) between 1 and 200),
  holder text not null check (length(holder) between 1 and 200),
  held_until timestamptz not null
);
comment on table usage_sinks is 'Which worker works through which usage stream. Only saves work: two that do it at once are told apart by the row of the stream in usage_watermarks.';

create table usage_unreadable (
  stream text not null,
  seq bigint not null check (seq > 0),
  position integer not null check (position >= 0),
  problem text not null check (length(problem) between 1 and 1000),
  payload text not null,
  recorded_at timestamptz not null,
  primary key (stream, seq, position)
);
revoke update, delete on usage_unreadable from millrace_app;
comment on table usage_unreadable is 'What stood in a usage stream and could not be read or written. Kept for a person: the stream goes on without it, and nobody is charged for it.';
comment on column usage_unreadable.position is 'Which event of the message, from 0; 0 with the whole message as payload when nothing in it could be told apart.';

-- Makes the partitions of these days where they are missing. Attached rather than created in place, which readers and
-- writers of other days do not notice. Rows that came before their partition was there are moved into it.
create function make_usage_partitions(first_day date, days integer) returns integer language plpgsql security definer
  set search_path = pg_catalog, public set lock_timeout = '2s' as $$
declare
  parent text;
  id_column text;
  name text;
  day date;
  from_id uuid;
  to_id uuid;
  made integer := 0;
begin
  if days not between 1 and 60 or abs(first_day - current_date) > 400 then
    raise exception 'no partitions for % days from %', days, first_day using errcode = 'invalid_parameter_value';
  end if;
  -- One at a time: two workers would otherwise fail on each other's tables.
  perform pg_advisory_xact_lock(hashtextextended('make_usage_partitions', 0));
  for offset_days in 0 .. days - 1 loop
    day := first_day + offset_days;
    from_id := first_id_of_day(day);
    to_id := first_id_of_day(day + 1);
    foreach parent in array array['usage_charges', 'inference_requests'] loop
      name := parent || '_' || to_char(day, 'YYYYMMDD');
      continue when to_regclass(name) is not null;
      id_column := case parent when 'usage_charges' then 'request_id' else 'id' end;
      execute format('create table public.%I (like public.%I including all)', name, parent);
      execute format('revoke all on %I from millrace_app', name);
      execute format('lock table %I in access exclusive mode', parent || '_rest');
      execute format('with moved as (delete from %I where %I >= %L and %I < %L returning *) insert into %I select * from moved',
                     parent || '_rest', id_column, from_id, id_column, to_id, name);
      execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, name, from_id, to_id);
      made := made + 1;
    end loop;
  end loop;
  return made;
end $$;
revoke all on function make_usage_partitions from public;
grant execute on function make_usage_partitions to millrace_app;
comment on function make_usage_partitions is 'Makes the daily partitions of usage_charges and inference_requests ahead. The processes may do this and nothing else to the schema.';
