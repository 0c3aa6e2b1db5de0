-- Details of requests are deleted by day, after their sums are recorded. From the begin of an archive on, audits start from these sums,
-- and usage of an earlier request is never charged, so it does not matter which days have been deleted. Nothing is deleted before a
-- worker begins an archive, which `MILLRACE_REQUESTS_AFTER_MONTHS` switches on.

create table usage_archives (
  through date primary key,
  cutoff uuid not null unique,
  requests bigint not null check (requests >= 0),
  begun_at timestamptz not null default clock_timestamp(),
  deleted_partitions integer not null default 0 check (deleted_partitions >= 0),
  deleted_at timestamptz,
  constraint usage_archives_end_a_month check (through = date_trunc('month', through::timestamp)::date)
);
comment on table usage_archives is 'Each row archives the requests of the closed months before its date that no earlier row archives.';
comment on column usage_archives.cutoff is 'Requests with a smaller id are archived. Audits begin here.';
comment on column usage_archives.requests is 'How many requests it counted in usage_months.';
comment on column usage_archives.deleted_at is 'When the last details had been deleted; null while they are deleted.';

create table usage_months (
  month date not null,
  org_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  key_id uuid not null,
  model text not null,
  outcome text not null,
  requests bigint not null,
  tokens_prompt numeric(40) not null,
  tokens_cached numeric(40) not null,
  tokens_completion numeric(40) not null,
  image_pixel_steps numeric(40) not null,
  characters numeric(40) not null,
  priced_nano_usd numeric(40) not null,
  cost_nano_usd numeric(40) not null,
  primary key (month, org_id, mode, key_id, model, outcome)
);
comment on table usage_months is 'Sums of archived requests. The month is the one in their ids.';

create table usage_archive_guard (
  only_row boolean primary key default true check (only_row),
  old_charges bigint not null default 0
);
comment on table usage_archive_guard is 'Locked by charges of usage that is older than 30 days and by the begin of an archive, so that neither misses the other.';
insert into usage_archive_guard default values;

alter table ledger_archived_totals drop constraint ledger_archived_totals_measure_check;
alter table ledger_archived_totals add constraint ledger_archived_totals_measure_check check (measure in (
  'hold_posted', 'meter_paid', 'meter_earned', 'meter_fee', 'meter_promo', 'meter_charged', 'budget_spent', 'lease_used', 'transfer_used'));
comment on table ledger_archived_totals is 'Sums of archived transfers and requests for holds, meters, budgets, credit leases and transfers that are still audited.';

create function usage_archive_cutoff() returns uuid language sql stable parallel safe security definer
  set search_path = pg_catalog, public, pg_temp as $$
  select coalesce((select cutoff from usage_archives order by through desc limit 1), '00000000-0000-0000-0000-000000000000'::uuid)
$$;
comment on function usage_archive_cutoff() is 'Details of requests with smaller ids are archived.';

create function refuse_archived_usage() returns trigger language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
declare
  first_young uuid := first_id_at(now() - interval '30 days');
begin
  if exists (select from written where outcome = 'charged' and request_id < first_young) then
    -- Waits for the begin of an archive, whose cutoff the next statement then sees. Or makes that begin repeat its audit.
    update usage_archive_guard set old_charges = old_charges + 1;
    if exists (select from written where outcome = 'charged' and request_id < (select usage_archive_cutoff())) then
      raise exception 'a request of an archived month cannot be charged'
        using errcode = 'check_violation', constraint = 'usage_charges_after_the_archive';
    end if;
  end if;
  return null;
end $$;
comment on function refuse_archived_usage() is 'Keeps request ids unique for ever, for every process of every release: a request of an archived month is never charged again.';
create trigger usage_charges_refuse_archived after insert on usage_charges
  referencing new table as written for each statement execute function refuse_archived_usage();

create function due_usage_archive(after_months integer) returns date language sql stable security definer
  set search_path = pg_catalog, public, pg_temp as $$
  select through::date
    from (select least(date_trunc('month', now() at time zone 'UTC') - after_months * interval '1 month',
                       (max(month) at time zone 'UTC') + interval '1 month') as through
            from invoice_months where finished_at is not null having count(*) > 0) as due
   where not exists (select from usage_archives where deleted_at is null or usage_archives.through >= due.through::date)
