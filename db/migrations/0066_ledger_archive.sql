-- Charges, credits and budget counts of old closed months move to an archive, in batches. From the begin of an archive on, audits start
-- from its opening balances and totals, so it does not matter which of its rows have moved. Nothing moves before a worker begins an
-- archive, which `MILLRACE_ARCHIVE_AFTER_MONTHS` switches on.

create table ledger_archives (
  through date primary key,
  cutoff uuid not null unique,
  begun_at timestamptz not null default clock_timestamp(),
  moved_to uuid not null,
  moved_transfers bigint not null default 0 check (moved_transfers >= 0),
  moved_entries bigint not null default 0 check (moved_entries >= 0),
  moved_at timestamptz,
  constraint ledger_archives_end_a_month check (through = date_trunc('month', through::timestamp)::date)
);
comment on table ledger_archives is 'Each row archives the closed months before its date that no earlier row archives.';
comment on column ledger_archives.cutoff is 'Transfers with a smaller id are archived, also those that have not moved yet. Audits begin here.';
comment on column ledger_archives.moved_to is 'Transfers up to this id have moved, except those that must stay.';
comment on column ledger_archives.moved_at is 'When the last row had moved; null while rows move.';

create table ledger_opening_balances (
  account_id uuid primary key,
  entry_count bigint not null check (entry_count > 0),
  balance_nano_usd bigint not null
);
comment on table ledger_opening_balances is 'Each account at the cutoff of the newest archive.';

create table ledger_archived_totals (
  subject uuid not null,
  measure text not null check (measure in ('hold_posted', 'meter_paid', 'meter_earned', 'meter_fee', 'meter_promo', 'meter_charged', 'budget_spent')),
  amount_nano_usd numeric(40) not null,
  primary key (subject, measure)
);
comment on table ledger_archived_totals is 'Sums of archived transfers for holds, meters and budgets that are still audited.';

create table ledger_archived_keys (
  key_hash uuid primary key,
  transfer_id uuid not null
);
comment on table ledger_archived_keys is 'Idempotency keys of archived transfers, which stay unique for ever. Rows are never deleted.';

create table archived_ledger_transfers (like ledger_transfers);
alter table archived_ledger_transfers add constraint archived_ledger_transfers_pkey primary key (id);
alter table archived_ledger_transfers add constraint archived_ledger_transfers_once unique (org_id, idempotency_key);
create index archived_ledger_transfers_org_idx on archived_ledger_transfers (mode, org_id, id);
comment on table archived_ledger_transfers is 'Transfers that moved out of ledger_transfers, unchanged.';
create table archived_ledger_entries (like ledger_entries);
alter table archived_ledger_entries add constraint archived_ledger_entries_pkey primary key (transfer_id, account_id);
comment on table archived_ledger_entries is 'Entries that moved out of ledger_entries, unchanged.';

create view all_ledger_transfers as select * from ledger_transfers union all select * from archived_ledger_transfers;
comment on view all_ledger_transfers is 'Transfers of all times, for reading.';
create view all_ledger_entries as select * from ledger_entries union all select * from archived_ledger_entries;
comment on view all_ledger_entries is 'Entries of all times, for reading.';

create function ledger_key_hash(org_id uuid, key text) returns uuid language sql immutable strict parallel safe
  set search_path = pg_catalog, public, pg_temp as $$
  select encode(substring(sha256(convert_to(org_id::text || ' ' || key, 'UTF8')) for 16), 'hex')::uuid
$$;
comment on function ledger_key_hash(uuid, text) is 'Sixteen bytes that stand for an idempotency key of an organisation for ever.';

