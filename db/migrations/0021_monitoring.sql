-- What machines of rentals measured, what they wrote to their consoles, and since when they idle.
--
-- Samples are many and soon worthless. They lie in a ring of nine parts, one for each day: what is older than seven days
-- goes with its whole part, which costs nothing, and no process needs the right to make or drop tables.

create table rental_samples (
  slot smallint not null,
  rental_id uuid not null,
  attempt smallint not null,
  position smallint not null,
  org_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  at timestamptz not null,
  cpu_seconds double precision check (cpu_seconds >= 0),
  ram_used_bytes bigint check (ram_used_bytes >= 0),
  disk_used_bytes bigint check (disk_used_bytes >= 0),
  network_in_bytes bigint check (network_in_bytes >= 0),
  network_out_bytes bigint check (network_out_bytes >= 0),
  gpu_addresses text[],
  gpu_percents smallint[],
  primary key (rental_id, at, position, slot),
  constraint rental_samples_gpus_match check (cardinality(gpu_addresses) = cardinality(gpu_percents))
) partition by list (slot);
comment on table rental_samples is 'What engines measured of the machines of rentals, every 30 seconds where monitoring is on or an idle rule is set, for seven days. No key ties it to rentals: rows are made from theirs, in numbers in which a look at each would cost more than the row.';
comment on column rental_samples.slot is 'The number of its day since 1970 in UTC, modulo nine: which part of the ring it lies in.';
comment on column rental_samples.cpu_seconds is 'A counter since the machine was switched on, as are those of the network. Null: not measured, never 0.';
comment on column rental_samples.gpu_percents is 'The utilisation of each GPU in the order of gpu_addresses; both null where the engine does not report it.';
do $$
begin
  for slot in 0..8 loop
    execute format('create table rental_samples_%s partition of rental_samples for values in (%s)', slot, slot);
    execute format('comment on table rental_samples_%s is %L', slot, 'One day of rental_samples in nine.');
    execute format('revoke update, delete on rental_samples_%s from millrace_app', slot);
    execute format('grant truncate on rental_samples_%s to millrace_app', slot);
  end loop;
end
$$;
revoke update on rental_samples from millrace_app;

create table sample_shards (
  shard smallint primary key check (shard between 0 and 63),
  sampled_at timestamptz not null default '-infinity'
) with (fillfactor = 50);
insert into sample_shards (shard) select generate_series(0, 63);
revoke insert, delete on sample_shards from millrace_app;
comment on table sample_shards is 'Which shard of rentals was last taken up for sampling, so that workers share them out. It spares double work; it is no lock.';

create index rentals_sampled_idx on rentals ((wire_id & 63))
  where status = 'Running' and power = 'on' and (monitoring or idle_after_seconds is not null);

create table rental_idleness (
  rental_id uuid primary key,
  org_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  sampled_at timestamptz not null,
  idle_since timestamptz not null,
  counters jsonb not null check (jsonb_typeof(counters) = 'array'),
  foreign key (rental_id, mode) references rentals (id, mode) on delete restrict,
  constraint rental_idleness_in_order check (idle_since <= sampled_at)
) with (fillfactor = 80);
revoke update, delete on rental_idleness from millrace_app;
grant update (sampled_at, idle_since, counters) on rental_idleness to millrace_app;
comment on table rental_idleness is 'Since when rentals with an idle rule have been seen to do nothing. One row for each, since a rule may be longer than samples are kept.';
comment on column rental_idleness.idle_since is 'When it was last seen busy, or when watching began anew after a gap.';
comment on column rental_idleness.counters is 'What each of its machines had counted at sampled_at; the next sample is compared with it.';

create table rental_consoles (
  rental_id uuid not null,
  attempt smallint not null,
  position smallint not null,
  org_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  output text not null default '' check (octet_length(output) <= 1048576),
  dropped boolean not null default false,
  read_at timestamptz,
  reading_until timestamptz,
  primary key (rental_id, attempt, position),
  foreign key (rental_id, mode) references rentals (id, mode) on delete restrict
);
create index rental_consoles_read_idx on rental_consoles (read_at);
revoke update on rental_consoles from millrace_app;
grant update (output, dropped, read_at, reading_until) on rental_consoles to millrace_app;
comment on table rental_consoles is 'What was read from the consoles of machines. Engines hand out what a running machine wrote once and no more; the second reader is shown this.';
comment on column rental_consoles.output is 'The newest mebibyte at most, without control characters.';
comment on column rental_consoles.dropped is 'Whether older output was left out.';
comment on column rental_consoles.reading_until is 'Somebody is reading from the engine; the others wait, since what it gets must be kept in its order.';