$$;
comment on function due_usage_archive(integer) is 'The end of the invoiced months that are due; null if they are archived or details are being deleted.';

create function begin_usage_archive(through date) returns text language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
declare
  month_end timestamptz := begin_usage_archive.through::timestamp at time zone 'UTC';
  last uuid := usage_archive_cutoff();
  next uuid := first_id_at(month_end);
  counted bigint;
begin
  if month_end > now() - interval '2 months' then
    raise exception 'only months that ended two months ago are archived' using errcode = 'invalid_parameter_value';
  end if;
  if exists (select from usage_archives as archive where archive.deleted_at is null or archive.through >= begin_usage_archive.through) then
    return 'details are being deleted, or the month is archived';
  end if;
  if exists (select from invoice_months where month < month_end and finished_at is null) then
    return 'invoices of the month are missing';
  end if;
  if exists (select from usage_deferred where kind = 'usage' and uuid_of_public_id('req_' || upper(right(payload ->> 'requestId', 26))) < next) then
    return 'usage of the month is deferred';
  end if;

  -- Transfers before the end of the last archive are no longer compared with their requests.
  delete from ledger_archived_totals where measure = 'transfer_used' and subject < next;
  insert into ledger_archived_totals as total (subject, measure, amount_nano_usd)
  select subject, measure, amount from (
    select lease_id as subject, 'lease_used' as measure, sum(amount_nano_usd) as amount
      from usage_charges where request_id >= last and request_id < next and outcome = 'charged' and lease_id is not null group by lease_id
    union all
    select transfer_id, 'transfer_used', sum(amount_nano_usd + borne_nano_usd)
      from usage_charges where request_id >= last and request_id < next and transfer_id >= next group by transfer_id) as added
  on conflict (subject, measure) do update set amount_nano_usd = total.amount_nano_usd + excluded.amount_nano_usd;

  insert into usage_months as known
  select date_trunc('month', to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000) at time zone 'UTC')::date,
         org_id, mode, key_id, model, outcome, count(*), sum(tokens_prompt), sum(tokens_cached), sum(tokens_completion),
         sum(image_pixel_steps), sum(characters), sum(priced_nano_usd), sum(cost_nano_usd)
    from inference_requests where id >= last and id < next
   group by 1, 2, 3, 4, 5, 6
  on conflict (month, org_id, mode, key_id, model, outcome) do update
     set requests = known.requests + excluded.requests, tokens_prompt = known.tokens_prompt + excluded.tokens_prompt,
         tokens_cached = known.tokens_cached + excluded.tokens_cached,
         tokens_completion = known.tokens_completion + excluded.tokens_completion,
         image_pixel_steps = known.image_pixel_steps + excluded.image_pixel_steps,
         characters = known.characters + excluded.characters, priced_nano_usd = known.priced_nano_usd + excluded.priced_nano_usd,
         cost_nano_usd = known.cost_nano_usd + excluded.cost_nano_usd;
  select count(*) into counted from inference_requests where id >= last and id < next;

  insert into usage_archives (through, cutoff, requests) values (begin_usage_archive.through, next, counted);
  -- Fails if an old request was charged after the snapshot of the audit. The transaction is then repeated.
  update usage_archive_guard set old_charges = old_charges;
  return 'begun';
end $$;
comment on function begin_usage_archive(date) is 'Records sums of the requests before a date. Called in the snapshot of a full audit that found no drift.';

-- `detach partition concurrently` is not possible beside a default partition. So the lock on the parent table waits briefly, and the
-- caller tries again later.
create function delete_archived_usage(at_most integer) returns integer language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp set lock_timeout = '200ms' as $$
declare
  archive usage_archives;
  name text;
  rest_charges integer;
  rest_requests integer;