create function first_id_at(instant timestamptz) returns uuid language sql immutable strict parallel safe
  set search_path = pg_catalog, public, pg_temp as $$
  select (lpad(to_hex((extract(epoch from instant) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;
comment on function first_id_at(timestamptz) is 'Smaller than every UUIDv7 of this millisecond and later.';

create function ledger_archive_cutoff() returns uuid language sql stable parallel safe
  set search_path = pg_catalog, public, pg_temp as $$
  select coalesce((select cutoff from ledger_archives order by through desc limit 1), '00000000-0000-0000-0000-000000000000'::uuid)
$$;
comment on function ledger_archive_cutoff() is 'Audits check transfers with larger ids.';

create function refuse_unarchived_change() returns trigger language plpgsql
  set search_path = pg_catalog, public, pg_temp as $$
begin
  if tg_op = 'DELETE' then
    if tg_table_name = 'ledger_transfers' then
      if exists (select from archived_ledger_transfers as copy where copy.id = old.id and to_jsonb(copy) = to_jsonb(old)) then
        return old;
      end if;
    elsif exists (select from archived_ledger_entries as copy
                   where copy.transfer_id = old.transfer_id and copy.account_id = old.account_id and to_jsonb(copy) = to_jsonb(old)) then
      return old;
    end if;
  end if;
  raise exception '% is append-only: % refused', tg_table_name, tg_op using errcode = 'restrict_violation';
end $$;
comment on function refuse_unarchived_change() is 'Keeps the ledger append-only for every role: a row is deleted only if the archive has an identical copy.';

create or replace trigger ledger_transfers_append_only before delete or update on ledger_transfers
  for each row execute function refuse_unarchived_change();
create or replace trigger ledger_entries_append_only before delete or update on ledger_entries
  for each row execute function refuse_unarchived_change();
create trigger archived_ledger_transfers_append_only before delete or update on archived_ledger_transfers
  for each row execute function refuse_ledger_change();
create trigger archived_ledger_entries_append_only before delete or update on archived_ledger_entries
  for each row execute function refuse_ledger_change();
create trigger ledger_archived_keys_append_only before delete or update on ledger_archived_keys
  for each row execute function refuse_ledger_change();

create function refuse_archived_keys() returns trigger language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
begin
  -- Audits would miss it. Only a process whose clock is months behind creates such an id.
  if exists (select from written where id <= ledger_archive_cutoff()) then
    raise exception 'the id of a new transfer is of an archived month: a clock is wrong'
      using errcode = 'check_violation', constraint = 'ledger_transfers_after_the_archive';
  end if;
  if exists (select from written join ledger_archived_keys as used on used.key_hash = ledger_key_hash(written.org_id, written.idempotency_key)) then
    raise exception 'the idempotency key of an archived transfer is used again'
      using errcode = 'unique_violation', constraint = 'ledger_transfers_once';
  end if;
  return null;
end $$;
comment on function refuse_archived_keys() is 'Extends ledger_transfers_once to archived transfers, for every process of every release.';
create trigger ledger_transfers_refuse_archived_keys after insert on ledger_transfers
  referencing new table as written for each statement execute function refuse_archived_keys();

create function begin_ledger_archive(through date) returns text language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
declare
  month_end timestamptz := begin_ledger_archive.through::timestamp at time zone 'UTC';
  last uuid := ledger_archive_cutoff();
  next uuid;
  earlier interval;
begin
  if month_end > now() - interval '2 months' then
    raise exception 'only months that ended two months ago are archived' using errcode = 'invalid_parameter_value';
  end if;
  lock table ledger_archives in share row exclusive mode;
  if exists (select from ledger_archives as archive where archive.moved_at is null or archive.through >= begin_ledger_archive.through) then
    return 'an archive is in progress, or the month is archived';
  end if;
  if exists (select from invoice_months where month < month_end and finished_at is null) then
    return 'invoices of the month are missing';
  end if;
  -- Clocks of processes differ, so an entry just before the end can follow one from just after it. An earlier cutoff avoids both.
  foreach earlier in array array['0', '1 minute', '10 minutes', '1 hour', '6 hours', '1 day']::interval[] loop
    next := first_id_at(month_end - earlier);
    exit when not exists (
      select from (select max(account_seq) filter (where transfer_id <= next) as low, min(account_seq) filter (where transfer_id > next) as high
                     from ledger_entries where transfer_id > last group by account_id) as account where low > high);
    next := null;
  end loop;
  if next is null or next <= last then
    return 'no cutoff divides the entries of every account in their order';
  end if;

  insert into ledger_opening_balances as opening (account_id, entry_count, balance_nano_usd)
  select distinct on (account_id) account_id, account_seq, balance_after_nano_usd
    from ledger_entries where transfer_id > last and transfer_id <= next
   order by account_id, account_seq desc
  on conflict (account_id) do update
     set entry_count = excluded.entry_count, balance_nano_usd = excluded.balance_nano_usd;

  create temporary table archived_now on commit drop as
    select * from ledger_transfers where id > last and id <= next;
  insert into ledger_archived_totals as total (subject, measure, amount_nano_usd)
  select subject, measure, amount from (
    select hold_id as subject, 'hold_posted' as measure, -sum(amount_nano_usd) as amount
      from archived_now where hold_id is not null and kind in ('charge', 'payout') group by hold_id
    union all
    select uuid_of_public_id(meter), 'meter_paid', paid
      from (select substring(idempotency_key from ':meter:(mtr_[0-9A-Z]{26}):') as meter, -sum(amount_nano_usd) as paid
              from archived_now where kind in ('charge', 'credit') and position(':meter:mtr_' in idempotency_key) > 0 group by 1) as metered
     where meter is not null
    union all
    select uuid_of_public_id(split.meter), split.measure, split.amount
      from (select substring(moved.idempotency_key from ':meter:(mtr_[0-9A-Z]{26}):') as meter,
                   case account.kind when 'supplier_payable' then 'meter_earned' when 'platform_fee' then 'meter_fee'
                                     when 'promo' then 'meter_promo' else 'meter_charged' end as measure,
                   sum(case when account.kind in ('supplier_payable', 'platform_fee') then entry.amount_nano_usd else -entry.amount_nano_usd end) as amount
              from archived_now as moved
              join ledger_entries as entry on entry.transfer_id = moved.id
              join ledger_accounts as account on account.id = entry.account_id
               and account.kind in ('supplier_payable', 'platform_fee', 'promo', 'credit', 'shortfall')
             where moved.kind in ('charge', 'credit') and position(':meter:mtr_' in moved.idempotency_key) > 0
             group by 1, 2) as split
     where split.meter is not null) as added
  on conflict (subject, measure) do update set amount_nano_usd = total.amount_nano_usd + excluded.amount_nano_usd;

  -- A budget counts from the start of its period, which is the newest entry of a step `period:…`.
  with legs as (
    select entry.account_id, entry.account_seq, entry.amount_nano_usd as amount, moved.kind = 'budget' as is_limit,
           moved.kind = 'budget' and position(':period:' in moved.idempotency_key) > 0 as is_start
      from archived_now as moved
      join ledger_entries as entry on entry.transfer_id = moved.id
      join budgets as budget on budget.id = entry.account_id
  ),
  starts as (select account_id, max(account_seq) as seq from legs where is_start group by account_id),
  spent as (
    select legs.account_id, starts.seq is not null as has_start,
           coalesce(-sum(legs.amount) filter (where not legs.is_limit and legs.account_seq > coalesce(starts.seq, 0)), 0) as amount
      from legs left join starts using (account_id) group by legs.account_id, starts.seq
  )
  insert into ledger_archived_totals as total (subject, measure, amount_nano_usd)
  select spent.account_id, 'budget_spent',
         spent.amount + case when has_start then 0 else coalesce((
           select known.amount_nano_usd from ledger_archived_totals as known
            where known.subject = spent.account_id and known.measure = 'budget_spent'), 0) end
    from spent
  on conflict (subject, measure) do update set amount_nano_usd = excluded.amount_nano_usd;

  insert into ledger_archives (through, cutoff, moved_to) values (begin_ledger_archive.through, next, last);
  return 'begun';
end $$;
comment on function begin_ledger_archive(date) is 'Records opening balances and totals of the closed months before a date. Called in the snapshot of a full audit that found no drift.';

create function move_archived_transfers(at_most integer) returns integer language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
declare
  archive ledger_archives;
  passed uuid[];
  chosen uuid[];
  entries bigint;
begin
  if at_most not between 1 and 10000 then
    raise exception 'at most 10000 transfers move at once' using errcode = 'invalid_parameter_value';
  end if;
  select * into archive from ledger_archives where moved_at is null order by ledger_archives.through limit 1 for update skip locked;
  if not found then
    return 0;
  end if;
  -- A reversal that is being written holds the shared lock until it commits.
  if not pg_try_advisory_xact_lock(hashtextextended('ledger_undo', 0)) then
    return 0;
  end if;
  passed := array(select id from ledger_transfers where id > archive.moved_to and id <= archive.cutoff order by id limit at_most);
  if cardinality(passed) = 0 then
    update ledger_archives set moved_to = cutoff, moved_at = clock_timestamp() where ledger_archives.through = archive.through;
    return 0;
  end if;
  -- Transfers that a refund or reversal names stay beside it.
  chosen := array(select id from ledger_transfers as moving
                   where id = any (passed) and kind in ('charge', 'credit', 'budget')
                     and not exists (select from ledger_transfers as undo where undo.reverses = moving.id));
  insert into archived_ledger_transfers select * from ledger_transfers where id = any (chosen);
  insert into archived_ledger_entries select * from ledger_entries where transfer_id = any (chosen);
  insert into ledger_archived_keys (key_hash, transfer_id)
  select ledger_key_hash(org_id, idempotency_key), id from ledger_transfers where id = any (chosen);
  delete from ledger_entries where transfer_id = any (chosen);
  get diagnostics entries = row_count;
  delete from ledger_transfers where id = any (chosen);
  update ledger_archives
     set moved_to = passed[cardinality(passed)], moved_transfers = moved_transfers + cardinality(chosen), moved_entries = moved_entries + entries
   where ledger_archives.through = archive.through;
  return cardinality(passed);
end $$;
comment on function move_archived_transfers(integer) is 'Moves the next transfers of the archive that is in progress. Returns how many it passed; 0 if there is nothing to do now.';

create function ledger_archive_differences() returns table (account_id uuid, opening_count bigint, archived_count bigint, opening_nano_usd numeric, archived_nano_usd numeric)
  language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select account_id, opening.entry_count, counted.entries, opening.balance_nano_usd::numeric, counted.amount
    from (select entry.account_id, count(*) as entries, sum(entry.amount_nano_usd) as amount
            from (select account_id, amount_nano_usd from archived_ledger_entries
                  union all
                  select account_id, amount_nano_usd from ledger_entries where transfer_id <= ledger_archive_cutoff()) as entry
           group by entry.account_id) as counted
    full join ledger_opening_balances as opening using (account_id)
   where (opening.entry_count, opening.balance_nano_usd::numeric) is distinct from (counted.entries, counted.amount)
$$;
comment on function ledger_archive_differences() is 'Accounts whose opening balance is not the sum of their archived entries. Reads the whole archive.';

revoke insert, update, delete, truncate on ledger_archives, ledger_opening_balances, ledger_archived_totals, ledger_archived_keys,
  archived_ledger_transfers, archived_ledger_entries, all_ledger_transfers, all_ledger_entries from millrace_app;
grant select on ledger_archives, ledger_opening_balances, ledger_archived_totals to millrace_worker, millrace_admin;
grant select on ledger_archived_keys, all_ledger_transfers, all_ledger_entries to millrace_api, millrace_worker;
-- These functions are new.
-- squawk-ignore revoke-right
revoke all on function begin_ledger_archive(date) from public;
-- squawk-ignore revoke-right
revoke all on function move_archived_transfers(integer) from public;
grant execute on function begin_ledger_archive(date), move_archived_transfers(integer) to millrace_app, millrace_worker;