begin
  if at_most not between 1 and 10000 then
    raise exception 'at most 10000 rows are deleted at once' using errcode = 'invalid_parameter_value';
  end if;
  -- Partitions are created under the same lock.
  if not pg_try_advisory_xact_lock(hashtextextended('make_usage_partitions', 0)) then
    return 0;
  end if;
  select * into archive from usage_archives where deleted_at is null order by usage_archives.through limit 1 for update skip locked;
  if not found then
    return 0;
  end if;
  select child.relname into name
    from pg_inherits join pg_class as child on child.oid = pg_inherits.inhrelid
   where pg_inherits.inhparent in ('public.usage_charges'::regclass, 'public.inference_requests'::regclass)
     and child.relname ~ '_[0-9]{8}$' and right(child.relname, 8) < to_char(archive.through, 'YYYYMMDD')
   order by right(child.relname, 8), child.relname limit 1;
  if found then
    execute format('drop table public.%I', name);
    update usage_archives set deleted_partitions = deleted_partitions + 1 where usage_archives.through = archive.through;
    return 1;
  end if;
  delete from usage_charges_rest where request_id in (
    select request_id from usage_charges_rest where request_id < archive.cutoff limit at_most);
  get diagnostics rest_charges = row_count;
  delete from inference_requests_rest where id in (
    select id from inference_requests_rest where id < archive.cutoff limit at_most);
  get diagnostics rest_requests = row_count;
  if rest_charges + rest_requests > 0 then
    return rest_charges + rest_requests;
  end if;
  update usage_archives set deleted_at = clock_timestamp() where usage_archives.through = archive.through;
  return 0;
end $$;
comment on function delete_archived_usage(integer) is 'Deletes the oldest archived day of one of the two tables, or rows without a day. Returns 0 if there is nothing to delete now.';

create function delete_archived_leases(at_most integer) returns integer language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
declare
  -- Clocks of processes differ by less than a day.
  ledger_end timestamptz := (select max(through) from ledger_archives)::timestamp at time zone 'UTC' - interval '2 days';
  first_kept uuid := least(usage_archive_cutoff(), first_id_at(ledger_end));
  chosen uuid[];
  holds uuid[];
begin
  if at_most not between 1 and 10000 then
    raise exception 'at most 10000 leases are deleted at once' using errcode = 'invalid_parameter_value';
  end if;
  if ledger_end is null then
    return 0;
  end if;
  -- If the archived sums are the stored totals, no charge of the lease or of its holds is outside the archives.
  chosen := array(
    select lease.id from pot_leases as lease
     where lease.id < first_kept and lease.state = 'closed' and lease.closed_at < ledger_end
       and lease.settled_nano_usd = coalesce((
             select amount_nano_usd from ledger_archived_totals where subject = lease.id and measure = 'lease_used'), 0)
       and not exists (
             select from (select lease.hold_id as id
                           union all
                          select lent.hold_id from pot_lease_budgets as lent where lent.lease_id = lease.id) as named
               left join ledger_holds as hold on hold.id = named.id
               left join ledger_archived_totals as total on total.subject = named.id and total.measure = 'hold_posted'
              where (hold.closed_at < ledger_end and hold.posted_nano_usd = coalesce(total.amount_nano_usd, 0)) is not true)
     order by lease.id limit at_most for update of lease skip locked);
  if cardinality(chosen) = 0 then
    return 0;
  end if;
  holds := array(select hold_id from pot_leases where id = any (chosen)
                  union all
                 select hold_id from pot_lease_budgets where lease_id = any (chosen));
  delete from pot_lease_gateways where lease_id = any (chosen);
  delete from pot_lease_budgets where lease_id = any (chosen);
  delete from pot_leases where id = any (chosen);
  delete from ledger_hold_parts where hold_id = any (holds);
  delete from ledger_holds where id = any (holds);
  delete from ledger_archived_totals where subject = any (chosen || holds);
  return cardinality(chosen);
end $$;
comment on function delete_archived_leases(integer) is 'Deletes closed credit leases, with their holds, whose charges and requests are all archived. Returns their number.';

revoke insert, update, delete, truncate on usage_archives, usage_months, usage_archive_guard from millrace_app;
grant select on usage_archives to millrace_worker, millrace_admin;
-- These functions are new.
-- squawk-ignore revoke-right
revoke all on function due_usage_archive(integer) from public;
-- squawk-ignore revoke-right
revoke all on function begin_usage_archive(date) from public;
-- squawk-ignore revoke-right
revoke all on function delete_archived_usage(integer) from public;
-- squawk-ignore revoke-right
revoke all on function delete_archived_leases(integer) from public;
grant execute on function due_usage_archive(integer), begin_usage_archive(date), delete_archived_usage(integer), delete_archived_leases(integer) to millrace_app, millrace_worker;
