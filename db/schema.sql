-- The schema after all migrations, for reading and for review. Generated; do not edit.
-- Regenerate with: npm run schema

CREATE DOMAIN public.allocation_holder AS text
	CONSTRAINT allocation_holder_check CHECK ((VALUE = ANY (ARRAY['rental'::text, 'instance'::text])));

CREATE DOMAIN public.allocation_state AS text
	CONSTRAINT allocation_state_check CHECK ((VALUE = ANY (ARRAY['live'::text, 'releasing'::text, 'released'::text])));

CREATE DOMAIN public.fleet_connection_type AS text
	CONSTRAINT fleet_connection_type_check CHECK ((VALUE = ANY (ARRAY['ethernet'::text, 'infiniband'::text])));

CREATE DOMAIN public.fleet_count AS integer
	CONSTRAINT fleet_count_check CHECK ((VALUE > 0));

CREATE DOMAIN public.fleet_cuda AS integer
	CONSTRAINT fleet_cuda_check CHECK ((VALUE >= 0));

CREATE DOMAIN public.fleet_gpu_type AS text
	CONSTRAINT fleet_gpu_type_check CHECK ((VALUE = ANY (ARRAY['h100'::text, 'h200'::text, 'b200'::text, 'other'::text])));

CREATE DOMAIN public.fleet_mode AS text
	CONSTRAINT fleet_mode_check CHECK ((VALUE = ANY (ARRAY['live'::text, 'test'::text])));

CREATE DOMAIN public.fleet_offer AS text
	CONSTRAINT fleet_offer_check CHECK ((VALUE = ANY (ARRAY['virtual-machine'::text, 'bare-metal'::text, 'marketplace'::text])));

CREATE DOMAIN public.fleet_spread AS integer
	CONSTRAINT fleet_spread_check CHECK (((VALUE >= 0) AND (VALUE < 2147483647)));

CREATE DOMAIN public.port_number AS integer
	CONSTRAINT port_number_check CHECK (((VALUE >= 1) AND (VALUE <= 65535)));

CREATE DOMAIN public.port_protocol AS text
	CONSTRAINT port_protocol_check CHECK ((VALUE = ANY (ARRAY['tcp'::text, 'udp'::text])));

CREATE FUNCTION public.begin_ledger_archive(through date) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION public.begin_ledger_archive(through date) IS 'Records opening balances and totals of the closed months before a date. Called in the snapshot of a full audit that found no drift.';

CREATE FUNCTION public.begin_usage_archive(through date) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION public.begin_usage_archive(through date) IS 'Records sums of the requests before a date. Called in the snapshot of a full audit that found no drift.';

CREATE FUNCTION public.check_invoice_counter() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  if new.last_number <> old.last_number + 1
     and not exists (select from invoice_gaps
                      where first_number = old.last_number + 1 and last_number = new.last_number) then
    raise exception 'invoices are numbered one by one: % cannot follow %', new.last_number, old.last_number
      using errcode = 'check_violation', constraint = 'invoice_counter_goes_by_one';
  end if;
  return new;
end;
$$;

COMMENT ON FUNCTION public.check_invoice_counter() IS 'Allows the invoice counter to grow by one only, or to skip numbers that a restore lost.';

CREATE FUNCTION public.check_invoice_number() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  if new.number <> (select last_number from invoice_counter) then
    raise exception 'invoice % is not the next', new.number
      using errcode = 'check_violation', constraint = 'invoices_have_the_next_number';
  end if;
  return new;
end;
$$;

COMMENT ON FUNCTION public.check_invoice_number() IS 'Allows an invoice only the number that the counter shows.';

CREATE FUNCTION public.check_invoice_number_used() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  if not exists (select from invoices where number = new.last_number)
     and not exists (select from invoice_gaps where last_number = new.last_number) then
    raise exception 'no invoice has the number %', new.last_number
      using errcode = 'check_violation', constraint = 'invoice_counter_leaves_no_hole';
  end if;
  return null;
end;
$$;

COMMENT ON FUNCTION public.check_invoice_number_used() IS 'Refuses a number that has neither an invoice nor a recorded gap of a restore.';

CREATE FUNCTION public.check_ledger_entries() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
declare
  wrong record;
begin
  select transfer_id, sum(amount_nano_usd) as total into wrong
    from written group by transfer_id having sum(amount_nano_usd) <> 0 limit 1;
  if found then
    raise exception 'transfer % does not sum to zero but to %', wrong.transfer_id, wrong.total
      using errcode = 'check_violation', constraint = 'ledger_entries_sum_to_zero';
  end if;
  select newest.account_id, newest.balance_after_nano_usd, account.balance_nano_usd into wrong
    from (select distinct on (account_id) account_id, account_seq, balance_after_nano_usd
            from written order by account_id, account_seq desc) as newest
    left join ledger_accounts account on account.id = newest.account_id
   where account.id is null
      or (account.balance_nano_usd, account.entry_count) <> (newest.balance_after_nano_usd, newest.account_seq)
   limit 1;
  if found then
    raise exception 'account % has a balance of % but its newest entry leads to %',
        wrong.account_id, wrong.balance_nano_usd, wrong.balance_after_nano_usd
      using errcode = 'check_violation', constraint = 'ledger_entries_lead_to_the_balance';
  end if;
  return null;
end;
$$;

COMMENT ON FUNCTION public.check_ledger_entries() IS 'Refuses transfers whose entries do not sum to zero, and entries that disagree with the stored balance.';

CREATE FUNCTION public.collect_notices() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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

COMMENT ON FUNCTION public.collect_notices() IS 'Stores a notice for each event that people receive by email.';

CREATE FUNCTION public.delete_archived_leases(at_most integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION public.delete_archived_leases(at_most integer) IS 'Deletes closed credit leases, with their holds, whose charges and requests are all archived. Returns their number.';

CREATE FUNCTION public.delete_archived_usage(at_most integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET lock_timeout TO '200ms'
    AS $_$
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
end $_$;

COMMENT ON FUNCTION public.delete_archived_usage(at_most integer) IS 'Deletes the oldest archived day of one of the two tables, or rows without a day. Returns 0 if there is nothing to delete now.';

CREATE FUNCTION public.delete_finished_rows(what text, keep_days integer, at_most integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
declare
  before timestamptz := clock_timestamp() - keep_days * interval '1 day';
  deleted integer;
begin
  if keep_days < 30 or at_most not between 1 and 10000 then
    raise exception 'finished rows are kept for at least 30 days, and at most 10000 are deleted at once'
      using errcode = 'invalid_parameter_value';
  end if;
  case what
    when 'required_actions' then
      delete from required_actions where ctid = any (array(
        select ctid from required_actions where done_at < before order by done_at limit at_most for update skip locked));
    when 'allocated_gpus' then
      delete from allocated_gpus where ctid = any (array(
        select ctid from allocated_gpus where released_at < before order by released_at limit at_most for update skip locked));
    when 'allocated_ports' then
      delete from allocated_ports where ctid = any (array(
        select ctid from allocated_ports where released_at < before order by released_at limit at_most for update skip locked));
    when 'rental_steps' then
      delete from rental_steps where ctid = any (array(
        select step.ctid from rental_steps as step join rentals as rental on rental.id = step.rental_id
         where step.started_at < before and rental.status = 'Terminated' limit at_most for update of step skip locked));
    else
      raise exception 'no rule for %', what using errcode = 'invalid_parameter_value';
  end case;
  get diagnostics deleted = row_count;
  return deleted;
end $$;

COMMENT ON FUNCTION public.delete_finished_rows(what text, keep_days integer, at_most integer) IS 'Deletes rows of finished work by age, a batch at a time. The list with the periods is packages/core/src/retention.';

CREATE FUNCTION public.due_usage_archive(after_months integer) RETURNS date
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
  select through::date
    from (select least(date_trunc('month', now() at time zone 'UTC') - after_months * interval '1 month',
                       (max(month) at time zone 'UTC') + interval '1 month') as through
            from invoice_months where finished_at is not null having count(*) > 0) as due
   where not exists (select from usage_archives where deleted_at is null or usage_archives.through >= due.through::date)
$$;

COMMENT ON FUNCTION public.due_usage_archive(after_months integer) IS 'The end of the invoiced months that are due; null if they are archived or details are being deleted.';

CREATE FUNCTION public.fan_out_to_webhooks() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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

COMMENT ON FUNCTION public.fan_out_to_webhooks() IS 'Inserts a delivery of each new event for every subscribed webhook, in the statement that stores the event.';

CREATE FUNCTION public.first_id_at(instant timestamp with time zone) RETURNS uuid
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
  select (lpad(to_hex((extract(epoch from instant) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;

COMMENT ON FUNCTION public.first_id_at(instant timestamp with time zone) IS 'Smaller than every UUIDv7 of this millisecond and later.';

CREATE FUNCTION public.first_id_of_day(day date) RETURNS uuid
    LANGUAGE sql IMMUTABLE STRICT
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
  select (lpad(to_hex((extract(epoch from day::timestamp) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;
$$;

COMMENT ON FUNCTION public.first_id_of_day(day date) IS 'The smallest UUIDv7 of a UTC day: the lower bound of its partition.';

CREATE FUNCTION public.hold_storage_addresses(of_rentals uuid[]) RETURNS void
    LANGUAGE sql
    AS $$
  insert into storage_addresses (region, address, rental_id, attempt, position)
  select rental.region, machine.private_ip, machine.rental_id, machine.attempt, machine.position
    from rentals as rental join rental_machines as machine on machine.rental_id = rental.id
   where rental.id = any (of_rentals) and machine.mode = 'live' and length(machine.private_ip) <= 64
     and machine.state not in ('doomed', 'gone')
     and exists (select 1 from volume_attachments as held where held.rental_id = rental.id and held.detached_at is null)
   order by machine.rental_id, machine.private_ip, machine.attempt, machine.position
  on conflict do nothing
$$;

COMMENT ON FUNCTION public.hold_storage_addresses(of_rentals uuid[]) IS 'Assigns each machine of rentals with volumes its private address, unless another machine of the region has it.';

CREATE FUNCTION public.invoice_lines_total(lines jsonb) RETURNS numeric
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
  select coalesce(sum((line ->> 'amountNanoUsd')::numeric), 0) from jsonb_array_elements(lines) as line
$$;

COMMENT ON FUNCTION public.invoice_lines_total(lines jsonb) IS 'The sum of the lines of an invoice.';

CREATE FUNCTION public.keep_price() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  if tg_op <> 'UPDATE' then
    raise exception 'prices is append-only: % refused', tg_op using errcode = 'restrict_violation';
  end if;
  if to_jsonb(new) - 'valid_until' <> to_jsonb(old) - 'valid_until'
     or new.valid_until is null or new.valid_until > old.valid_until then
    raise exception 'price % can only be ended, or ended sooner', old.id using errcode = 'restrict_violation';
  end if;
  return new;
end;
$$;

COMMENT ON FUNCTION public.keep_price() IS 'Keeps the price list append-only for every role, the owner included: a price never changes, and an ended price never becomes valid again.';

CREATE FUNCTION public.ledger_archive_cutoff() RETURNS uuid
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
  select coalesce((select cutoff from ledger_archives order by through desc limit 1), '00000000-0000-0000-0000-000000000000'::uuid)
$$;

COMMENT ON FUNCTION public.ledger_archive_cutoff() IS 'Audits check transfers with larger ids.';

CREATE FUNCTION public.ledger_archive_differences() RETURNS TABLE(account_id uuid, opening_count bigint, archived_count bigint, opening_nano_usd numeric, archived_nano_usd numeric)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
  select account_id, opening.entry_count, counted.entries, opening.balance_nano_usd::numeric, counted.amount
    from (select entry.account_id, count(*) as entries, sum(entry.amount_nano_usd) as amount
            from (select account_id, amount_nano_usd from archived_ledger_entries
                  union all
                  select account_id, amount_nano_usd from ledger_entries where transfer_id <= ledger_archive_cutoff()) as entry
           group by entry.account_id) as counted
    full join ledger_opening_balances as opening using (account_id)
   where (opening.entry_count, opening.balance_nano_usd::numeric) is distinct from (counted.entries, counted.amount)
$$;

COMMENT ON FUNCTION public.ledger_archive_differences() IS 'Accounts whose opening balance is not the sum of their archived entries. Reads the whole archive.';

CREATE FUNCTION public.ledger_key_hash(org_id uuid, key text) RETURNS uuid
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
  select encode(substring(sha256(convert_to(org_id::text || ' ' || key, 'UTF8')) for 16), 'hex')::uuid
$$;

COMMENT ON FUNCTION public.ledger_key_hash(org_id uuid, key text) IS 'Sixteen bytes that stand for an idempotency key of an organisation for ever.';

CREATE FUNCTION public.lock_demo_mark() RETURNS boolean
    LANGUAGE plpgsql
    AS $$
begin
  perform pg_advisory_xact_lock_shared(hashtextextended('demo_mark', 0));
  return exists (select from public.demo_mark);
end;
$$;

COMMENT ON FUNCTION public.lock_demo_mark() IS 'Whether this is a demo. The answer stays true until the end of the transaction.';

CREATE FUNCTION public.make_usage_partitions(first_day date, days integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET lock_timeout TO '2s'
    AS $$
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
  -- Two workers at once would fail on each other's tables.
  if not pg_try_advisory_xact_lock(hashtextextended('make_usage_partitions', 0)) then
    return 0;
  end if;
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

COMMENT ON FUNCTION public.make_usage_partitions(first_day date, days integer) IS 'Creates the daily partitions of usage_charges and inference_requests in advance. The only schema change that the processes may make.';

CREATE FUNCTION public.mark_pool() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
begin
  new.placeable := new.ready and new.open and new.gpu_type is not null;
  new.pool := pool_of(new.mode, new.offer, new.region, new.gpu_type, new.connection_type);
  return new;
end $$;

CREATE FUNCTION public.move_archived_transfers(at_most integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION public.move_archived_transfers(at_most integer) IS 'Moves the next transfers of the archive that is in progress. Returns how many it passed; 0 if there is nothing to do now.';

CREATE FUNCTION public.note_changed_key() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
begin
  insert into book_changes (kind, ref) values ('key', new.public_id);
  return null;
end $$;

COMMENT ON FUNCTION public.note_changed_key() IS 'Queues an API key for the key feed when it is created, revoked or given an expiry.';

CREATE FUNCTION public.note_changed_model() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
declare
  changed jsonb := case when tg_op = 'DELETE' then to_jsonb(old) else to_jsonb(new) end;
begin
  insert into book_changes (kind, ref)
  values ('model', changed ->> case tg_table_name when 'inference_models' then 'name' else 'model' end);
  return null;
end $$;

COMMENT ON FUNCTION public.note_changed_model() IS 'Queues a model for the key feed when the model, one of its names, deployments or prices changes.';

CREATE FUNCTION public.note_changed_organisation() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
begin
  insert into book_changes (kind, ref) values ('organisation', new.id::text);
  return null;
end $$;

COMMENT ON FUNCTION public.note_changed_organisation() IS 'Queues an organisation for the key feed when it is created, suspended, resumed or funded.';

CREATE FUNCTION public.note_keys_of_changed_budget() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
declare
  counted uuid[] := new.key_ids;
begin
  if tg_op = 'UPDATE' then
    if new.key_ids is not distinct from old.key_ids and new.on_exceeded = old.on_exceeded
       and new.deleted_at is not distinct from old.deleted_at then
      return null;
    end if;
    -- Null counts the whole organisation, before the change or after it.
    counted := case when old.key_ids is null or new.key_ids is null then null else old.key_ids || new.key_ids end;
  end if;
  insert into book_changes (kind, ref)
  select 'key', public_id from api_keys
   where org_id = new.org_id and mode = new.mode and revoked_at is null and api_keys.kind = 'key'
     and (counted is null or id = any (counted));
  return null;
end $$;

COMMENT ON FUNCTION public.note_keys_of_changed_budget() IS 'Queues the keys of a changed budget: their requests now count against other budgets.';

CREATE FUNCTION public.note_keys_of_changed_user() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
declare
  changed record;
begin
  if tg_op = 'DELETE' then changed := old; else changed := new; end if;
  insert into book_changes (kind, ref)
  select 'key', public_id from api_keys
   where user_id = changed.user_id and revoked_at is null and api_keys.kind = 'key'
     and (tg_table_name <> 'members' or org_id = (to_jsonb(changed) ->> 'org_id')::uuid);
  return null;
end $$;

COMMENT ON FUNCTION public.note_keys_of_changed_user() IS 'Queues the keys of a user whose roles changed: a key never has more scopes than its user.';

CREATE FUNCTION public.note_listed_capacity() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
begin
  insert into listing_changes (node_id) values (new.node_id);
  return null;
end $$;

CREATE FUNCTION public.note_listed_cluster() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
begin
  insert into listing_changes (node_id) select node_id from node_capacity where cluster_id = new.id;
  return null;
end $$;

CREATE FUNCTION public.note_listed_instance() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
begin
  insert into listing_changes (node_id)
  select node_id from instances
   where rental_id = case tg_table_name when 'rentals' then to_jsonb(new) ->> 'id' else to_jsonb(new) ->> 'rental_id' end::uuid;
  return null;
end $$;

COMMENT ON FUNCTION public.note_listed_instance() IS 'Queues a machine for the marketplace list when the state of an instance on it changes. Changes of free GPUs are queued with the counts of the node.';

CREATE FUNCTION public.note_listed_machine() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
begin
  insert into listing_changes (node_id) values (new.node_id);
  return null;
end $$;

CREATE FUNCTION public.note_listed_node() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
begin
  insert into listing_changes (node_id)
  select node_id from node_capacity where node_id = new.id and offer = 'marketplace';
  return null;
end $$;

CREATE FUNCTION public.note_listed_supplier() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
begin
  insert into listing_changes (node_id)
  select node_id from supplier_machines
   where org_id = case tg_table_name when 'suppliers' then to_jsonb(new) ->> 'org_id' else to_jsonb(new) ->> 'id' end::uuid
     and node_id is not null;
  return null;
end $$;

COMMENT ON FUNCTION public.note_listed_supplier() IS 'Queues the machines of a supplier: their visibility depends on the status of the supplier and of its organisation.';

CREATE FUNCTION public.note_storage_addresses() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  if tg_argv[0] = 'release' then
    delete from storage_addresses
     where rental_id = new.rental_id and attempt = new.attempt and position = new.position;
  else
    perform hold_storage_addresses(array[new.rental_id]);
  end if;
  return null;
end
$$;

CREATE FUNCTION public.pool_of(mode text, offer text, region text, gpu_type text, connection_type text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN hashtextextended(((((((((mode || ' '::text) || offer) || ' '::text) || region) || ' '::text) || COALESCE(gpu_type, ''::text)) || ' '::text) || connection_type), (0)::bigint);

COMMENT ON FUNCTION public.pool_of(mode text, offer text, region text, gpu_type text, connection_type text) IS 'One number for the columns that placement matches exactly.';

CREATE FUNCTION public.recount_changed_nodes() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
declare
  one uuid;
begin
  foreach one in array array(select distinct node_id from changed order by node_id) loop
    perform from node_capacity where node_id = one for no key update;
    if exists (select from gpus as gpu
                 join allocated_gpus as sold on sold.gpu_id = gpu.id and sold.released_at is null
                where gpu.node_id = one and gpu.state = 'replaced') then
      raise check_violation using
        message = format('a GPU of node %s is sold and cannot be replaced', one), table = 'gpus';
    end if;
    perform recount_node(one);
  end loop;
  return null;
end $$;

CREATE FUNCTION public.recount_node(one uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
begin
  update node_capacity as capacity
     set gpus_total = counted.total, gpus_free = counted.free, gpus_allocated = counted.allocated,
         largest_numa_free = counted.largest,
         idle = counted.total > 0 and counted.free = counted.total and counted.allocated = 0
    from (
      select coalesce(sum(total), 0)::smallint as total, coalesce(sum(free), 0)::smallint as free,
             coalesce(sum(allocated), 0)::smallint as allocated, coalesce(max(free), 0)::smallint as largest
        from (
          select sum(present::int)::int as total, sum((present and not sold)::int)::int as free,
                 sum(sold::int)::int as allocated
            from (
              select gpu.numa_node, gpu.state = 'present' as present,
                     gpu.id = any (array(select gpu_id from allocated_gpus
                                          where node_id = one and released_at is null)) as sold
                from gpus as gpu where gpu.node_id = one offset 0) as each_gpu
           group by numa_node) as each_numa) as counted
   where capacity.node_id = one;
end $$;

CREATE FUNCTION public.recount_sold_nodes() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
declare
  one record;
begin
  for one in select distinct node_id, mode from changed order by node_id loop
    perform from node_capacity where node_id = one.node_id and mode = one.mode for no key update;
    if not found then
      raise foreign_key_violation using
        message = format('node %s sells nothing in mode %s', one.node_id, one.mode), table = 'allocated_gpus';
    end if;
    perform recount_node(one.node_id);
  end loop;
  return null;
end $$;

CREATE FUNCTION public.refuse_archived_keys() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION public.refuse_archived_keys() IS 'Extends ledger_transfers_once to archived transfers, for every process of every release.';

CREATE FUNCTION public.refuse_archived_usage() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION public.refuse_archived_usage() IS 'Keeps request ids unique for ever, for every process of every release: a request of an archived month is never charged again.';

CREATE FUNCTION public.refuse_attached_restore() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  if tg_table_name = 'volume_attachments' then
    perform 1 from volumes where id = new.volume_id for no key update;
    if exists (select 1 from volumes where id = new.volume_id and restore_volume_id = id) then
      raise exception 'volume % is being restored and cannot be attached', new.volume_id using errcode = 'check_violation';
    end if;
  elsif exists (select 1 from volume_attachments where volume_id = new.id and detached_at is null) then
    raise exception 'volume % is attached and cannot be restored', new.id using errcode = 'check_violation';
  end if;
  return new;
end
$$;

CREATE FUNCTION public.refuse_audit_log_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  raise exception 'audit_log is append-only: % refused', tg_op using errcode = 'restrict_violation';
end;
$$;

COMMENT ON FUNCTION public.refuse_audit_log_change() IS 'Keeps the audit log append-only for everyone, the application included.';

CREATE FUNCTION public.refuse_demo_with_money() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  perform pg_advisory_xact_lock(hashtextextended('demo_mark', 0));
  if exists (select from public.ledger_transfers) or exists (select from public.payments where provider_live) then
    raise exception 'a database with money in its ledger cannot become a demo' using errcode = 'check_violation';
  end if;
  return new;
end;
$$;

COMMENT ON FUNCTION public.refuse_demo_with_money() IS 'Refuses to mark a database as a demo if its ledger has transfers.';

CREATE FUNCTION public.refuse_ledger_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  raise exception '% is append-only: % refused', tg_table_name, tg_op using errcode = 'restrict_violation';
end;
$$;

COMMENT ON FUNCTION public.refuse_ledger_change() IS 'Keeps the ledger append-only for every role, the owner included.';

CREATE FUNCTION public.refuse_mock_storage_for_live_keys() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  if not exists (select from public.demo_mark) then
    raise exception 'only a demo sells mock storage to live keys' using errcode = 'check_violation';
  end if;
  return new;
end;
$$;

COMMENT ON FUNCTION public.refuse_mock_storage_for_live_keys() IS 'Refuses mock storage in live mode, except in a demo.';

CREATE FUNCTION public.refuse_real_money_in_demo() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  if public.lock_demo_mark() then
    raise exception 'a demo takes no real payments' using errcode = 'check_violation';
  end if;
  return new;
end;
$$;

COMMENT ON FUNCTION public.refuse_real_money_in_demo() IS 'Refuses real payments in a demo.';

CREATE FUNCTION public.refuse_unarchived_change() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION public.refuse_unarchived_change() IS 'Keeps the ledger append-only for every role: a row is deleted only if the archive has an identical copy.';

CREATE FUNCTION public.usage_archive_cutoff() RETURNS uuid
    LANGUAGE sql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
  select coalesce((select cutoff from usage_archives order by through desc limit 1), '00000000-0000-0000-0000-000000000000'::uuid)
$$;

COMMENT ON FUNCTION public.usage_archive_cutoff() IS 'Details of requests with smaller ids are archived.';

CREATE FUNCTION public.uuid_of_public_id(public_id text) RETURNS uuid
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $_$
  select case when public_id ~ '^[a-z]+_[0-7][0-9A-HJKMNP-TV-Z]{25}$' then (
    select string_agg(lpad(to_hex(substr(bits, 3 + 32 * part, 32)::bit(32)::bigint), 8, '0'), '' order by part)::uuid
      from (select string_agg((position(substr(right(public_id, 26), place, 1) in '0123456789ABCDEFGHJKMNPQRSTVWXYZ') - 1)
                                ::bit(5)::text, '' order by place) as bits
              from generate_series(1, 26) as place) as spelled,
           generate_series(0, 3) as part) end
$_$;

COMMENT ON FUNCTION public.uuid_of_public_id(public_id text) IS 'The UUID encoded in a public id such as trf_01J…; null if the id is malformed.';

CREATE FUNCTION public.webhook_delivery_id(event_id uuid, webhook_id uuid) RETURNS uuid
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
  select (left(event_id::text, 24) || left(md5(webhook_id::text || event_id::text), 12))::uuid
$$;

COMMENT ON FUNCTION public.webhook_delivery_id(event_id uuid, webhook_id uuid) IS 'The id of the delivery of an event to a webhook. Deterministic.';

CREATE TABLE public.accounts (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    account_id text NOT NULL,
    provider_id text NOT NULL,
    access_token text,
    refresh_token text,
    id_token text,
    access_token_expires_at timestamp with time zone,
    refresh_token_expires_at timestamp with time zone,
    scope text,
    password text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

COMMENT ON TABLE public.accounts IS 'The ways a user can sign in: one row per password or outside provider.';

COMMENT ON COLUMN public.accounts.password IS 'A slow salted hash, never the password.';

CREATE TABLE public.archived_ledger_entries (
    transfer_id uuid NOT NULL,
    account_id uuid NOT NULL,
    amount_nano_usd bigint NOT NULL,
    account_seq bigint NOT NULL,
    balance_after_nano_usd bigint NOT NULL
);

COMMENT ON TABLE public.archived_ledger_entries IS 'Entries that moved out of ledger_entries, unchanged.';

CREATE TABLE public.ledger_entries (
    transfer_id uuid NOT NULL,
    account_id uuid NOT NULL,
    amount_nano_usd bigint NOT NULL,
    account_seq bigint NOT NULL,
    balance_after_nano_usd bigint NOT NULL,
    CONSTRAINT ledger_entries_account_seq_check CHECK ((account_seq > 0)),
    CONSTRAINT ledger_entries_amount_nano_usd_check CHECK ((amount_nano_usd <> 0))
);

COMMENT ON TABLE public.ledger_entries IS 'The entries of transfers: one account each, summing to zero. Append-only.';

COMMENT ON COLUMN public.ledger_entries.account_seq IS 'Numbers the entries of the account from 1 without gaps, so that a missing entry is detected.';

COMMENT ON COLUMN public.ledger_entries.balance_after_nano_usd IS 'The account''s balance after this entry. The entries of an account form a chain.';

CREATE VIEW public.all_ledger_entries AS
 SELECT ledger_entries.transfer_id,
    ledger_entries.account_id,
    ledger_entries.amount_nano_usd,
    ledger_entries.account_seq,
    ledger_entries.balance_after_nano_usd
   FROM public.ledger_entries
UNION ALL
 SELECT archived_ledger_entries.transfer_id,
    archived_ledger_entries.account_id,
    archived_ledger_entries.amount_nano_usd,
    archived_ledger_entries.account_seq,
    archived_ledger_entries.balance_after_nano_usd
   FROM public.archived_ledger_entries;

COMMENT ON VIEW public.all_ledger_entries IS 'Entries of all times, for reading.';

CREATE TABLE public.archived_ledger_transfers (
    id uuid NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    kind text NOT NULL,
    idempotency_key text NOT NULL COLLATE pg_catalog."C",
    cause_kind text NOT NULL,
    cause_id text NOT NULL,
    amount_nano_usd bigint NOT NULL,
    balance_after_nano_usd bigint NOT NULL,
    hold_id uuid,
    reverses uuid,
    key_id uuid,
    description text NOT NULL,
    usage jsonb,
    occurred_at timestamp with time zone NOT NULL
);

COMMENT ON TABLE public.archived_ledger_transfers IS 'Transfers that moved out of ledger_transfers, unchanged.';

CREATE TABLE public.ledger_transfers (
    id uuid NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    kind text NOT NULL,
    idempotency_key text NOT NULL COLLATE pg_catalog."C",
    cause_kind text NOT NULL,
    cause_id text NOT NULL,
    amount_nano_usd bigint NOT NULL,
    balance_after_nano_usd bigint NOT NULL,
    hold_id uuid,
    reverses uuid,
    key_id uuid,
    description text NOT NULL,
    usage jsonb,
    occurred_at timestamp with time zone NOT NULL,
    CONSTRAINT ledger_transfers_cause_id_check CHECK (((length(cause_id) >= 1) AND (length(cause_id) <= 100))),
    CONSTRAINT ledger_transfers_cause_kind_check CHECK ((((length(cause_kind) >= 1) AND (length(cause_kind) <= 50)) AND (POSITION((':'::text) IN (cause_kind)) = 0))),
    CONSTRAINT ledger_transfers_description_check CHECK ((length(description) <= 500)),
    CONSTRAINT ledger_transfers_idempotency_key_check CHECK ((length(idempotency_key) <= 300)),
    CONSTRAINT ledger_transfers_key_names_the_cause CHECK (starts_with(idempotency_key, (((cause_kind || ':'::text) || cause_id) || ':'::text))),
    CONSTRAINT ledger_transfers_kind_check CHECK ((kind = ANY (ARRAY['top_up'::text, 'grant'::text, 'adjustment'::text, 'refund'::text, 'reversal'::text, 'charge'::text, 'credit'::text, 'payout'::text, 'clawback'::text, 'expiry'::text, 'budget'::text]))),
    CONSTRAINT ledger_transfers_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT ledger_transfers_reverses_something CHECK (((reverses IS NOT NULL) = (kind = ANY (ARRAY['reversal'::text, 'refund'::text])))),
    CONSTRAINT ledger_transfers_usage_check CHECK ((jsonb_typeof(usage) = 'object'::text))
);

COMMENT ON TABLE public.ledger_transfers IS 'Every movement of money, with its cause. Append-only.';

COMMENT ON COLUMN public.ledger_transfers.org_id IS 'The organisation whose ledger shows the transfer. No foreign keys here: each check would lock a row of another table for each posting. The auditor checks instead.';

COMMENT ON COLUMN public.ledger_transfers.idempotency_key IS 'Starts with the cause (kind:id:step), so the unique index also finds all charges of a cause.';

COMMENT ON COLUMN public.ledger_transfers.amount_nano_usd IS 'Change of the organisation''s own money (credit and promotional credit); for a payout, change of its earnings.';

COMMENT ON COLUMN public.ledger_transfers.balance_after_nano_usd IS 'The organisation''s own money after the transfer.';

COMMENT ON COLUMN public.ledger_transfers.hold_id IS 'The hold that paid for the transfer, if any.';

COMMENT ON COLUMN public.ledger_transfers.reverses IS 'Refunds and reversals: the transfer that they undo, partly or fully.';

COMMENT ON COLUMN public.ledger_transfers.key_id IS 'The API key that caused the charge, if there is exactly one.';

COMMENT ON COLUMN public.ledger_transfers.usage IS 'The usage charged, in whole units: {"gpuMs": …} or {"requests": …, "promptTokens": …}.';

COMMENT ON COLUMN public.ledger_transfers.occurred_at IS 'By the clock of the process that posted it.';

CREATE VIEW public.all_ledger_transfers AS
 SELECT ledger_transfers.id,
    ledger_transfers.org_id,
    ledger_transfers.mode,
    ledger_transfers.kind,
    ledger_transfers.idempotency_key,
    ledger_transfers.cause_kind,
    ledger_transfers.cause_id,
    ledger_transfers.amount_nano_usd,
    ledger_transfers.balance_after_nano_usd,
    ledger_transfers.hold_id,
    ledger_transfers.reverses,
    ledger_transfers.key_id,
    ledger_transfers.description,
    ledger_transfers.usage,
    ledger_transfers.occurred_at
   FROM public.ledger_transfers
UNION ALL
 SELECT archived_ledger_transfers.id,
    archived_ledger_transfers.org_id,
    archived_ledger_transfers.mode,
    archived_ledger_transfers.kind,
    archived_ledger_transfers.idempotency_key,
    archived_ledger_transfers.cause_kind,
    archived_ledger_transfers.cause_id,
    archived_ledger_transfers.amount_nano_usd,
    archived_ledger_transfers.balance_after_nano_usd,
    archived_ledger_transfers.hold_id,
    archived_ledger_transfers.reverses,
    archived_ledger_transfers.key_id,
    archived_ledger_transfers.description,
    archived_ledger_transfers.usage,
    archived_ledger_transfers.occurred_at
   FROM public.archived_ledger_transfers;

COMMENT ON VIEW public.all_ledger_transfers IS 'Transfers of all times, for reading.';

CREATE TABLE public.allocated_gpus (
    allocation_id uuid NOT NULL,
    gpu_id uuid NOT NULL,
    node_id uuid NOT NULL,
    org_id uuid NOT NULL,
    mode public.fleet_mode NOT NULL,
    released_at timestamp with time zone
);

COMMENT ON TABLE public.allocated_gpus IS 'GPUs held by allocations. A GPU has at most one row that is not released.';

COMMENT ON COLUMN public.allocated_gpus.mode IS 'The mode of the allocation and of the node. The counting trigger refuses a difference.';

CREATE TABLE public.allocated_ports (
    allocation_id uuid NOT NULL,
    node_id uuid NOT NULL,
    org_id uuid NOT NULL,
    mode public.fleet_mode NOT NULL,
    protocol public.port_protocol NOT NULL,
    external_port public.port_number NOT NULL,
    internal_port public.port_number NOT NULL,
    released_at timestamp with time zone
);

COMMENT ON TABLE public.allocated_ports IS 'Ports of a node''s address that forward to machines on it.';

CREATE TABLE public.allocations (
    id uuid NOT NULL,
    org_id uuid NOT NULL,
    mode public.fleet_mode NOT NULL,
    external_id uuid NOT NULL,
    holder public.allocation_holder NOT NULL,
    region text NOT NULL,
    gpu_count public.fleet_count NOT NULL,
    node_count public.fleet_count NOT NULL,
    state public.allocation_state NOT NULL,
    frees_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    released_at timestamp with time zone,
    CONSTRAINT allocations_released_when_released CHECK ((((state)::text = 'released'::text) = (released_at IS NOT NULL)))
);

COMMENT ON TABLE public.allocations IS 'GPUs reserved for one rental or instance on its nodes.';

COMMENT ON COLUMN public.allocations.external_id IS 'The machine''s id at the driver. At most one live allocation has it; another one may be releasing after a move.';

COMMENT ON COLUMN public.allocations.state IS 'releasing: the engine has not confirmed that the machine is deleted, so its GPUs cannot be sold.';

COMMENT ON COLUMN public.allocations.frees_at IS 'The planned end, if there is one.';

CREATE TABLE public.api_keys (
    id uuid NOT NULL,
    public_id text NOT NULL,
    secret_sha256 bytea NOT NULL,
    org_id uuid NOT NULL,
    user_id uuid NOT NULL,
    mode text NOT NULL,
    name text NOT NULL,
    scopes text[] NOT NULL,
    limits jsonb NOT NULL,
    allowed_ips cidr[] DEFAULT '{}'::cidr[] NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    revoked_reason text,
    rotated_from uuid,
    last_used_at timestamp with time zone,
    next_action_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    kind text DEFAULT 'key'::text NOT NULL,
    CONSTRAINT api_keys_expiry_is_driven CHECK (
CASE
    WHEN (revoked_at IS NOT NULL) THEN (next_action_at IS NULL)
    ELSE ((next_action_at IS NULL) = (expires_at IS NULL))
END),
    CONSTRAINT api_keys_kind_check CHECK ((kind = ANY (ARRAY['key'::text, 'seat'::text]))),
    CONSTRAINT api_keys_limits_check CHECK ((jsonb_typeof(limits) = 'object'::text)),
    CONSTRAINT api_keys_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT api_keys_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
    CONSTRAINT api_keys_public_id_check CHECK ((public_id ~ '^[0-9A-HJKMNP-TV-Z]{12}$'::text)),
    CONSTRAINT api_keys_revocation_has_a_reason CHECK (((revoked_at IS NULL) = (revoked_reason IS NULL))),
    CONSTRAINT api_keys_revoked_reason_check CHECK ((revoked_reason = ANY (ARRAY['revoked'::text, 'rotated'::text, 'expired'::text, 'member_removed'::text]))),
    CONSTRAINT api_keys_seats_are_plain CHECK (((kind = 'key'::text) OR ((expires_at IS NULL) AND (rotated_from IS NULL) AND (scopes = '{}'::text[]) AND (allowed_ips = '{}'::cidr[]) AND (limits = '{}'::jsonb) AND ((revoked_reason IS NULL) OR (revoked_reason = 'member_removed'::text))))),
    CONSTRAINT api_keys_secret_sha256_check CHECK ((octet_length(secret_sha256) = 32))
);

COMMENT ON TABLE public.api_keys IS 'Credentials of programs. A key belongs to one user and one organisation and works in one mode.';

COMMENT ON COLUMN public.api_keys.public_id IS 'The part of the key that may be shown and logged. Look-ups use it.';

COMMENT ON COLUMN public.api_keys.secret_sha256 IS 'SHA-256 of the 190-bit random secret. The secret itself is shown once and stored nowhere.';

COMMENT ON COLUMN public.api_keys.scopes IS 'The greatest scopes of this key; the effective ones are the intersection with the scopes of its user''s current role.';

COMMENT ON COLUMN public.api_keys.limits IS 'Spending, rate, model, region and GPU limits in the contract''s format; {} means none.';

COMMENT ON COLUMN public.api_keys.allowed_ips IS 'Networks from which the key is accepted; empty means any.';

COMMENT ON COLUMN public.api_keys.expires_at IS 'The key is refused from this time on, even before the expiry is recorded as a revocation.';

COMMENT ON COLUMN public.api_keys.rotated_from IS 'The key this one replaces. A key is replaced at most once.';

COMMENT ON COLUMN public.api_keys.last_used_at IS 'Accurate to about a minute; updated after the request.';

COMMENT ON COLUMN public.api_keys.next_action_at IS 'When the expiry must be recorded and announced. Set if and only if an unrevoked key expires, so that a sweep can recover a timer that the workflow engine lost.';

COMMENT ON COLUMN public.api_keys.kind IS 'seat: not a real key, but the identity of a signed-in member; one per organisation, member and mode. Its secret is unknown, and no operation lists, counts, rotates or revokes it.';

CREATE TABLE public.audit_log (
    id uuid NOT NULL,
    org_id uuid,
    mode text NOT NULL,
    actor_kind text NOT NULL,
    actor_id text NOT NULL,
    action text NOT NULL,
    resource_kind text NOT NULL,
    resource_id text NOT NULL,
    before jsonb,
    after jsonb,
    reason text,
    request_id text,
    ip inet,
    occurred_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT audit_log_action_check CHECK ((action ~ '^[a-z_]+(\.[a-z_]+)+$'::text)),
    CONSTRAINT audit_log_actor_kind_check CHECK ((actor_kind = ANY (ARRAY['key'::text, 'user'::text, 'operator'::text, 'system'::text]))),
    CONSTRAINT audit_log_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT audit_log_reason_check CHECK ((length(reason) <= 500))
);

COMMENT ON TABLE public.audit_log IS 'Every change, with its actor and origin. Written in the transaction of the change; never updated or deleted.';

COMMENT ON COLUMN public.audit_log.org_id IS 'The organisation concerned; null for changes of the installation itself.';

COMMENT ON COLUMN public.audit_log.actor_id IS 'Text form of the actor''s id, or the name of a system component.';

COMMENT ON COLUMN public.audit_log.before IS 'The changed fields before the change. Contains no secrets.';

COMMENT ON COLUMN public.audit_log.after IS 'The changed fields after the change. Contains no secrets.';

COMMENT ON COLUMN public.audit_log.reason IS 'The reason given by the actor, where the operation requires one.';

CREATE TABLE public.audit_marks (
    account_id uuid NOT NULL,
    entry_count bigint NOT NULL,
    balance_nano_usd bigint NOT NULL,
    CONSTRAINT audit_marks_entry_count_check CHECK ((entry_count >= 0))
)
WITH (fillfactor='70');

COMMENT ON TABLE public.audit_marks IS 'The state of each account in the newest clean audit, written in that audit''s snapshot.';

CREATE TABLE public.audit_runs (
    id uuid NOT NULL,
    kind text NOT NULL,
    snapshot_at timestamp with time zone NOT NULL,
    since timestamp with time zone,
    duration_ms bigint NOT NULL,
    is_clean boolean NOT NULL,
    errors bigint NOT NULL,
    notices bigint NOT NULL,
    looked_at jsonb NOT NULL,
    findings jsonb NOT NULL,
    CONSTRAINT audit_runs_clean_has_no_errors CHECK ((is_clean = (errors = 0))),
    CONSTRAINT audit_runs_duration_ms_check CHECK ((duration_ms >= 0)),
    CONSTRAINT audit_runs_errors_check CHECK ((errors >= 0)),
    CONSTRAINT audit_runs_findings_check CHECK ((jsonb_typeof(findings) = 'array'::text)),
    CONSTRAINT audit_runs_kind_check CHECK ((kind = ANY (ARRAY['full'::text, 'incremental'::text]))),
    CONSTRAINT audit_runs_looked_at_check CHECK ((jsonb_typeof(looked_at) = 'object'::text)),
    CONSTRAINT audit_runs_notices_check CHECK ((notices >= 0)),
    CONSTRAINT audit_runs_only_incremental_has_a_start CHECK (((since IS NOT NULL) = (kind = 'incremental'::text)))
);

COMMENT ON TABLE public.audit_runs IS 'Completed audits with their scope and findings. An incremental audit continues from the newest clean one.';

COMMENT ON COLUMN public.audit_runs.snapshot_at IS 'By the database''s clock: the audit read everything committed before this time.';

COMMENT ON COLUMN public.audit_runs.since IS 'Incremental audits only: the time of the clean audit that this one continues.';

COMMENT ON COLUMN public.audit_runs.looked_at IS 'The number of rows that each check read.';

COMMENT ON COLUMN public.audit_runs.findings IS 'The first findings of each check, errors and notices, as reported.';

CREATE TABLE public.book_changes (
    id bigint NOT NULL,
    kind text NOT NULL,
    ref text NOT NULL,
    changed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT book_changes_kind_check CHECK ((kind = ANY (ARRAY['key'::text, 'organisation'::text, 'model'::text])))
);

COMMENT ON TABLE public.book_changes IS 'Entries of the key feed that must be published again. Triggers insert rows; the publisher reads a row first, then the entry, and deletes the row after publishing.';

COMMENT ON COLUMN public.book_changes.ref IS 'The public id of a key, the id of an organisation, or the name of a model.';

ALTER TABLE public.book_changes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.book_changes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.budgets (
    id uuid NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    name text NOT NULL,
    key_ids uuid[],
    period text NOT NULL,
    limit_nano_usd bigint NOT NULL,
    period_start timestamp with time zone NOT NULL,
    period_end timestamp with time zone,
    thresholds_percent smallint[] NOT NULL,
    notified_percent smallint DEFAULT 0 NOT NULL,
    on_exceeded text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    deleted_at timestamp with time zone,
    is_key_limit boolean DEFAULT false NOT NULL,
    CONSTRAINT budgets_key_ids_check CHECK ((cardinality(key_ids) > 0)),
    CONSTRAINT budgets_limit_nano_usd_check CHECK ((limit_nano_usd > 0)),
    CONSTRAINT budgets_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT budgets_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
    CONSTRAINT budgets_notified_percent_check CHECK (((notified_percent >= 0) AND (notified_percent <= 100))),
    CONSTRAINT budgets_on_exceeded_check CHECK ((on_exceeded = ANY (ARRAY['notify'::text, 'stop_new_work'::text, 'stop_everything'::text]))),
    CONSTRAINT budgets_period_check CHECK ((period = ANY (ARRAY['hour'::text, 'day'::text, 'week'::text, 'month'::text, 'total'::text]))),
    CONSTRAINT budgets_period_in_order CHECK ((period_end > period_start)),
    CONSTRAINT budgets_total_has_no_end CHECK (((period_end IS NULL) = (period = 'total'::text)))
)
WITH (fillfactor='80');

COMMENT ON TABLE public.budgets IS 'Spending limits per period. The limit account with the same id has the remaining amount.';

COMMENT ON COLUMN public.budgets.key_ids IS 'The API keys that count against the budget, with the keys that replaced them; null: the whole organisation.';

COMMENT ON COLUMN public.budgets.period_start IS 'Start of the period that the limit account counts. The first posting or hold after the period''s end advances it.';

COMMENT ON COLUMN public.budgets.notified_percent IS 'The highest threshold announced in this period.';

COMMENT ON COLUMN public.budgets.on_exceeded IS 'notify: only sends notices. stop_new_work: refuses new holds. stop_everything: also refuses to extend running work.';

COMMENT ON COLUMN public.budgets.is_key_limit IS 'Created from limits.budget of an API key. Cannot be changed or deleted while one of its keys is in use.';

CREATE TABLE public.cluster_comparisons (
    cluster_id uuid NOT NULL,
    turn bigint DEFAULT 0 NOT NULL,
    holder text,
    held_until timestamp with time zone,
    looked_at timestamp with time zone,
    watching_since timestamp with time zone,
    whole_at timestamp with time zone,
    problem text,
    reap_allowed_until timestamp with time zone,
    CONSTRAINT cluster_comparisons_held_whole CHECK (((holder IS NULL) = (held_until IS NULL))),
    CONSTRAINT cluster_comparisons_holder_check CHECK (((length(holder) >= 1) AND (length(holder) <= 255))),
    CONSTRAINT cluster_comparisons_problem_check CHECK (((length(problem) >= 1) AND (length(problem) <= 1000))),
    CONSTRAINT cluster_comparisons_turn_check CHECK ((turn >= 0)),
    CONSTRAINT cluster_comparisons_watched_whole CHECK (((looked_at IS NULL) = (watching_since IS NULL)))
)
WITH (fillfactor='50');

COMMENT ON TABLE public.cluster_comparisons IS 'State of the inventory comparison of each cluster: its worker, its last start and its last complete success.';

COMMENT ON COLUMN public.cluster_comparisons.turn IS 'Fencing token: grows with each comparison. Results of an older comparison are discarded.';

COMMENT ON COLUMN public.cluster_comparisons.looked_at IS 'Start of the newest comparison, whether or not the engine responded.';

COMMENT ON COLUMN public.cluster_comparisons.watching_since IS 'Start of the present series of comparisons without a gap. An engine counts as silent from here at the earliest.';

COMMENT ON COLUMN public.cluster_comparisons.whole_at IS 'Start of the newest comparison that the engine answered and whose findings are all stored: the last healthy time of every machine of the cluster without a fault.';

COMMENT ON COLUMN public.cluster_comparisons.problem IS 'Why the newest comparison was incomplete; null if it was complete.';

COMMENT ON COLUMN public.cluster_comparisons.reap_allowed_until IS 'Until when an operator allows the removal of more orphans than the automatic limit.';

CREATE TABLE public.cluster_observers (
    holder text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT cluster_observers_holder_check CHECK (((length(holder) >= 1) AND (length(holder) <= 200)))
);

COMMENT ON TABLE public.cluster_observers IS 'The processes that observe clusters, so that they can divide the clusters among themselves.';

CREATE TABLE public.clusters (
    id uuid NOT NULL,
    name text NOT NULL,
    provider_id text NOT NULL,
    region text NOT NULL,
    driver text NOT NULL,
    endpoint text NOT NULL,
    credential_ref text,
    settings jsonb DEFAULT '{}'::jsonb NOT NULL,
    offer text NOT NULL,
    connection_type text NOT NULL,
    supplier_org_id uuid,
    port_first integer DEFAULT 20000 NOT NULL,
    port_last integer DEFAULT 29999 NOT NULL,
    origin text NOT NULL,
    configured boolean DEFAULT true NOT NULL,
    status text NOT NULL,
    status_reason text,
    status_since timestamp with time zone NOT NULL,
    engine text,
    last_seen_at timestamp with time zone,
    observer text,
    observer_until timestamp with time zone,
    watching_since timestamp with time zone,
    beat_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    removed_at timestamp with time zone,
    CONSTRAINT clusters_connection_type_check CHECK ((connection_type = ANY (ARRAY['ethernet'::text, 'infiniband'::text]))),
    CONSTRAINT clusters_credential_ref_check CHECK (((length(credential_ref) >= 1) AND (length(credential_ref) <= 255))),
    CONSTRAINT clusters_driver_check CHECK ((driver = ANY (ARRAY['incus'::text, 'ironic'::text, 'mock'::text]))),
    CONSTRAINT clusters_endpoint_check CHECK (((length(endpoint) >= 1) AND (length(endpoint) <= 2048))),
    CONSTRAINT clusters_name_check CHECK ((name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'::text)),
    CONSTRAINT clusters_observed_by_somebody CHECK (((observer IS NULL) = (observer_until IS NULL))),
    CONSTRAINT clusters_offer_check CHECK ((offer = ANY (ARRAY['virtual-machine'::text, 'bare-metal'::text, 'marketplace'::text]))),
    CONSTRAINT clusters_origin_check CHECK ((origin = ANY (ARRAY['configuration'::text, 'operator'::text, 'supplier'::text]))),
    CONSTRAINT clusters_ports_in_range CHECK ((((port_first >= 1024) AND (port_first <= port_last)) AND (port_last <= 65535))),
    CONSTRAINT clusters_removed_when_removed CHECK (((status = 'removed'::text) = (removed_at IS NOT NULL))),
    CONSTRAINT clusters_settings_check CHECK ((jsonb_typeof(settings) = 'object'::text)),
    CONSTRAINT clusters_status_check CHECK ((status = ANY (ARRAY['connecting'::text, 'connected'::text, 'silent'::text, 'removed'::text])))
)
WITH (fillfactor='70');

COMMENT ON TABLE public.clusters IS 'One endpoint of one engine.';

COMMENT ON COLUMN public.clusters.credential_ref IS 'The name of a configured secret, never the secret itself.';

COMMENT ON COLUMN public.clusters.settings IS 'Further settings of the driver.';

COMMENT ON COLUMN public.clusters.offer IS 'The product as which its nodes are sold.';

COMMENT ON COLUMN public.clusters.connection_type IS 'Network connection of its nodes, unless the engine reports another one for a node.';

COMMENT ON COLUMN public.clusters.port_first IS 'With port_last: the range of ports of a node''s address that machines can use.';

COMMENT ON COLUMN public.clusters.configured IS 'False after the configuration stopped naming the cluster: it sells nothing and is still observed.';

COMMENT ON COLUMN public.clusters.last_seen_at IS 'When its engine last answered a full read.';

COMMENT ON COLUMN public.clusters.observer IS 'The process that observes the cluster; its claim ends at observer_until unless renewed.';

COMMENT ON COLUMN public.clusters.watching_since IS 'Start of the present observation without a gap. An engine counts as silent from here at the earliest.';

COMMENT ON COLUMN public.clusters.beat_at IS 'When the observer last read the engine, whether or not the engine responded.';

CREATE TABLE public.demo_mark (
    is_only boolean DEFAULT true NOT NULL,
    marked_at timestamp with time zone NOT NULL,
    CONSTRAINT demo_mark_is_only_check CHECK (is_only)
);

COMMENT ON TABLE public.demo_mark IS 'One row if this database belongs to a demo, which sells mock machines for play money. The row is permanent.';

COMMENT ON COLUMN public.demo_mark.marked_at IS 'When a process with MILLRACE_DEMO first used this database.';

CREATE TABLE public.device_codes (
    id uuid NOT NULL,
    device_code text NOT NULL,
    user_code text NOT NULL,
    user_id uuid,
    expires_at timestamp with time zone NOT NULL,
    status text NOT NULL,
    last_polled_at timestamp with time zone,
    polling_interval integer,
    client_id text,
    scope text,
    requested_ip text,
    requested_agent text,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT device_codes_device_code_check CHECK ((device_code ~ '^[0-9a-f]{64}$'::text)),
    CONSTRAINT device_codes_requested_agent_check CHECK ((length(requested_agent) <= 300)),
    CONSTRAINT device_codes_requested_ip_check CHECK ((length(requested_ip) <= 64)),
    CONSTRAINT device_codes_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'approved'::text, 'denied'::text])))
);

COMMENT ON TABLE public.device_codes IS 'Programs, such as a terminal, that wait for a person to sign them in. A row is deleted when its sign-in is claimed.';

COMMENT ON COLUMN public.device_codes.device_code IS 'SHA-256 of the program''s code, in hex.';

COMMENT ON COLUMN public.device_codes.requested_ip IS 'The address of the program, shown to the person who approves.';

COMMENT ON COLUMN public.device_codes.requested_agent IS 'The program''s description of itself.';

CREATE TABLE public.entitlements (
    id uuid NOT NULL,
    org_id uuid NOT NULL,
    mode text DEFAULT 'live'::text NOT NULL,
    max_discount_ppm integer NOT NULL,
    gpu_type text,
    contract_reference text,
    valid_from timestamp with time zone NOT NULL,
    valid_until timestamp with time zone,
    revoked_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT entitlements_contract_reference_check CHECK ((length(contract_reference) <= 100)),
    CONSTRAINT entitlements_end_after_they_begin CHECK ((valid_until > valid_from)),
    CONSTRAINT entitlements_gpu_type_check CHECK (((length(gpu_type) >= 1) AND (length(gpu_type) <= 64))),
    CONSTRAINT entitlements_max_discount_ppm_check CHECK (((max_discount_ppm >= 0) AND (max_discount_ppm <= 1000000))),
    CONSTRAINT entitlements_mode_check CHECK ((mode = 'live'::text))
);

COMMENT ON TABLE public.entitlements IS 'The discounts that an organisation may claim. A claim above the greatest matching discount is refused.';

COMMENT ON COLUMN public.entitlements.mode IS 'Always live: test mode is free and needs no discount.';

COMMENT ON COLUMN public.entitlements.max_discount_ppm IS 'In parts per million: 10000 is one percent.';

COMMENT ON COLUMN public.entitlements.gpu_type IS 'Null: every GPU type.';

COMMENT ON COLUMN public.entitlements.revoked_at IS 'Withdrawn by the operator. Existing sales keep their frozen price.';

CREATE TABLE public.event_heads (
    org_id uuid NOT NULL,
    last_seq bigint NOT NULL,
    first_seq bigint DEFAULT 1 NOT NULL,
    CONSTRAINT event_heads_first_seq_check CHECK ((first_seq >= 1)),
    CONSTRAINT event_heads_in_order CHECK ((first_seq <= (last_seq + 1))),
    CONSTRAINT event_heads_last_seq_check CHECK ((last_seq >= 0))
)
WITH (fillfactor='70');

COMMENT ON TABLE public.event_heads IS 'One row per organisation with events. Its row lock serialises the writers of the feed.';

COMMENT ON COLUMN public.event_heads.org_id IS 'No foreign key: the transaction that wrote the event has checked the organisation.';

COMMENT ON COLUMN public.event_heads.last_seq IS 'Number of the newest event. Updated by the statement that stores the events, so it never exceeds them.';

COMMENT ON COLUMN public.event_heads.first_seq IS 'Number of the oldest stored event. A reader with an older cursor gets an error instead of a silent gap.';

CREATE TABLE public.events (
    org_id uuid NOT NULL,
    seq bigint NOT NULL,
    id uuid NOT NULL,
    type text NOT NULL,
    resource_kind text NOT NULL,
    resource_id text NOT NULL,
    mode text NOT NULL,
    cell smallint NOT NULL,
    shard smallint NOT NULL,
    actor jsonb NOT NULL,
    traceparent text,
    schema_version integer NOT NULL,
    api_version text NOT NULL,
    occurred_at timestamp with time zone NOT NULL,
    recorded_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    published_at timestamp with time zone,
    data jsonb NOT NULL,
    CONSTRAINT events_actor_check CHECK ((actor ?& ARRAY['kind'::text, 'id'::text])),
    CONSTRAINT events_api_version_check CHECK ((api_version ~ '^[0-9]+\.[0-9]+\.[0-9]+$'::text)),
    CONSTRAINT events_cell_check CHECK (((cell >= 0) AND (cell <= 1023))),
    CONSTRAINT events_data_is_a_bounded_object CHECK (((jsonb_typeof(data) = 'object'::text) AND (octet_length((data)::text) <= 262144))),
    CONSTRAINT events_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT events_resource_id_check CHECK (((length(resource_id) >= 1) AND (length(resource_id) <= 100))),
    CONSTRAINT events_resource_kind_check CHECK (((length(resource_kind) >= 1) AND (length(resource_kind) <= 50))),
    CONSTRAINT events_schema_version_check CHECK ((schema_version > 0)),
    CONSTRAINT events_seq_check CHECK ((seq >= 1)),
    CONSTRAINT events_shard_check CHECK (((shard >= 0) AND (shard <= 63))),
    CONSTRAINT events_traceparent_check CHECK ((length(traceparent) = 55)),
    CONSTRAINT events_type_check CHECK (((type ~ '^[a-z][a-z_]*(\.[a-z][a-z_]*)+$'::text) AND (length(type) <= 100)))
)
WITH (fillfactor='85');

COMMENT ON TABLE public.events IS 'The event feed of every organisation, in order. Only the relay inserts rows; updates record publication only; only retention deletes rows.';

COMMENT ON COLUMN public.events.seq IS 'Numbers from 1 within the organisation, without gaps. Assigned after the cause has committed, by the relay that holds the shard.';

COMMENT ON COLUMN public.events.id IS 'The id of the outbox row, so that an event is stored once; JetStream discards duplicates by it.';

COMMENT ON COLUMN public.events.mode IS 'live or test. Test keys read test events only.';

COMMENT ON COLUMN public.events.shard IS 'As in the outbox, so that a relay finds its unpublished events.';

COMMENT ON COLUMN public.events.api_version IS 'The API version of the data''s format.';

COMMENT ON COLUMN public.events.occurred_at IS 'Time of the cause, by the clock of the process that wrote it.';

COMMENT ON COLUMN public.events.recorded_at IS 'When the event got its number, by the database''s clock. Retention uses this time.';

COMMENT ON COLUMN public.events.published_at IS 'When JetStream acknowledged the event; null: not yet published.';

COMMENT ON COLUMN public.events.data IS 'The event''s data, at most 256 KiB, well below the NATS message limit. Contains no secrets.';

CREATE TABLE public.fabrics (
    id uuid NOT NULL,
    cluster_id uuid NOT NULL,
    name text NOT NULL,
    CONSTRAINT fabrics_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100)))
);

COMMENT ON TABLE public.fabrics IS 'Groups of nodes on one fast network, which can be rented together.';

CREATE TABLE public.gpus (
    id uuid NOT NULL,
    node_id uuid NOT NULL,
    pci_address text NOT NULL,
    device_uuid text,
    model text NOT NULL,
    gpu_type text,
    ram_mb integer,
    numa_node smallint,
    state text NOT NULL,
    state_reason text,
    first_seen_at timestamp with time zone NOT NULL,
    CONSTRAINT gpus_device_uuid_check CHECK (((length(device_uuid) >= 1) AND (length(device_uuid) <= 100))),
    CONSTRAINT gpus_gpu_type_check CHECK ((gpu_type = ANY (ARRAY['h100'::text, 'h200'::text, 'b200'::text]))),
    CONSTRAINT gpus_model_check CHECK (((length(model) >= 1) AND (length(model) <= 200))),
    CONSTRAINT gpus_pci_address_check CHECK (((length(pci_address) >= 1) AND (length(pci_address) <= 32))),
    CONSTRAINT gpus_ram_mb_check CHECK ((ram_mb >= 0)),
    CONSTRAINT gpus_state_check CHECK ((state = ANY (ARRAY['present'::text, 'missing'::text, 'faulty'::text, 'replaced'::text])))
);

COMMENT ON TABLE public.gpus IS 'Devices that can be sold, one row each.';

COMMENT ON COLUMN public.gpus.device_uuid IS 'The manufacturer''s id of the device. A different id at the same address is a different GPU: the old row becomes replaced.';

COMMENT ON COLUMN public.gpus.gpu_type IS 'The type as which the GPU is sold; null: a model that rentals do not offer.';

COMMENT ON COLUMN public.gpus.state IS 'Only present GPUs are sold. missing: the engine does not list it. faulty: withdrawn by an operator or a failed check.';

CREATE TABLE public.id_blocks (
    kind text NOT NULL,
    block smallint NOT NULL,
    cell smallint NOT NULL,
    next_id bigint NOT NULL,
    dealt_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT id_blocks_block_check CHECK (((block >= 0) AND (block <= 2047))),
    CONSTRAINT id_blocks_cell_check CHECK (((cell >= 0) AND (cell <= 63))),
    CONSTRAINT id_blocks_dealt_by_rule CHECK ((((block)::integer % 64) = cell)),
    CONSTRAINT id_blocks_kind_check CHECK ((kind = ANY (ARRAY['rental'::text, 'volume'::text]))),
    CONSTRAINT id_blocks_within_block CHECK (((next_id >= GREATEST((1)::bigint, ((block)::bigint * 1048576))) AND (next_id <= (((block)::bigint + 1) * 1048576))))
);

COMMENT ON TABLE public.id_blocks IS 'Blocks of 1048576 32-bit wire ids assigned to this cell. Block n always belongs to cell n mod 64, so cells need no coordination.';

COMMENT ON COLUMN public.id_blocks.kind IS 'Rentals and volumes have separate ids.';

COMMENT ON COLUMN public.id_blocks.block IS 'The block holds the ids from block * 1048576 up to the next block; id 0 is never assigned.';

COMMENT ON COLUMN public.id_blocks.next_id IS 'The first id of the block that no process has. Equal to the start of the next block when this one is used up.';

CREATE TABLE public.idempotency_keys (
    org_id uuid NOT NULL,
    key text NOT NULL,
    operation_row_id uuid NOT NULL,
    operation_id text NOT NULL,
    request_hash bytea NOT NULL,
    mode text NOT NULL,
    actor jsonb NOT NULL,
    status integer,
    body jsonb,
    resource_kind text,
    resource_id text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT idempotency_keys_actor_check CHECK ((actor ?& ARRAY['kind'::text, 'id'::text])),
    CONSTRAINT idempotency_keys_expires_after_creation CHECK ((expires_at > created_at)),
    CONSTRAINT idempotency_keys_key_check CHECK (((length(key) >= 1) AND (length(key) <= 255))),
    CONSTRAINT idempotency_keys_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT idempotency_keys_operation_id_check CHECK (((length(operation_id) >= 1) AND (length(operation_id) <= 100))),
    CONSTRAINT idempotency_keys_request_hash_check CHECK ((length(request_hash) = 32)),
    CONSTRAINT idempotency_keys_resource_id_check CHECK (((length(resource_id) >= 1) AND (length(resource_id) <= 100))),
    CONSTRAINT idempotency_keys_resource_kind_check CHECK (((length(resource_kind) >= 1) AND (length(resource_kind) <= 50))),
    CONSTRAINT idempotency_keys_status_check CHECK (((status >= 200) AND (status <= 299)))
);

COMMENT ON TABLE public.idempotency_keys IS 'One row per effect made under an Idempotency-Key, in the transaction of the effect. Refused requests leave no row.';

COMMENT ON COLUMN public.idempotency_keys.key IS 'As the caller sent it; unique within the organisation.';

COMMENT ON COLUMN public.idempotency_keys.operation_row_id IS 'The public id (op_…) of this operation.';

COMMENT ON COLUMN public.idempotency_keys.operation_id IS 'The operation of the contract.';

COMMENT ON COLUMN public.idempotency_keys.request_hash IS 'SHA-256 over operation, path and canonical body: the same key with another request is refused.';

COMMENT ON COLUMN public.idempotency_keys.status IS 'HTTP status of the response. Null only inside the transaction that makes the effect.';

COMMENT ON COLUMN public.idempotency_keys.body IS 'The response to replay, without secrets that are shown once.';

COMMENT ON COLUMN public.idempotency_keys.resource_kind IS 'The kind of resource that the operation created or changed.';

COMMENT ON COLUMN public.idempotency_keys.resource_id IS 'The public id of the resource that the operation created or changed.';

COMMENT ON COLUMN public.idempotency_keys.expires_at IS 'From this time on the row may be deleted and the key reused.';

CREATE TABLE public.inference_checkpoints (
    request_id uuid NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    lease_id uuid NOT NULL,
    gateway_id text NOT NULL,
    amount_nano_usd bigint NOT NULL,
    event jsonb NOT NULL,
    recorded_at timestamp with time zone NOT NULL,
    CONSTRAINT inference_checkpoints_amount_nano_usd_check CHECK ((amount_nano_usd >= 0)),
    CONSTRAINT inference_checkpoints_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))
)
WITH (fillfactor='70');

COMMENT ON TABLE public.inference_checkpoints IS 'Progress of running requests, as last reported by their gateway. Deleted by the final event; charged only if the gateway dies.';

COMMENT ON COLUMN public.inference_checkpoints.event IS 'The newest checkpoint as the gateway reported it.';

CREATE TABLE public.inference_deployments (
    id uuid NOT NULL,
    model text NOT NULL,
    engine text NOT NULL,
    address text NOT NULL,
    upstream_model text NOT NULL,
    sealed_api_key text,
    region text NOT NULL,
    weight integer NOT NULL,
    max_concurrency integer,
    enabled boolean NOT NULL,
    health text DEFAULT 'unknown'::text NOT NULL,
    health_since timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT inference_deployments_address_check CHECK (((length(address) >= 1) AND (length(address) <= 2048))),
    CONSTRAINT inference_deployments_engine_check CHECK ((engine = ANY (ARRAY['vllm'::text, 'sglang'::text, 'llama.cpp'::text, 'openai'::text, 'openai-images'::text, 'automatic1111'::text, 'comfyui'::text, 'speech'::text, 'mock'::text]))),
    CONSTRAINT inference_deployments_health_check CHECK ((health = ANY (ARRAY['unknown'::text, 'healthy'::text, 'degraded'::text, 'down'::text]))),
    CONSTRAINT inference_deployments_max_concurrency_check CHECK (((max_concurrency >= 1) AND (max_concurrency <= 100000))),
    CONSTRAINT inference_deployments_region_check CHECK (((length(region) >= 1) AND (length(region) <= 64))),
    CONSTRAINT inference_deployments_sealed_api_key_check CHECK ((length(sealed_api_key) <= 8192)),
    CONSTRAINT inference_deployments_upstream_model_check CHECK (((length(upstream_model) >= 1) AND (length(upstream_model) <= 200))),
    CONSTRAINT inference_deployments_weight_check CHECK (((weight >= 0) AND (weight <= 1000)))
);

COMMENT ON TABLE public.inference_deployments IS 'Engines that serve a model. Gateways stop routing to a deleted deployment within a second.';

COMMENT ON COLUMN public.inference_deployments.upstream_model IS 'The engine''s name of the model.';

COMMENT ON COLUMN public.inference_deployments.sealed_api_key IS 'The bearer token for the engine, encrypted with the operator''s key; null if the engine needs none.';

COMMENT ON COLUMN public.inference_deployments.weight IS 'Share among the deployments of the model; 0 receives only requests that the others cannot take.';

COMMENT ON COLUMN public.inference_deployments.health IS 'Result of a worker''s probes, for operators. Gateways use their own measurements.';

CREATE TABLE public.inference_model_names (
    name text NOT NULL,
    model text NOT NULL,
    CONSTRAINT inference_model_names_name_check CHECK ((name ~ '^[A-Za-z0-9][A-Za-z0-9._/:-]{0,199}$'::text))
);

COMMENT ON TABLE public.inference_model_names IS 'Every name and alias of a model, in one table, so that a name identifies one model.';

CREATE TABLE public.inference_models (
    name text NOT NULL,
    mode text NOT NULL,
    modality text NOT NULL,
    input_modalities text[] NOT NULL,
    context_length integer,
    max_output_tokens integer,
    owned_by text NOT NULL,
    enabled boolean NOT NULL,
    visible_to uuid[],
    fallbacks text[] DEFAULT '{}'::text[] NOT NULL,
    requests_per_minute integer,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT inference_models_context_length_check CHECK ((context_length > 0)),
    CONSTRAINT inference_models_fallbacks_check CHECK ((cardinality(fallbacks) <= 8)),
    CONSTRAINT inference_models_input_modalities_check CHECK ((((cardinality(input_modalities) >= 1) AND (cardinality(input_modalities) <= 3)) AND (input_modalities <@ ARRAY['text'::text, 'image'::text, 'audio'::text]))),
    CONSTRAINT inference_models_max_output_tokens_check CHECK ((max_output_tokens > 0)),
    CONSTRAINT inference_models_modality_check CHECK ((modality = ANY (ARRAY['chat'::text, 'completion'::text, 'image'::text, 'audio'::text]))),
    CONSTRAINT inference_models_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT inference_models_name_check CHECK ((name ~ '^[A-Za-z0-9][A-Za-z0-9._/:-]{0,199}$'::text)),
    CONSTRAINT inference_models_owned_by_check CHECK (((length(owned_by) >= 1) AND (length(owned_by) <= 100))),
    CONSTRAINT inference_models_requests_per_minute_check CHECK ((requests_per_minute > 0)),
    CONSTRAINT inference_models_visible_to_check CHECK (((cardinality(visible_to) >= 1) AND (cardinality(visible_to) <= 1000)))
);

COMMENT ON TABLE public.inference_models IS 'Models on offer. Never deleted, because requests and prices refer to them. A disabled model does not exist for tenants.';

COMMENT ON COLUMN public.inference_models.mode IS 'live: sold, and mocked for test keys. test: for test keys only.';

COMMENT ON COLUMN public.inference_models.max_output_tokens IS 'Output limit for requests that set none; null: the rest of the context.';

COMMENT ON COLUMN public.inference_models.visible_to IS 'The organisations that can see the model; null: all.';

COMMENT ON COLUMN public.inference_models.fallbacks IS 'Models to use instead, in this order, if no deployment is available. Fallbacks of fallbacks are not used.';

COMMENT ON COLUMN public.inference_models.requests_per_minute IS 'Limit per organisation; null: no limit for this model.';

CREATE TABLE public.inference_requests (
    id uuid NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    key_id uuid NOT NULL,
    lease_id uuid,
    gateway_id text NOT NULL,
    model text NOT NULL,
    deployment text,
    created_at timestamp with time zone NOT NULL,
    streamed boolean NOT NULL,
    cancelled boolean NOT NULL,
    finish_reason text,
    latency_ms bigint NOT NULL,
    ttft_ms bigint,
    generation_ms bigint,
    tokens_prompt bigint NOT NULL,
    tokens_cached bigint NOT NULL,
    tokens_completion bigint NOT NULL,
    image_pixel_steps bigint NOT NULL,
    characters bigint NOT NULL,
    reserved_nano_usd bigint NOT NULL,
    priced_nano_usd bigint NOT NULL,
    cost_nano_usd bigint NOT NULL,
    price_ids uuid[] NOT NULL,
    attempts jsonb NOT NULL,
    source text NOT NULL,
    outcome text NOT NULL,
    transfer_id uuid,
    recorded_at timestamp with time zone NOT NULL,
    late_nano_usd bigint,
    late_at timestamp with time zone,
    CONSTRAINT inference_requests_characters_check CHECK ((characters >= 0)),
    CONSTRAINT inference_requests_cost_nano_usd_check CHECK ((cost_nano_usd >= 0)),
    CONSTRAINT inference_requests_cost_within_reservation CHECK ((cost_nano_usd <= reserved_nano_usd)),
    CONSTRAINT inference_requests_generation_ms_check CHECK ((generation_ms >= 0)),
    CONSTRAINT inference_requests_image_pixel_steps_check CHECK ((image_pixel_steps >= 0)),
    CONSTRAINT inference_requests_late_has_its_time CHECK (((late_nano_usd IS NULL) = (late_at IS NULL))),
    CONSTRAINT inference_requests_late_nano_usd_check CHECK ((late_nano_usd >= 0)),
    CONSTRAINT inference_requests_latency_ms_check CHECK ((latency_ms >= 0)),
    CONSTRAINT inference_requests_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT inference_requests_only_charged_cost CHECK (((outcome = 'charged'::text) OR ((cost_nano_usd = 0) AND (transfer_id IS NULL)))),
    CONSTRAINT inference_requests_outcome_check CHECK ((outcome = ANY (ARRAY['charged'::text, 'late'::text, 'unknown_lease'::text, 'overpriced'::text, 'free'::text]))),
    CONSTRAINT inference_requests_priced_nano_usd_check CHECK ((priced_nano_usd >= 0)),
    CONSTRAINT inference_requests_reserved_nano_usd_check CHECK ((reserved_nano_usd >= 0)),
    CONSTRAINT inference_requests_source_check CHECK ((source = ANY (ARRAY['final'::text, 'checkpoint'::text]))),
    CONSTRAINT inference_requests_tokens_cached_check CHECK ((tokens_cached >= 0)),
    CONSTRAINT inference_requests_tokens_completion_check CHECK ((tokens_completion >= 0)),
    CONSTRAINT inference_requests_tokens_prompt_check CHECK ((tokens_prompt >= 0)),
    CONSTRAINT inference_requests_ttft_ms_check CHECK ((ttft_ms >= 0))
)
PARTITION BY RANGE (id);

COMMENT ON TABLE public.inference_requests IS 'One row per admitted inference request, written once by the sink. Contains no text of prompts or completions. Partitioned by the day in its id; the worker creates partitions in advance.';

COMMENT ON COLUMN public.inference_requests.image_pixel_steps IS 'Width x height x steps, summed over all images.';

COMMENT ON COLUMN public.inference_requests.reserved_nano_usd IS 'The greatest possible cost, reserved before the request started.';

COMMENT ON COLUMN public.inference_requests.priced_nano_usd IS 'The measured usage at its prices. The operator absorbs the part above the cost.';

COMMENT ON COLUMN public.inference_requests.cost_nano_usd IS 'The charge to the organisation. Never above the reservation.';

COMMENT ON COLUMN public.inference_requests.price_ids IS 'The entries of the price list that were applied.';

COMMENT ON COLUMN public.inference_requests.source IS 'checkpoint: the gateway died, and its last checkpoint was charged as the final usage.';

COMMENT ON COLUMN public.inference_requests.outcome IS 'As in usage_charges; free: test mode is not charged.';

COMMENT ON COLUMN public.inference_requests.late_nano_usd IS 'Cost reported by a final event that arrived after a checkpoint had been charged: recorded, never charged.';

CREATE TABLE public.inference_requests_rest (
    id uuid NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    key_id uuid NOT NULL,
    lease_id uuid,
    gateway_id text NOT NULL,
    model text NOT NULL,
    deployment text,
    created_at timestamp with time zone NOT NULL,
    streamed boolean NOT NULL,
    cancelled boolean NOT NULL,
    finish_reason text,
    latency_ms bigint NOT NULL,
    ttft_ms bigint,
    generation_ms bigint,
    tokens_prompt bigint NOT NULL,
    tokens_cached bigint NOT NULL,
    tokens_completion bigint NOT NULL,
    image_pixel_steps bigint NOT NULL,
    characters bigint NOT NULL,
    reserved_nano_usd bigint NOT NULL,
    priced_nano_usd bigint NOT NULL,
    cost_nano_usd bigint NOT NULL,
    price_ids uuid[] NOT NULL,
    attempts jsonb NOT NULL,
    source text NOT NULL,
    outcome text NOT NULL,
    transfer_id uuid,
    recorded_at timestamp with time zone NOT NULL,
    late_nano_usd bigint,
    late_at timestamp with time zone,
    CONSTRAINT inference_requests_characters_check CHECK ((characters >= 0)),
    CONSTRAINT inference_requests_cost_nano_usd_check CHECK ((cost_nano_usd >= 0)),
    CONSTRAINT inference_requests_cost_within_reservation CHECK ((cost_nano_usd <= reserved_nano_usd)),
    CONSTRAINT inference_requests_generation_ms_check CHECK ((generation_ms >= 0)),
    CONSTRAINT inference_requests_image_pixel_steps_check CHECK ((image_pixel_steps >= 0)),
    CONSTRAINT inference_requests_late_has_its_time CHECK (((late_nano_usd IS NULL) = (late_at IS NULL))),
    CONSTRAINT inference_requests_late_nano_usd_check CHECK ((late_nano_usd >= 0)),
    CONSTRAINT inference_requests_latency_ms_check CHECK ((latency_ms >= 0)),
    CONSTRAINT inference_requests_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT inference_requests_only_charged_cost CHECK (((outcome = 'charged'::text) OR ((cost_nano_usd = 0) AND (transfer_id IS NULL)))),
    CONSTRAINT inference_requests_outcome_check CHECK ((outcome = ANY (ARRAY['charged'::text, 'late'::text, 'unknown_lease'::text, 'overpriced'::text, 'free'::text]))),
    CONSTRAINT inference_requests_priced_nano_usd_check CHECK ((priced_nano_usd >= 0)),
    CONSTRAINT inference_requests_reserved_nano_usd_check CHECK ((reserved_nano_usd >= 0)),
    CONSTRAINT inference_requests_source_check CHECK ((source = ANY (ARRAY['final'::text, 'checkpoint'::text]))),
    CONSTRAINT inference_requests_tokens_cached_check CHECK ((tokens_cached >= 0)),
    CONSTRAINT inference_requests_tokens_completion_check CHECK ((tokens_completion >= 0)),
    CONSTRAINT inference_requests_tokens_prompt_check CHECK ((tokens_prompt >= 0)),
    CONSTRAINT inference_requests_ttft_ms_check CHECK ((ttft_ms >= 0))
);

COMMENT ON TABLE public.inference_requests_rest IS 'Rows that arrived before the partition of their day existed. Creating the partition moves them.';

CREATE TABLE public.instances (
    rental_id uuid NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    name text NOT NULL,
    node_id uuid NOT NULL,
    cluster_name text NOT NULL,
    price_nano_usd_per_gpu_hour bigint NOT NULL,
    fee_ppm integer NOT NULL,
    record jsonb NOT NULL,
    CONSTRAINT instances_cluster_name_check CHECK (((length(cluster_name) >= 1) AND (length(cluster_name) <= 63))),
    CONSTRAINT instances_fee_ppm_check CHECK (((fee_ppm >= 0) AND (fee_ppm <= 1000000))),
    CONSTRAINT instances_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT instances_name_check CHECK (((name ~ '^[a-z0-9]+(-[a-z0-9]+){2,4}$'::text) AND (length(name) <= 63))),
    CONSTRAINT instances_price_nano_usd_per_gpu_hour_check CHECK ((price_nano_usd_per_gpu_hour >= 0)),
    CONSTRAINT instances_record_check CHECK ((jsonb_typeof(record) = 'object'::text))
);

COMMENT ON TABLE public.instances IS 'The fields that marketplace instances have beyond a rental: the name and the machine''s record at the time of renting. Append-only: the rental has the state.';

COMMENT ON COLUMN public.instances.record IS 'The machine''s marketplace record at the time of renting, without its instances.';

CREATE TABLE public.invitations (
    id uuid NOT NULL,
    org_id uuid NOT NULL,
    email text NOT NULL,
    role text NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    inviter_id uuid NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    notice_id uuid,
    answered_at timestamp with time zone,
    CONSTRAINT invitations_answer_is_dated CHECK (((status = 'pending'::text) = (answered_at IS NULL))),
    CONSTRAINT invitations_email_check CHECK ((email = lower(email))),
    CONSTRAINT invitations_email_is_short CHECK (((length(email) <= 255) AND (POSITION(('@'::text) IN (email)) > 1))),
    CONSTRAINT invitations_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'member'::text, 'billing'::text, 'viewer'::text]))),
    CONSTRAINT invitations_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'accepted'::text, 'rejected'::text, 'canceled'::text])))
);

COMMENT ON TABLE public.invitations IS 'Invitations by email to join an organisation.';

COMMENT ON COLUMN public.invitations.status IS 'An expired invitation stays pending; only the clock tells. The spelling "canceled" is the sign-in library''s.';

COMMENT ON COLUMN public.invitations.created_at IS 'Time of the first invitation; inviting the same address again only renews expires_at.';

COMMENT ON COLUMN public.invitations.notice_id IS 'The newest email of the invitation, cancelled with it. No foreign key: emails are deleted by retention.';

COMMENT ON COLUMN public.invitations.answered_at IS 'When the invitation was accepted, declined or withdrawn.';

CREATE TABLE public.invoice_counter (
    is_only boolean DEFAULT true NOT NULL,
    last_number bigint NOT NULL,
    CONSTRAINT invoice_counter_is_only_check CHECK (is_only),
    CONSTRAINT invoice_counter_last_number_check CHECK ((last_number >= 0))
);

COMMENT ON TABLE public.invoice_counter IS 'The number of the newest invoice. Creating an invoice locks its only row.';

CREATE TABLE public.invoice_gaps (
    first_number bigint NOT NULL,
    last_number bigint NOT NULL,
    noted_at timestamp with time zone NOT NULL,
    CONSTRAINT invoice_gaps_check CHECK ((last_number >= first_number)),
    CONSTRAINT invoice_gaps_first_number_check CHECK ((first_number > 0))
);

COMMENT ON TABLE public.invoice_gaps IS 'Numbers of invoices issued after the point to which the database was restored. They are never assigned again.';

CREATE TABLE public.invoice_months (
    month timestamp with time zone NOT NULL,
    after_org uuid,
    has_failed boolean DEFAULT false NOT NULL,
    finished_at timestamp with time zone
);

COMMENT ON TABLE public.invoice_months IS 'Progress of the invoice run of a month. Only saves work: an invoice row decides whether an organisation has its invoice.';

COMMENT ON COLUMN public.invoice_months.after_org IS 'All organisations up to this one are done; null at the start.';

COMMENT ON COLUMN public.invoice_months.has_failed IS 'An invoice of this run failed, so the run starts again at its end.';

CREATE TABLE public.invoices (
    id uuid NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    number bigint NOT NULL,
    period_start timestamp with time zone NOT NULL,
    period_end timestamp with time zone NOT NULL,
    total_nano_usd bigint NOT NULL,
    lines jsonb NOT NULL,
    billed_to text NOT NULL,
    issuer text NOT NULL,
    finalized_at timestamp with time zone NOT NULL,
    CONSTRAINT invoices_add_up CHECK (((total_nano_usd)::numeric = public.invoice_lines_total(lines))),
    CONSTRAINT invoices_after_the_month CHECK ((finalized_at > period_end)),
    CONSTRAINT invoices_billed_to_check CHECK (((length(billed_to) >= 1) AND (length(billed_to) <= 200))),
    CONSTRAINT invoices_have_lines CHECK (((jsonb_typeof(lines) = 'array'::text) AND (jsonb_array_length(lines) > 0))),
    CONSTRAINT invoices_issuer_check CHECK (((length(issuer) >= 1) AND (length(issuer) <= 1000))),
    CONSTRAINT invoices_mode_check CHECK ((mode = 'live'::text)),
    CONSTRAINT invoices_number_check CHECK ((number > 0)),
    CONSTRAINT invoices_period_is_a_month CHECK ((((period_start AT TIME ZONE 'UTC'::text) = date_trunc('month'::text, (period_start AT TIME ZONE 'UTC'::text))) AND ((period_end AT TIME ZONE 'UTC'::text) = ((period_start AT TIME ZONE 'UTC'::text) + '1 mon'::interval))))
);

COMMENT ON TABLE public.invoices IS 'Charges of the ledger in a month (UTC) less refunds. Written once, when no more entries of the month are possible, and never changed by any role.';

COMMENT ON COLUMN public.invoices.mode IS 'Always live: test mode is free and has no invoices.';

COMMENT ON COLUMN public.invoices.number IS 'Numbers from 1 without gaps over all organisations, in the order of creation.';

COMMENT ON COLUMN public.invoices.lines IS '[{"description": …, "cause": {"kind": …, "id": …} | null, "quantity": "…", "unit": …, "amountNanoUsd": "…"}].';

COMMENT ON COLUMN public.invoices.billed_to IS 'The organisation''s name at the time of the invoice.';

COMMENT ON COLUMN public.invoices.issuer IS 'The issuer as configured at the time of the invoice: a name, then address lines.';

CREATE TABLE public.ledger_accounts (
    id uuid NOT NULL,
    kind text NOT NULL,
    org_id uuid,
    mode text NOT NULL,
    product text,
    shard smallint,
    balance_nano_usd bigint DEFAULT 0 NOT NULL,
    held_nano_usd bigint DEFAULT 0 NOT NULL,
    floor_nano_usd bigint,
    entry_count bigint DEFAULT 0 NOT NULL,
    priority smallint DEFAULT 100 NOT NULL,
    expires_at timestamp with time zone,
    frozen_at timestamp with time zone,
    has_companions boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    owed_nano_usd bigint DEFAULT 0 NOT NULL,
    written_off_nano_usd bigint DEFAULT 0 NOT NULL,
    CONSTRAINT ledger_accounts_debts_are_not_negative CHECK (((owed_nano_usd >= 0) AND (written_off_nano_usd >= 0))),
    CONSTRAINT ledger_accounts_holds_are_not_negative CHECK ((held_nano_usd >= 0)),
    CONSTRAINT ledger_accounts_keep_their_floor CHECK (((floor_nano_usd IS NULL) OR ((balance_nano_usd - held_nano_usd) >= floor_nano_usd))),
    CONSTRAINT ledger_accounts_kind_check CHECK ((kind = ANY (ARRAY['credit'::text, 'promo'::text, 'supplier_payable'::text, 'limit'::text, 'revenue'::text, 'platform_fee'::text, 'payments_clearing'::text, 'grants'::text, 'adjustments'::text, 'shortfall'::text, 'limit_contra'::text]))),
    CONSTRAINT ledger_accounts_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT ledger_accounts_only_credit_freezes CHECK (((frozen_at IS NULL) OR (kind = 'credit'::text))),
    CONSTRAINT ledger_accounts_only_credit_owes CHECK ((((owed_nano_usd = 0) AND (written_off_nano_usd = 0)) OR (kind = 'credit'::text))),
    CONSTRAINT ledger_accounts_only_owned_money_is_held CHECK (((held_nano_usd = 0) OR (org_id IS NOT NULL))),
    CONSTRAINT ledger_accounts_only_promo_expires CHECK (((expires_at IS NULL) OR (kind = 'promo'::text))),
    CONSTRAINT ledger_accounts_owner CHECK ((((org_id IS NOT NULL) = (kind = ANY (ARRAY['credit'::text, 'promo'::text, 'supplier_payable'::text, 'limit'::text]))) AND ((shard IS NOT NULL) = (org_id IS NULL)) AND ((product IS NOT NULL) = (kind = 'revenue'::text)))),
    CONSTRAINT ledger_accounts_priority_check CHECK (((priority >= 0) AND (priority <= 1000))),
    CONSTRAINT ledger_accounts_product_check CHECK ((product = ANY (ARRAY['rental'::text, 'volume'::text, 'inference'::text, 'instance'::text]))),
    CONSTRAINT ledger_accounts_repay_before_spending CHECK (((owed_nano_usd = 0) OR (balance_nano_usd <= held_nano_usd))),
    CONSTRAINT ledger_accounts_shard_check CHECK (((shard >= 0) AND (shard <= 15))),
    CONSTRAINT ledger_accounts_spendable_has_a_floor CHECK (((kind <> ALL (ARRAY['credit'::text, 'promo'::text, 'supplier_payable'::text])) OR (floor_nano_usd IS NOT NULL)))
)
WITH (fillfactor='50');

COMMENT ON TABLE public.ledger_accounts IS 'Accounts with stored balances. A trigger on the entries refuses a balance that disagrees with them.';

COMMENT ON COLUMN public.ledger_accounts.kind IS 'credit and promo: money that an organisation can spend. supplier_payable: earnings of a supplier. limit: the remaining amount of a budget. The others belong to the operator and are sharded.';

COMMENT ON COLUMN public.ledger_accounts.mode IS 'live or test. No transfer mixes the two.';

COMMENT ON COLUMN public.ledger_accounts.product IS 'Revenue accounts only: the product sold.';

COMMENT ON COLUMN public.ledger_accounts.shard IS 'Operator accounts only: one of 16 rows that together form the account, so that batches do not wait for one row.';

COMMENT ON COLUMN public.ledger_accounts.held_nano_usd IS 'The part of the balance reserved by open holds.';

COMMENT ON COLUMN public.ledger_accounts.floor_nano_usd IS 'balance minus held never falls below this; null: no floor. The negative of the overdraft that the operator allows.';

COMMENT ON COLUMN public.ledger_accounts.entry_count IS 'The number of entries, and the account_seq of the newest.';

COMMENT ON COLUMN public.ledger_accounts.priority IS 'Lower is spent first; then earlier expiry; then the older account.';

COMMENT ON COLUMN public.ledger_accounts.expires_at IS 'Promotional credit only: cannot be spent from this time on. Amounts already held can still be posted.';

COMMENT ON COLUMN public.ledger_accounts.frozen_at IS 'Set by a disputed payment: no new work is admitted until the operator lifts it.';

COMMENT ON COLUMN public.ledger_accounts.has_companions IS 'Credit only: the organisation has had promotional credit or a budget. Most have neither, and a batch then skips the look-up.';

COMMENT ON COLUMN public.ledger_accounts.owed_nano_usd IS 'Credit only: debt from clawbacks that the balance did not cover. New credit repays it first.';

COMMENT ON COLUMN public.ledger_accounts.written_off_nano_usd IS 'Credit only: uncovered clawbacks that the operator does not claim, all from before debts were recorded.';

CREATE TABLE public.ledger_archived_keys (
    key_hash uuid NOT NULL,
    transfer_id uuid NOT NULL
);

COMMENT ON TABLE public.ledger_archived_keys IS 'Idempotency keys of archived transfers, which stay unique for ever. Rows are never deleted.';

CREATE TABLE public.ledger_archived_totals (
    subject uuid NOT NULL,
    measure text NOT NULL,
    amount_nano_usd numeric(40,0) NOT NULL,
    CONSTRAINT ledger_archived_totals_measure_check CHECK ((measure = ANY (ARRAY['hold_posted'::text, 'meter_paid'::text, 'meter_earned'::text, 'meter_fee'::text, 'meter_promo'::text, 'meter_charged'::text, 'budget_spent'::text, 'lease_used'::text, 'transfer_used'::text])))
);

COMMENT ON TABLE public.ledger_archived_totals IS 'Sums of archived transfers and requests for holds, meters, budgets, credit leases and transfers that are still audited.';

CREATE TABLE public.ledger_archives (
    through date NOT NULL,
    cutoff uuid NOT NULL,
    begun_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    moved_to uuid NOT NULL,
    moved_transfers bigint DEFAULT 0 NOT NULL,
    moved_entries bigint DEFAULT 0 NOT NULL,
    moved_at timestamp with time zone,
    CONSTRAINT ledger_archives_end_a_month CHECK ((through = (date_trunc('month'::text, (through)::timestamp without time zone))::date)),
    CONSTRAINT ledger_archives_moved_entries_check CHECK ((moved_entries >= 0)),
    CONSTRAINT ledger_archives_moved_transfers_check CHECK ((moved_transfers >= 0))
);

COMMENT ON TABLE public.ledger_archives IS 'Each row archives the closed months before its date that no earlier row archives.';

COMMENT ON COLUMN public.ledger_archives.cutoff IS 'Transfers with a smaller id are archived, also those that have not moved yet. Audits begin here.';

COMMENT ON COLUMN public.ledger_archives.moved_to IS 'Transfers up to this id have moved, except those that must stay.';

COMMENT ON COLUMN public.ledger_archives.moved_at IS 'When the last row had moved; null while rows move.';

CREATE TABLE public.ledger_hold_parts (
    hold_id uuid NOT NULL,
    account_id uuid NOT NULL,
    held_nano_usd bigint NOT NULL,
    CONSTRAINT ledger_hold_parts_held_nano_usd_check CHECK ((held_nano_usd >= 0))
)
WITH (fillfactor='80');

COMMENT ON TABLE public.ledger_hold_parts IS 'The amount of a hold per account. Parts in credit and promo sum to the hold; a part in a limit account equals the hold.';

CREATE TABLE public.ledger_holds (
    id uuid NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    idempotency_key text NOT NULL COLLATE pg_catalog."C",
    cause_kind text NOT NULL,
    cause_id text NOT NULL,
    key_id uuid,
    held_nano_usd bigint NOT NULL,
    posted_nano_usd bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    closed_at timestamp with time zone,
    CONSTRAINT ledger_holds_cause_id_check CHECK (((length(cause_id) >= 1) AND (length(cause_id) <= 100))),
    CONSTRAINT ledger_holds_cause_kind_check CHECK ((((length(cause_kind) >= 1) AND (length(cause_kind) <= 50)) AND (POSITION((':'::text) IN (cause_kind)) = 0))),
    CONSTRAINT ledger_holds_closed_holds_nothing CHECK (((closed_at IS NULL) OR (held_nano_usd = 0))),
    CONSTRAINT ledger_holds_held_nano_usd_check CHECK ((held_nano_usd >= 0)),
    CONSTRAINT ledger_holds_idempotency_key_check CHECK ((length(idempotency_key) <= 300)),
    CONSTRAINT ledger_holds_key_names_the_cause CHECK (starts_with(idempotency_key, (((cause_kind || ':'::text) || cause_id) || ':'::text))),
    CONSTRAINT ledger_holds_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT ledger_holds_posted_nano_usd_check CHECK ((posted_nano_usd >= 0))
)
WITH (fillfactor='80');

COMMENT ON TABLE public.ledger_holds IS 'Money reserved for a future charge. A hold never expires: its owner posts from it, resizes it and closes it.';

COMMENT ON COLUMN public.ledger_holds.key_id IS 'The API key that caused it; the budgets of the key hold the same amount.';

COMMENT ON COLUMN public.ledger_holds.held_nano_usd IS 'The amount reserved now.';

COMMENT ON COLUMN public.ledger_holds.posted_nano_usd IS 'The amount charged through the hold so far, including charges above the hold.';

COMMENT ON COLUMN public.ledger_holds.closed_at IS 'A closed hold accepts no postings.';

CREATE TABLE public.ledger_opening_balances (
    account_id uuid NOT NULL,
    entry_count bigint NOT NULL,
    balance_nano_usd bigint NOT NULL,
    CONSTRAINT ledger_opening_balances_entry_count_check CHECK ((entry_count > 0))
);

COMMENT ON TABLE public.ledger_opening_balances IS 'Each account at the cutoff of the newest archive.';

CREATE TABLE public.listing_changes (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    node_id uuid NOT NULL
);

COMMENT ON TABLE public.listing_changes IS 'Changed machines of the marketplace. Rows are stored for as long as a reader may need to catch up.';

COMMENT ON COLUMN public.listing_changes.xid IS 'The transaction of the change. A reader selects the transactions that its last snapshot did not include: sequence numbers do not follow the order of commits, so a late commit would be missed.';

CREATE TABLE public.loop_items (
    loop text NOT NULL,
    item text NOT NULL,
    failures integer NOT NULL,
    free_at timestamp with time zone NOT NULL,
    failing_since timestamp with time zone,
    problem text,
    holder uuid,
    CONSTRAINT loop_items_check CHECK (((failures > 0) = (failing_since IS NOT NULL))),
    CONSTRAINT loop_items_failures_check CHECK ((failures >= 0)),
    CONSTRAINT loop_items_item_check CHECK (((length(item) >= 1) AND (length(item) <= 200))),
    CONSTRAINT loop_items_loop_check CHECK (((length(loop) >= 1) AND (length(loop) <= 100))),
    CONSTRAINT loop_items_problem_check CHECK ((length(problem) <= 500))
);

COMMENT ON TABLE public.loop_items IS 'Items of a loop that are claimed by a worker, or that failed and wait for a retry. A successful item has no row.';

COMMENT ON COLUMN public.loop_items.loop IS 'The name of the loop, as in metrics.';

COMMENT ON COLUMN public.loop_items.item IS 'The id of the item within the loop.';

COMMENT ON COLUMN public.loop_items.failures IS 'Consecutive failures; 0 for an item that is only claimed.';

COMMENT ON COLUMN public.loop_items.free_at IS 'When the item can be claimed: the end of the claim or of the backoff.';

COMMENT ON COLUMN public.loop_items.failing_since IS 'Time of the first consecutive failure.';

COMMENT ON COLUMN public.loop_items.problem IS 'The last error, for operators.';

COMMENT ON COLUMN public.loop_items.holder IS 'The runner that has claimed the item, or null.';

CREATE TABLE public.mail_refusals (
    email text NOT NULL,
    refused_at timestamp with time zone NOT NULL,
    CONSTRAINT mail_refusals_email_check CHECK (((email = lower(email)) AND (length(email) <= 255)))
);

COMMENT ON TABLE public.mail_refusals IS 'Email addresses that refuse invitations. A link in the invitation sets and unsets the refusal.';

CREATE TABLE public.maintenance_nodes (
    window_id uuid NOT NULL,
    node_id uuid NOT NULL,
    hold text DEFAULT 'waiting'::text NOT NULL,
    CONSTRAINT maintenance_nodes_hold_check CHECK ((hold = ANY (ARRAY['waiting'::text, 'held'::text, 'left'::text])))
);

COMMENT ON TABLE public.maintenance_nodes IS 'The nodes of each maintenance window. Changing hold requires a lock on the node''s row.';

COMMENT ON COLUMN public.maintenance_nodes.hold IS 'waiting: not drained yet. held: drained by the window, which will return it. left: another decision applies, or the node was returned.';

CREATE TABLE public.maintenance_notices (
    window_id uuid NOT NULL,
    allocation_id uuid NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    told text NOT NULL,
    told_at timestamp with time zone NOT NULL,
    CONSTRAINT maintenance_notices_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT maintenance_notices_told_check CHECK ((told = ANY (ARRAY['announced'::text, 'started'::text, 'ended'::text])))
);

COMMENT ON TABLE public.maintenance_notices IS 'The allocations affected by a window, and the last notice sent to their organisation.';

CREATE TABLE public.maintenance_windows (
    id uuid NOT NULL,
    summary text NOT NULL,
    status text NOT NULL,
    drains_at timestamp with time zone NOT NULL,
    starts_at timestamp with time zone NOT NULL,
    ends_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT maintenance_windows_end_once CHECK (((status = ANY (ARRAY['completed'::text, 'cancelled'::text])) = (ended_at IS NOT NULL))),
    CONSTRAINT maintenance_windows_in_order CHECK (((drains_at <= starts_at) AND (starts_at < ends_at))),
    CONSTRAINT maintenance_windows_never_longer CHECK ((ended_at <= ends_at)),
    CONSTRAINT maintenance_windows_status_check CHECK ((status = ANY (ARRAY['announced'::text, 'in_progress'::text, 'completed'::text, 'cancelled'::text]))),
    CONSTRAINT maintenance_windows_summary_check CHECK (((length(summary) >= 3) AND (length(summary) <= 500)))
);

COMMENT ON TABLE public.maintenance_windows IS 'Announced times in which nodes are unavailable.';

COMMENT ON COLUMN public.maintenance_windows.summary IS 'Description of the work for tenants.';

COMMENT ON COLUMN public.maintenance_windows.drains_at IS 'From this time on nothing new is placed on the nodes.';

COMMENT ON COLUMN public.maintenance_windows.ended_at IS 'The actual end: ends_at, or earlier if cancelled. Before starts_at: the window never started.';

CREATE TABLE public.members (
    id uuid NOT NULL,
    org_id uuid NOT NULL,
    user_id uuid NOT NULL,
    role text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT members_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'member'::text, 'billing'::text, 'viewer'::text])))
);

COMMENT ON TABLE public.members IS 'Members of organisations with their roles. Every organisation has at least one owner.';

COMMENT ON COLUMN public.members.role IS 'Name of a set of scopes; the contract defines the sets.';

CREATE TABLE public.meter_shards (
    shard smallint NOT NULL,
    swept_at timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    CONSTRAINT meter_shards_shard_check CHECK (((shard >= 0) AND (shard <= 63)))
)
WITH (fillfactor='50');

COMMENT ON TABLE public.meter_shards IS 'When each shard was last swept, so that workers share the shards. Saves duplicate work; not a lock.';

CREATE TABLE public.meter_transitions (
    meter_id uuid NOT NULL,
    seq integer NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    kind text NOT NULL,
    at timestamp with time zone NOT NULL,
    recorded_at timestamp with time zone NOT NULL,
    CONSTRAINT meter_transitions_begin_with_opened CHECK (((seq = 1) = (kind = 'opened'::text))),
    CONSTRAINT meter_transitions_kind_check CHECK ((kind = ANY (ARRAY['opened'::text, 'paused'::text, 'resumed'::text, 'closed'::text]))),
    CONSTRAINT meter_transitions_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT meter_transitions_seq_check CHECK ((seq >= 1))
);

COMMENT ON TABLE public.meter_transitions IS 'The running intervals of each meter. Append-only: the total cost of a meter follows from these rows and its frozen rate.';

COMMENT ON COLUMN public.meter_transitions.seq IS 'Numbers from 1 within the meter without gaps.';

COMMENT ON COLUMN public.meter_transitions.at IS 'The effective time. A pause or close may be earlier than the previous transition: a running interval ends at the earliest time that any later pause or close names.';

COMMENT ON COLUMN public.meter_transitions.recorded_at IS 'When the row was written, by the clock of the process.';

CREATE TABLE public.rentals (
    id uuid NOT NULL,
    wire_id integer NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    kind text NOT NULL,
    user_id uuid NOT NULL,
    key_id uuid,
    provider_id text NOT NULL,
    region text NOT NULL,
    gpu_type text NOT NULL,
    gpus_per_node integer NOT NULL,
    node_count integer NOT NULL,
    gpu_count integer GENERATED ALWAYS AS ((gpus_per_node * node_count)) STORED NOT NULL,
    connection_type text NOT NULL,
    cuda integer,
    name text,
    label text,
    tags jsonb NOT NULL,
    image text,
    user_data text,
    ssh_keys text[] NOT NULL,
    custom_ports integer[] DEFAULT '{}'::integer[] NOT NULL,
    labels jsonb NOT NULL,
    monitoring boolean DEFAULT false NOT NULL,
    convert_on_expiry boolean NOT NULL,
    disk_price jsonb,
    status text NOT NULL,
    status_reason text,
    status_since timestamp with time zone NOT NULL,
    task text,
    task_options jsonb NOT NULL,
    task_deadline_at timestamp with time zone,
    power text NOT NULL,
    gpu_held boolean DEFAULT true NOT NULL,
    attempt smallint DEFAULT 1 NOT NULL,
    first_attempt smallint DEFAULT 1 NOT NULL,
    allocation_id uuid,
    trouble_since timestamp with time zone,
    billing_paused_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone,
    started_at timestamp with time zone,
    end_accepted_at timestamp with time zone,
    ended_at timestamp with time zone,
    end_reason text,
    expires_at timestamp with time zone,
    max_nano_usd bigint,
    idle_after_seconds integer,
    idle_action text,
    told_expiring_at timestamp with time zone,
    next_action_at timestamp with time zone,
    deadline_at timestamp with time zone,
    transitions integer DEFAULT 1 NOT NULL,
    steps integer DEFAULT 0 NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    supplier_org_id uuid,
    supplier_rate_nano_usd_per_hour bigint,
    told_as jsonb,
    private_cloud jsonb,
    CONSTRAINT rentals_attempt_check CHECK ((attempt >= 1)),
    CONSTRAINT rentals_check CHECK (((first_attempt >= 1) AND (first_attempt <= attempt))),
    CONSTRAINT rentals_connection_type_check CHECK ((connection_type = ANY (ARRAY['ethernet'::text, 'infiniband'::text]))),
    CONSTRAINT rentals_cuda_check CHECK ((cuda >= 0)),
    CONSTRAINT rentals_disk_price_check CHECK ((jsonb_typeof(disk_price) = 'object'::text)),
    CONSTRAINT rentals_end_reason_check CHECK (((length(end_reason) >= 1) AND (length(end_reason) <= 255))),
    CONSTRAINT rentals_ended_when_ended CHECK (((status = 'Terminated'::text) = (ended_at IS NOT NULL))),
    CONSTRAINT rentals_gpu_type_check CHECK ((gpu_type = ANY (ARRAY['h100'::text, 'h200'::text, 'b200'::text, 'other'::text]))),
    CONSTRAINT rentals_gpus_per_node_check CHECK (((gpus_per_node >= 1) AND ((gpus_per_node <= 64) OR (private_cloud IS NOT NULL)))),
    CONSTRAINT rentals_idle_action_check CHECK ((idle_action = ANY (ARRAY['stop'::text, 'terminate'::text]))),
    CONSTRAINT rentals_idle_after_seconds_check CHECK ((idle_after_seconds >= 300)),
    CONSTRAINT rentals_idle_is_whole CHECK (((idle_after_seconds IS NULL) = (idle_action IS NULL))),
    CONSTRAINT rentals_image_check CHECK (((length(image) >= 1) AND (length(image) <= 255))),
    CONSTRAINT rentals_instances_have_a_name CHECK (((kind = 'instance'::text) = (told_as IS NOT NULL))),
    CONSTRAINT rentals_kind_check CHECK ((kind = ANY (ARRAY['virtual-machine'::text, 'bare-metal'::text, 'instance'::text]))),
    CONSTRAINT rentals_label_check CHECK ((length(label) <= 1000)),
    CONSTRAINT rentals_labels_check CHECK ((jsonb_typeof(labels) = 'object'::text)),
    CONSTRAINT rentals_leaving_has_a_task CHECK (((status = ANY (ARRAY['Terminating'::text, 'Failed'::text])) = ((task IS NOT NULL) AND (task = 'release'::text)))),
    CONSTRAINT rentals_leaving_was_accepted CHECK (((status <> 'Terminating'::text) OR (end_accepted_at IS NOT NULL))),
    CONSTRAINT rentals_live_ones_are_looked_at CHECK ((((status = 'Terminated'::text) = (next_action_at IS NULL)) AND ((next_action_at IS NULL) = (deadline_at IS NULL)))),
    CONSTRAINT rentals_max_nano_usd_check CHECK ((max_nano_usd > 0)),
    CONSTRAINT rentals_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT rentals_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255))),
    CONSTRAINT rentals_node_count_check CHECK (((node_count >= 1) AND (node_count <= 10000))),
    CONSTRAINT rentals_pending_has_a_task CHECK (((status <> 'Pending'::text) OR (task = 'provision'::text))),
    CONSTRAINT rentals_power_check CHECK ((power = ANY (ARRAY['on'::text, 'off'::text, 'changing'::text]))),
    CONSTRAINT rentals_private_cloud_check CHECK ((jsonb_typeof(private_cloud) = 'object'::text)),
    CONSTRAINT rentals_private_clouds_are_bare_metal CHECK (((private_cloud IS NULL) OR ((kind = 'bare-metal'::text) AND (mode = 'live'::text)))),
    CONSTRAINT rentals_private_clouds_are_not_placed CHECK (((private_cloud IS NULL) OR (allocation_id IS NULL))),
    CONSTRAINT rentals_region_check CHECK (((length(region) >= 1) AND (length(region) <= 64))),
    CONSTRAINT rentals_running_was_started CHECK (((status <> ALL (ARRAY['Running'::text, 'Unknown'::text])) OR (started_at IS NOT NULL))),
    CONSTRAINT rentals_status_check CHECK ((status = ANY (ARRAY['Pending'::text, 'Running'::text, 'Unknown'::text, 'Failed'::text, 'Terminating'::text, 'Terminated'::text]))),
    CONSTRAINT rentals_status_reason_check CHECK (((length(status_reason) >= 1) AND (length(status_reason) <= 1000))),
    CONSTRAINT rentals_steps_check CHECK ((steps >= 0)),
    CONSTRAINT rentals_supplier_has_a_rate CHECK (((supplier_org_id IS NULL) = (supplier_rate_nano_usd_per_hour IS NULL))),
    CONSTRAINT rentals_supplier_rate_nano_usd_per_hour_check CHECK ((supplier_rate_nano_usd_per_hour >= 0)),
    CONSTRAINT rentals_tags_check CHECK ((jsonb_typeof(tags) = 'object'::text)),
    CONSTRAINT rentals_task_check CHECK ((task = ANY (ARRAY['provision'::text, 'stop'::text, 'start'::text, 'reboot'::text, 'release'::text]))),
    CONSTRAINT rentals_task_has_a_deadline CHECK (((task IS NULL) = (task_deadline_at IS NULL))),
    CONSTRAINT rentals_task_options_check CHECK ((jsonb_typeof(task_options) = 'object'::text)),
    CONSTRAINT rentals_told_as_check CHECK ((jsonb_typeof(told_as) = 'object'::text)),
    CONSTRAINT rentals_transitions_check CHECK ((transitions >= 1)),
    CONSTRAINT rentals_unknown_knows_since_when CHECK (((status <> 'Unknown'::text) OR (trouble_since IS NOT NULL))),
    CONSTRAINT rentals_user_data_check CHECK ((length(user_data) <= 65536)),
    CONSTRAINT rentals_version_check CHECK ((version >= 1)),
    CONSTRAINT rentals_wire_id_check CHECK ((wire_id > 0))
)
WITH (fillfactor='80');

COMMENT ON TABLE public.rentals IS 'Machines sold to tenants: virtual machines, bare metal and marketplace instances share one mechanism; kind distinguishes them.';

COMMENT ON COLUMN public.rentals.id IS 'Also externalId in the API and, for the first machine, the machine''s name at the engine.';

COMMENT ON COLUMN public.rentals.wire_id IS 'The 32-bit id in the API.';

COMMENT ON COLUMN public.rentals.provider_id IS 'The provider of its current machines.';

COMMENT ON COLUMN public.rentals.cuda IS 'Minimum CUDA version of its nodes as a number: 12.8 is 1208.';

COMMENT ON COLUMN public.rentals.image IS 'The requested image; null: the default of the cluster.';

COMMENT ON COLUMN public.rentals.user_data IS 'The tenant''s start-up script. Run once after the readiness proof, then deleted; kept while a running machine has not received it.';

COMMENT ON COLUMN public.rentals.ssh_keys IS 'The tenant''s public keys at the time of the order, one line of authorized_keys each.';

COMMENT ON COLUMN public.rentals.labels IS 'Passed to the engine; the mock engine reads injected faults from them. Filled from tags in test mode only.';

COMMENT ON COLUMN public.rentals.disk_price IS 'Frozen price of the disk while the rental is released.';

COMMENT ON COLUMN public.rentals.task IS 'The operation in progress. At most one; release overrides the others.';

COMMENT ON COLUMN public.rentals.task_deadline_at IS 'The task fails if it is not done by this time.';

COMMENT ON COLUMN public.rentals.gpu_held IS 'False after a stop that released the GPUs.';

COMMENT ON COLUMN public.rentals.attempt IS 'Number of placements so far. Each machine stores its attempt.';

COMMENT ON COLUMN public.rentals.first_attempt IS 'First attempt of the current task: each task may move to another host once.';

COMMENT ON COLUMN public.rentals.allocation_id IS 'The current allocation of GPUs.';

COMMENT ON COLUMN public.rentals.trouble_since IS 'The last healthy time before the engine became silent or the machine missing; null while healthy.';

COMMENT ON COLUMN public.rentals.billing_paused_at IS 'From when its meters are paused because of that fault.';

COMMENT ON COLUMN public.rentals.end_accepted_at IS 'When the termination was accepted; billing ends there. Null: it failed before a termination.';

COMMENT ON COLUMN public.rentals.expires_at IS 'The end of its TTL.';

COMMENT ON COLUMN public.rentals.max_nano_usd IS 'Spending limit: the rental is terminated before it costs more.';

COMMENT ON COLUMN public.rentals.told_expiring_at IS 'The due time of the newest rental.expiring event, so that each is sent once.';

COMMENT ON COLUMN public.rentals.next_action_at IS 'When any worker must reconcile the rental again.';

COMMENT ON COLUMN public.rentals.deadline_at IS 'When that reconciliation counts as late and raises an alert.';

COMMENT ON COLUMN public.rentals.transitions IS 'The number of its newest transition.';

COMMENT ON COLUMN public.rentals.steps IS 'The number of its newest step.';

COMMENT ON COLUMN public.rentals.version IS 'Grows with each change. A decision based on an older version is made again.';

COMMENT ON COLUMN public.rentals.supplier_rate_nano_usd_per_hour IS 'The supplier''s share of the rate of all GPUs, after the operator''s fee.';

COMMENT ON COLUMN public.rentals.told_as IS 'Instances only: the public identity used in events (name, machine and cluster as the marketplace shows them).';

COMMENT ON COLUMN public.rentals.private_cloud IS 'Private cloud only: nodes, sign-in details and contract as entered by the operator; otherwise null.';

CREATE TABLE public.volumes (
    id uuid NOT NULL,
    wire_id integer NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    user_id uuid NOT NULL,
    key_id uuid,
    node_id uuid NOT NULL,
    region text NOT NULL,
    vip text NOT NULL,
    label text NOT NULL,
    name text,
    tags jsonb NOT NULL,
    size_gb integer NOT NULL,
    price jsonb NOT NULL,
    hold_id uuid,
    grow_to_gb integer,
    grow_price jsonb,
    grow_hold_id uuid,
    grow_by timestamp with time zone,
    max_nano_usd bigint,
    phase text NOT NULL,
    status text NOT NULL,
    status_reason text,
    status_since timestamp with time zone NOT NULL,
    end_reason text,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone,
    started_at timestamp with time zone,
    end_accepted_at timestamp with time zone,
    purge_at timestamp with time zone,
    deleted_at timestamp with time zone,
    wish_seq integer DEFAULT 1 NOT NULL,
    served_seq integer DEFAULT 0 NOT NULL,
    served_clients text[] DEFAULT '{}'::text[] NOT NULL,
    trouble_since timestamp with time zone,
    tries integer DEFAULT 0 NOT NULL,
    last_error text,
    next_action_at timestamp with time zone,
    transitions integer DEFAULT 1 NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    restore_id uuid,
    restore_snapshot_id uuid,
    restore_volume_id uuid,
    restore_by timestamp with time zone,
    CONSTRAINT volumes_active_is_live CHECK (((status <> 'active'::text) OR (phase = 'live'::text))),
    CONSTRAINT volumes_active_was_started CHECK (((phase <> ALL (ARRAY['live'::text, 'frozen'::text, 'leaving'::text])) OR (started_at IS NOT NULL))),
    CONSTRAINT volumes_check CHECK (((served_seq >= 0) AND (served_seq <= wish_seq))),
    CONSTRAINT volumes_deleted_when_purged CHECK (((phase = 'purged'::text) = (deleted_at IS NOT NULL))),
    CONSTRAINT volumes_end_reason_check CHECK (((length(end_reason) >= 1) AND (length(end_reason) <= 255))),
    CONSTRAINT volumes_grow_price_check CHECK ((jsonb_typeof(grow_price) = 'object'::text)),
    CONSTRAINT volumes_grow_to_gb_check CHECK (((grow_to_gb >= 1) AND (grow_to_gb <= 64000))),
    CONSTRAINT volumes_growth_is_whole CHECK ((((grow_to_gb IS NULL) = (grow_price IS NULL)) AND ((grow_to_gb IS NULL) = (grow_by IS NULL)) AND ((grow_hold_id IS NULL) OR (grow_to_gb IS NOT NULL)) AND ((grow_to_gb IS NULL) OR (grow_to_gb > size_gb)))),
    CONSTRAINT volumes_label_check CHECK (((length(label) >= 4) AND (length(label) <= 255))),
    CONSTRAINT volumes_last_error_check CHECK ((length(last_error) <= 2000)),
    CONSTRAINT volumes_leaving_is_purged_at_some_time CHECK (((phase = ANY (ARRAY['frozen'::text, 'leaving'::text, 'purging'::text])) <= (purge_at IS NOT NULL))),
    CONSTRAINT volumes_live_is_seen_or_unknown CHECK (((phase <> 'live'::text) OR (status = ANY (ARRAY['active'::text, 'unknown'::text])) OR (restore_id IS NOT NULL))),
    CONSTRAINT volumes_live_ones_are_looked_at CHECK (((phase = 'purged'::text) = (next_action_at IS NULL))),
    CONSTRAINT volumes_max_nano_usd_check CHECK ((max_nano_usd > 0)),
    CONSTRAINT volumes_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT volumes_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255))),
    CONSTRAINT volumes_phase_check CHECK ((phase = ANY (ARRAY['provisioning'::text, 'live'::text, 'frozen'::text, 'leaving'::text, 'purging'::text, 'purged'::text]))),
    CONSTRAINT volumes_price_check CHECK ((jsonb_typeof(price) = 'object'::text)),
    CONSTRAINT volumes_provisioning_is_inactive CHECK (((phase <> 'provisioning'::text) OR (status = 'inactive'::text))),
    CONSTRAINT volumes_purged_lets_nobody_in CHECK (((phase <> 'purged'::text) OR ((served_clients = '{}'::text[]) AND (status = 'inactive'::text)))),
    CONSTRAINT volumes_region_check CHECK (((length(region) >= 1) AND (length(region) <= 64))),
    CONSTRAINT volumes_restore_before_purge CHECK (((restore_id IS NULL) OR (phase <> ALL (ARRAY['purging'::text, 'purged'::text])))),
    CONSTRAINT volumes_restore_is_whole CHECK ((((restore_id IS NULL) = (restore_snapshot_id IS NULL)) AND ((restore_id IS NULL) = (restore_volume_id IS NULL)) AND ((restore_id IS NULL) = (restore_by IS NULL)))),
    CONSTRAINT volumes_restoring_is_inactive CHECK (((restore_id IS NULL) OR (status = 'inactive'::text))),
    CONSTRAINT volumes_size_gb_check CHECK (((size_gb >= 1) AND (size_gb <= 64000))),
    CONSTRAINT volumes_status_check CHECK ((status = ANY (ARRAY['inactive'::text, 'active'::text, 'unknown'::text]))),
    CONSTRAINT volumes_status_reason_check CHECK (((length(status_reason) >= 1) AND (length(status_reason) <= 1000))),
    CONSTRAINT volumes_tags_check CHECK ((jsonb_typeof(tags) = 'object'::text)),
    CONSTRAINT volumes_transitions_check CHECK ((transitions >= 1)),
    CONSTRAINT volumes_tries_check CHECK ((tries >= 0)),
    CONSTRAINT volumes_version_check CHECK ((version >= 1)),
    CONSTRAINT volumes_vip_check CHECK ((vip ~ '^[0-9]{1,3}([.][0-9]{1,3}){3}$'::text)),
    CONSTRAINT volumes_wire_id_check CHECK ((wire_id > 0)),
    CONSTRAINT volumes_wish_seq_check CHECK ((wish_seq >= 1))
)
WITH (fillfactor='80');

COMMENT ON TABLE public.volumes IS 'Storage sold to tenants. A volume is one file system, one server process and one address.';

COMMENT ON COLUMN public.volumes.id IS 'Also externalId in the API and the name at the storage backend.';

COMMENT ON COLUMN public.volumes.wire_id IS 'The 32-bit id in the API.';

COMMENT ON COLUMN public.volumes.vip IS 'The address that serves the volume. Unique among the unpurged volumes of its node.';

COMMENT ON COLUMN public.volumes.label IS 'Unique in the organisation among volumes that are not deleted.';

COMMENT ON COLUMN public.volumes.size_gb IS 'The size confirmed by the backend, which is billed.';

COMMENT ON COLUMN public.volumes.price IS 'Frozen for this size.';

COMMENT ON COLUMN public.volumes.hold_id IS 'The hold taken by the order, until the first meter takes it over.';

COMMENT ON COLUMN public.volumes.grow_to_gb IS 'The requested larger size, with its price and hold, until the backend confirms it.';

COMMENT ON COLUMN public.volumes.grow_by IS 'The growth fails if it is not done by this time.';

COMMENT ON COLUMN public.volumes.max_nano_usd IS 'Spending limit: the volume is deleted before it costs more, retention included.';

COMMENT ON COLUMN public.volumes.phase IS 'provisioning: being created. live: usable. frozen: retained without money, can become live again. leaving: deleted, data retained. purging: data is being deleted. purged: data deleted.';

COMMENT ON COLUMN public.volumes.status IS 'The status in the contract. unknown: the backend of an active volume is silent.';

COMMENT ON COLUMN public.volumes.started_at IS 'When the volume first became usable; billing starts here.';

COMMENT ON COLUMN public.volumes.end_accepted_at IS 'When the deletion was accepted.';

COMMENT ON COLUMN public.volumes.purge_at IS 'When the data is deleted. Billing ends here.';

COMMENT ON COLUMN public.volumes.wish_seq IS 'Version of the spec that the backend must serve.';

COMMENT ON COLUMN public.volumes.served_seq IS 'The newest spec version that the backend confirmed.';

COMMENT ON COLUMN public.volumes.served_clients IS 'Addresses that may have access at the backend. Extended before the backend is asked, shortened after it has confirmed.';

COMMENT ON COLUMN public.volumes.trouble_since IS 'Since when the backend has failed to confirm the spec.';

COMMENT ON COLUMN public.volumes.version IS 'Grows with each change. A decision based on an older version is made again.';

COMMENT ON COLUMN public.volumes.restore_id IS 'The restore into this volume that the backend has not yet confirmed. The backend stores the id, so that a restore happens once.';

COMMENT ON COLUMN public.volumes.restore_snapshot_id IS 'The snapshot to restore.';

COMMENT ON COLUMN public.volumes.restore_volume_id IS 'The volume of the snapshot; the same volume for a restore in place.';

COMMENT ON COLUMN public.volumes.restore_by IS 'After this time the backend is only asked whether the restore was done.';

CREATE VIEW public.metered_things AS
 SELECT
        CASE
            WHEN (rentals.kind = 'instance'::text) THEN 'instance'::text
            ELSE 'rental'::text
        END AS kind,
    (rentals.wire_id)::text AS id,
    rentals.org_id,
    rentals.mode
   FROM public.rentals
  WHERE (((rentals.status = ANY (ARRAY['Running'::text, 'Unknown'::text])) OR ((rentals.status = 'Pending'::text) AND (rentals.started_at IS NOT NULL))) AND (rentals.private_cloud IS NULL))
UNION ALL
 SELECT 'volume'::text AS kind,
    (volumes.wire_id)::text AS id,
    volumes.org_id,
    volumes.mode
   FROM public.volumes
  WHERE (volumes.phase = ANY (ARRAY['live'::text, 'frozen'::text, 'leaving'::text]));

COMMENT ON VIEW public.metered_things IS 'Resources that must have an open or paused meter now. Each kind of resource adds its rows.';

CREATE TABLE public.meters (
    id uuid NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    shard smallint NOT NULL,
    cause_kind text NOT NULL,
    cause_id text NOT NULL,
    name text NOT NULL,
    product text NOT NULL,
    key_id uuid,
    rate_nano_usd_per_hour bigint NOT NULL,
    quantity bigint NOT NULL,
    unit text NOT NULL,
    supplier_org_id uuid,
    supplier_rate_nano_usd_per_hour bigint,
    supplier_posted_nano_usd bigint DEFAULT 0 NOT NULL,
    funding text NOT NULL,
    term_ends_at timestamp with time zone,
    refund_ppm integer DEFAULT 0 NOT NULL,
    retention_ms bigint DEFAULT 0 NOT NULL,
    state text NOT NULL,
    running_since timestamp with time zone,
    elapsed_before_ms bigint DEFAULT 0 NOT NULL,
    posted_ms bigint DEFAULT 0 NOT NULL,
    posted_nano_usd bigint DEFAULT 0 NOT NULL,
    shortfall_nano_usd bigint DEFAULT 0 NOT NULL,
    rest_of_term_nano_usd bigint DEFAULT 0 NOT NULL,
    hold_id uuid,
    held_nano_usd bigint DEFAULT 0 NOT NULL,
    covered_until timestamp with time zone,
    next_post_at timestamp with time zone,
    postings integer DEFAULT 0 NOT NULL,
    transitions integer DEFAULT 1 NOT NULL,
    opened_at timestamp with time zone NOT NULL,
    closed_at timestamp with time zone,
    kept_nano_usd_per_hour bigint DEFAULT 0 NOT NULL,
    CONSTRAINT meters_cause_id_check CHECK (((length(cause_id) >= 1) AND (length(cause_id) <= 100))),
    CONSTRAINT meters_cause_kind_check CHECK ((((length(cause_kind) >= 1) AND (length(cause_kind) <= 50)) AND (POSITION((':'::text) IN (cause_kind)) = 0))),
    CONSTRAINT meters_closed_when_closed CHECK (((state = 'closed'::text) = (closed_at IS NOT NULL))),
    CONSTRAINT meters_elapsed_before_ms_check CHECK ((elapsed_before_ms >= 0)),
    CONSTRAINT meters_funding_check CHECK ((funding = ANY (ARRAY['ahead'::text, 'committed'::text]))),
    CONSTRAINT meters_held_nano_usd_check CHECK ((held_nano_usd >= 0)),
    CONSTRAINT meters_kept_nano_usd_per_hour_check CHECK ((kept_nano_usd_per_hour >= 0)),
    CONSTRAINT meters_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT meters_name_check CHECK (((length(name) >= 1) AND (length(name) <= 50))),
    CONSTRAINT meters_only_what_runs_is_due CHECK (((next_post_at IS NULL) OR (state = 'open'::text))),
    CONSTRAINT meters_posted_is_rate_times_time CHECK (((posted_nano_usd)::numeric = div(((rate_nano_usd_per_hour)::numeric * (posted_ms)::numeric), (3600000)::numeric))),
    CONSTRAINT meters_posted_ms_check CHECK ((posted_ms >= 0)),
    CONSTRAINT meters_postings_check CHECK ((postings >= 0)),
    CONSTRAINT meters_product_check CHECK ((product = ANY (ARRAY['rental'::text, 'volume'::text, 'inference'::text, 'instance'::text]))),
    CONSTRAINT meters_quantity_check CHECK ((quantity >= 0)),
    CONSTRAINT meters_rate_nano_usd_per_hour_check CHECK ((rate_nano_usd_per_hour >= 0)),
    CONSTRAINT meters_refund_ppm_check CHECK (((refund_ppm >= 0) AND (refund_ppm <= 1000000))),
    CONSTRAINT meters_rest_of_term_nano_usd_check CHECK ((rest_of_term_nano_usd >= 0)),
    CONSTRAINT meters_retention_ms_check CHECK ((retention_ms >= 0)),
    CONSTRAINT meters_runs_when_open CHECK (((state = 'open'::text) = (running_since IS NOT NULL))),
    CONSTRAINT meters_shard_check CHECK (((shard >= 0) AND (shard <= 63))),
    CONSTRAINT meters_shortfall_nano_usd_check CHECK ((shortfall_nano_usd >= 0)),
    CONSTRAINT meters_split_is_a_part CHECK ((((supplier_org_id IS NULL) = (supplier_rate_nano_usd_per_hour IS NULL)) AND ((supplier_rate_nano_usd_per_hour IS NULL) OR ((supplier_rate_nano_usd_per_hour >= 0) AND (supplier_rate_nano_usd_per_hour <= rate_nano_usd_per_hour))))),
    CONSTRAINT meters_state_check CHECK ((state = ANY (ARRAY['open'::text, 'paused'::text, 'closed'::text]))),
    CONSTRAINT meters_supplier_posted_nano_usd_check CHECK ((supplier_posted_nano_usd >= 0)),
    CONSTRAINT meters_term_is_committed CHECK (((term_ends_at IS NOT NULL) = (funding = 'committed'::text))),
    CONSTRAINT meters_test_mode_is_free CHECK (((mode = 'live'::text) OR (rate_nano_usd_per_hour = 0))),
    CONSTRAINT meters_transitions_check CHECK ((transitions >= 1)),
    CONSTRAINT meters_unit_check CHECK ((unit ~ '^[a-z][a-zA-Z]{0,19}$'::text)),
    CONSTRAINT meters_what_costs_has_a_hold CHECK (((rate_nano_usd_per_hour = 0) OR (hold_id IS NOT NULL))),
    CONSTRAINT meters_what_costs_is_due CHECK (((state <> 'open'::text) OR (rate_nano_usd_per_hour = 0) OR (next_post_at IS NOT NULL)))
)
WITH (fillfactor='85');

COMMENT ON TABLE public.meters IS 'Resources billed by the hour. Cost = rate x elapsed time, rounded down once; a charge is the cost less the amount already posted.';

COMMENT ON COLUMN public.meters.mode IS 'live or test. Test mode is free.';

COMMENT ON COLUMN public.meters.shard IS 'The shard of the organisation, as in the outbox. Sweeps use it.';

COMMENT ON COLUMN public.meters.cause_kind IS 'With cause_id: the metered rental, volume or instance. Its charges have the same cause.';

COMMENT ON COLUMN public.meters.name IS 'The meter within its resource (gpu, disk, gpu-2). Opening the same name twice opens one meter.';

COMMENT ON COLUMN public.meters.rate_nano_usd_per_hour IS 'For the whole quantity. Frozen when the meter was opened.';

COMMENT ON COLUMN public.meters.quantity IS 'Number of units, for usage reports; the rate already includes it.';

COMMENT ON COLUMN public.meters.unit IS 'gpu or gb: a charge names its milliseconds and number of units.';

COMMENT ON COLUMN public.meters.supplier_rate_nano_usd_per_hour IS 'The supplier''s share of the rate, totalled separately so that it is exact. The platform receives the remainder.';

COMMENT ON COLUMN public.meters.supplier_posted_nano_usd IS 'Amount credited to the supplier, less amounts taken back.';

COMMENT ON COLUMN public.meters.funding IS 'ahead: holds the next period and renews the hold. committed: holds the price of the whole term from the start.';

COMMENT ON COLUMN public.meters.term_ends_at IS 'Committed only: time after this costs nothing on this meter.';

COMMENT ON COLUMN public.meters.refund_ppm IS 'Committed only: refund of the remaining term at an early end, in parts per million.';

COMMENT ON COLUMN public.meters.retention_ms IS 'The hold also covers this time, so that data can be retained after other money has ended. 0 if nothing is retained.';

COMMENT ON COLUMN public.meters.running_since IS 'The start of the current running interval.';

COMMENT ON COLUMN public.meters.elapsed_before_ms IS 'Metered time before the current running interval.';

COMMENT ON COLUMN public.meters.posted_ms IS 'The metered time that posted_nano_usd pays for.';

COMMENT ON COLUMN public.meters.posted_nano_usd IS 'Charges less refunds for metered time, including the amount absorbed by the operator.';

COMMENT ON COLUMN public.meters.shortfall_nano_usd IS 'The part of the charges that neither hold nor balance covered; absorbed by the operator.';

COMMENT ON COLUMN public.meters.rest_of_term_nano_usd IS 'Charge for the remaining term at the early end of a committed term.';

COMMENT ON COLUMN public.meters.held_nano_usd IS 'The amount of the hold since the last posting. Only the meter changes its hold.';

COMMENT ON COLUMN public.meters.covered_until IS 'Until when the hold pays, retention included. Null if nothing has to be paid.';

COMMENT ON COLUMN public.meters.next_post_at IS 'When a sweep next posts the meter and renews its hold. Null if it neither runs nor costs.';

COMMENT ON COLUMN public.meters.postings IS 'Number of settlements; numbers the steps of its charges.';

COMMENT ON COLUMN public.meters.transitions IS 'The number of its newest transition.';

COMMENT ON COLUMN public.meters.kept_nano_usd_per_hour IS 'Price of an hour of retention, at which retention_ms is held.';

CREATE TABLE public.mock_machines (
    cluster text NOT NULL,
    org_id uuid NOT NULL,
    external_id text NOT NULL,
    mode text NOT NULL,
    machine jsonb,
    what text,
    change_seq bigint NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    CONSTRAINT mock_machines_cluster_check CHECK (((length(cluster) >= 1) AND (length(cluster) <= 100))),
    CONSTRAINT mock_machines_external_id_check CHECK ((external_id ~ '^[a-z0-9][a-z0-9-]{0,62}$'::text)),
    CONSTRAINT mock_machines_machine_check CHECK (((jsonb_typeof(machine) = 'object'::text) AND (octet_length((machine)::text) <= 1048576))),
    CONSTRAINT mock_machines_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT mock_machines_what_check CHECK (((length(what) >= 1) AND (length(what) <= 50)))
);

COMMENT ON TABLE public.mock_machines IS 'Machines of the mock engine, by cluster. These rows are the whole state of the engine.';

COMMENT ON COLUMN public.mock_machines.mode IS 'live or test. Live keys reach the mock only in a demo.';

COMMENT ON COLUMN public.mock_machines.machine IS 'The whole record; null for a deleted machine, whose row stays for an hour so that listeners learn of the deletion.';

COMMENT ON COLUMN public.mock_machines.what IS 'The last change as sent to listeners; null if none is sent.';

COMMENT ON COLUMN public.mock_machines.change_seq IS 'A new number for each change: the version that an update must name. Listeners store the highest number and may miss a late commit; they receive hints only.';

CREATE SEQUENCE public.mock_machine_changes
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE public.mock_machine_changes OWNED BY public.mock_machines.change_seq;

CREATE TABLE public.node_capacity (
    node_id uuid NOT NULL,
    mode public.fleet_mode NOT NULL,
    offer public.fleet_offer NOT NULL,
    provider_id text NOT NULL,
    region text NOT NULL,
    cluster_id uuid NOT NULL,
    fabric_id uuid,
    gpu_type public.fleet_gpu_type,
    connection_type public.fleet_connection_type NOT NULL,
    cuda public.fleet_cuda,
    ready boolean DEFAULT false NOT NULL,
    open boolean DEFAULT false NOT NULL,
    placeable boolean DEFAULT false NOT NULL,
    pool bigint DEFAULT 0 NOT NULL,
    gpus_total smallint DEFAULT 0 NOT NULL,
    gpus_free smallint DEFAULT 0 NOT NULL,
    gpus_allocated smallint DEFAULT 0 NOT NULL,
    largest_numa_free smallint DEFAULT 0 NOT NULL,
    idle boolean DEFAULT false NOT NULL,
    spread public.fleet_spread NOT NULL
)
WITH (fillfactor='60');

COMMENT ON TABLE public.node_capacity IS 'The columns of a node that placement reads. Narrow, because every placement writes it. Changing the sold GPUs of a node requires a lock on this row.';

COMMENT ON COLUMN public.node_capacity.gpu_type IS 'The type as which its GPUs are sold. other: one model that rentals do not offer; only the marketplace sells it.';

COMMENT ON COLUMN public.node_capacity.cuda IS 'The newest CUDA version of its driver as a number: 12.8 is 1208.';

COMMENT ON COLUMN public.node_capacity.ready IS 'The node is node_ready.';

COMMENT ON COLUMN public.node_capacity.open IS 'Its provider, region and cluster are on sale.';

COMMENT ON COLUMN public.node_capacity.placeable IS 'Ready, open and of a type on sale. Set by trigger.';

COMMENT ON COLUMN public.node_capacity.pool IS 'Hash of the columns that placement matches exactly (pool_of). Hashes can collide, so queries compare the columns too. Set by trigger.';

COMMENT ON COLUMN public.node_capacity.gpus_total IS 'GPUs that are present. Counted by trigger.';

COMMENT ON COLUMN public.node_capacity.gpus_free IS 'Present GPUs that are not allocated. Counted by trigger.';

COMMENT ON COLUMN public.node_capacity.gpus_allocated IS 'GPUs with a live allocation, including missing ones. Counted by trigger.';

COMMENT ON COLUMN public.node_capacity.largest_numa_free IS 'The greatest number of free GPUs on one NUMA node. Counted by trigger.';

COMMENT ON COLUMN public.node_capacity.idle IS 'No GPU is allocated or missing, so the node can join a multi-node rental. Set by trigger, with the counts.';

COMMENT ON COLUMN public.node_capacity.spread IS 'A random number. Placements that find many equal nodes start at different ones and do not wait for the same row.';

CREATE TABLE public.node_faults (
    node_id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    rental_id uuid NOT NULL,
    kind text NOT NULL,
    reason text NOT NULL,
    CONSTRAINT node_faults_kind_check CHECK ((kind = ANY (ARRAY['start'::text, 'loss'::text]))),
    CONSTRAINT node_faults_reason_check CHECK (((length(reason) >= 1) AND (length(reason) <= 1000)))
);

COMMENT ON TABLE public.node_faults IS 'Faults of hosts that affected tenants. Append-only; written with the end of the attempt or of the rental.';

COMMENT ON COLUMN public.node_faults.kind IS 'start: a machine did not start. loss: a running machine was lost.';

COMMENT ON COLUMN public.node_faults.reason IS 'For the owner of the node. Names no tenant.';

CREATE TABLE public.node_transitions (
    node_id uuid NOT NULL,
    seq integer NOT NULL,
    from_status text,
    to_status text NOT NULL,
    reason text NOT NULL,
    actor text NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT node_transitions_actor_check CHECK (((length(actor) >= 1) AND (length(actor) <= 100))),
    CONSTRAINT node_transitions_begin_somewhere CHECK (((seq = 1) = (from_status IS NULL))),
    CONSTRAINT node_transitions_reason_check CHECK (((length(reason) >= 1) AND (length(reason) <= 1000))),
    CONSTRAINT node_transitions_seq_check CHECK ((seq >= 1))
);

COMMENT ON TABLE public.node_transitions IS 'State changes of each node, with actor and reason. Append-only.';

CREATE TABLE public.nodes (
    id uuid NOT NULL,
    cluster_id uuid NOT NULL,
    name text NOT NULL,
    status text NOT NULL,
    status_reason text,
    status_since timestamp with time zone NOT NULL,
    back_to text,
    drain_deadline_at timestamp with time zone,
    address text,
    cpu_model text,
    cpu_count integer,
    ram_mb integer,
    storage_gb integer,
    gpu_form_factor text,
    driver_version text,
    cuda_version text,
    hardware_read_at timestamp with time zone,
    hardware_digest text,
    first_seen_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone,
    unreachable_since timestamp with time zone,
    forgotten_at timestamp with time zone,
    transitions integer DEFAULT 1 NOT NULL,
    CONSTRAINT nodes_back_to_check CHECK ((back_to = ANY (ARRAY['node_registering'::text, 'node_ready'::text, 'node_draining'::text]))),
    CONSTRAINT nodes_cpu_count_check CHECK ((cpu_count >= 0)),
    CONSTRAINT nodes_gpu_form_factor_check CHECK ((gpu_form_factor = ANY (ARRAY['sxm5'::text, 'sxm6'::text, 'pcie'::text]))),
    CONSTRAINT nodes_hardware_digest_check CHECK (((length(hardware_digest) >= 1) AND (length(hardware_digest) <= 64))),
    CONSTRAINT nodes_name_check CHECK (((length(name) >= 1) AND (length(name) <= 253))),
    CONSTRAINT nodes_offline_knows_the_way_back CHECK (((status = 'node_offline'::text) = (back_to IS NOT NULL))),
    CONSTRAINT nodes_ram_mb_check CHECK ((ram_mb >= 0)),
    CONSTRAINT nodes_ready_was_read CHECK (((status <> 'node_ready'::text) OR (hardware_read_at IS NOT NULL))),
    CONSTRAINT nodes_status_check CHECK ((status = ANY (ARRAY['node_registering'::text, 'node_ready'::text, 'node_draining'::text, 'node_offline'::text, 'node_quarantined'::text, 'node_removed'::text]))),
    CONSTRAINT nodes_storage_gb_check CHECK ((storage_gb >= 0)),
    CONSTRAINT nodes_transitions_check CHECK ((transitions >= 1))
)
WITH (fillfactor='85');

COMMENT ON TABLE public.nodes IS 'Machines of the clusters, as their engines report them.';

COMMENT ON COLUMN public.nodes.name IS 'The engine''s name of the node.';

COMMENT ON COLUMN public.nodes.back_to IS 'The state to which an offline node returns.';

COMMENT ON COLUMN public.nodes.address IS 'The address on which ports of its machines are opened.';

COMMENT ON COLUMN public.nodes.cuda_version IS 'The newest CUDA version that its driver supports.';

COMMENT ON COLUMN public.nodes.hardware_digest IS 'Digest of the hardware last stored. A read with the same digest writes nothing.';

COMMENT ON COLUMN public.nodes.last_seen_at IS 'When its engine last reported the node as reachable, before unreachable_since; while that is null, the cluster''s time applies.';

COMMENT ON COLUMN public.nodes.unreachable_since IS 'The first of the consecutive reads in which the engine did not reach or list the node; null while it is reachable.';

COMMENT ON COLUMN public.nodes.forgotten_at IS 'When its engine stopped listing a removed node. Until then its name is not used for a new node.';

COMMENT ON COLUMN public.nodes.transitions IS 'The number of its newest transition.';

CREATE TABLE public.notice_mails (
    notice_id uuid NOT NULL,
    user_id uuid,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    category text NOT NULL,
    state text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    next_attempt_at timestamp with time zone,
    claim uuid,
    claimed_until timestamp with time zone,
    last_error text,
    created_at timestamp with time zone NOT NULL,
    done_at timestamp with time zone,
    email text,
    recipient text GENERATED ALWAYS AS (COALESCE((user_id)::text, email)) STORED NOT NULL,
    in_digest boolean DEFAULT false NOT NULL,
    CONSTRAINT notice_mails_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT notice_mails_category_check CHECK (((length(category) >= 1) AND (length(category) <= 40))),
    CONSTRAINT notice_mails_claim_is_dated CHECK (((claim IS NULL) = (claimed_until IS NULL))),
    CONSTRAINT notice_mails_done_when_done CHECK (((state = 'waiting'::text) = (done_at IS NULL))),
    CONSTRAINT notice_mails_email_check CHECK (((email = lower(email)) AND (length(email) <= 255))),
    CONSTRAINT notice_mails_failure_has_a_reason CHECK (((state = ANY (ARRAY['waiting'::text, 'sent'::text])) OR (last_error IS NOT NULL))),
    CONSTRAINT notice_mails_last_error_check CHECK ((length(last_error) <= 500)),
    CONSTRAINT notice_mails_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT notice_mails_one_recipient CHECK (((user_id IS NULL) <> (email IS NULL))),
    CONSTRAINT notice_mails_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'sent'::text, 'refused'::text, 'given_up'::text, 'skipped'::text]))),
    CONSTRAINT notice_mails_waiting_is_due CHECK (((state = 'waiting'::text) = (next_attempt_at IS NOT NULL)))
)
WITH (fillfactor='70');

COMMENT ON TABLE public.notice_mails IS 'One email: a notice and its recipient.';

COMMENT ON COLUMN public.notice_mails.category IS 'The category that people subscribe to, and that the limit on emails counts.';

COMMENT ON COLUMN public.notice_mails.state IS 'refused: the server rejected it permanently. given_up: the retries ended. skipped: it was never tried.';

COMMENT ON COLUMN public.notice_mails.attempts IS 'How often the server deferred this email. Outages of the server do not count.';

COMMENT ON COLUMN public.notice_mails.next_attempt_at IS 'Not tried before this instant.';

COMMENT ON COLUMN public.notice_mails.claim IS 'The worker that is sending it. Only this worker may write the result.';

COMMENT ON COLUMN public.notice_mails.claimed_until IS 'When another worker may claim it, by the database''s clock.';

COMMENT ON COLUMN public.notice_mails.last_error IS 'Why the latest attempt failed, or why there was none.';

COMMENT ON COLUMN public.notice_mails.email IS 'Address of a recipient who is not a member; null: the member''s current address.';

COMMENT ON COLUMN public.notice_mails.recipient IS 'The user id, or else the address: each recipient gets a notice once.';

COMMENT ON COLUMN public.notice_mails.in_digest IS 'Sent in one email with the others of its person, category and mode.';

CREATE TABLE public.notice_preferences (
    org_id uuid NOT NULL,
    user_id uuid NOT NULL,
    mode text NOT NULL,
    category text NOT NULL,
    wanted boolean NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT notice_preferences_category_check CHECK (((length(category) >= 1) AND (length(category) <= 40))),
    CONSTRAINT notice_preferences_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))
);

COMMENT ON TABLE public.notice_preferences IS 'Subscriptions that differ from the role''s default: one organisation, mode and category. Deleted with the membership.';

CREATE TABLE public.notices (
    id uuid NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    type text NOT NULL,
    data jsonb NOT NULL,
    occurred_at timestamp with time zone NOT NULL,
    recorded_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    addressed_at timestamp with time zone,
    CONSTRAINT notices_data_check CHECK ((jsonb_typeof(data) = 'object'::text)),
    CONSTRAINT notices_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT notices_type_check CHECK (((length(type) >= 1) AND (length(type) <= 100)))
)
WITH (fillfactor='85');

COMMENT ON TABLE public.notices IS 'Notices to people. Only retention deletes them.';

COMMENT ON COLUMN public.notices.id IS 'The id of the event, if there is one, so that an event causes one notice.';

COMMENT ON COLUMN public.notices.org_id IS 'No foreign key: a notice must never prevent an event from getting its number.';

COMMENT ON COLUMN public.notices.type IS 'A type of event, or of a notice without an event, about the tenant''s own settings.';

COMMENT ON COLUMN public.notices.data IS 'The data of the event. Contains no secrets.';

COMMENT ON COLUMN public.notices.occurred_at IS 'Time of the cause, by the clock of the process that wrote it.';

COMMENT ON COLUMN public.notices.recorded_at IS 'By the database''s clock. Retention uses this time.';

COMMENT ON COLUMN public.notices.addressed_at IS 'When its emails were inserted; null until the recipients are known.';

CREATE TABLE public.organisations (
    id uuid NOT NULL,
    name text NOT NULL,
    slug text NOT NULL,
    logo text,
    metadata text,
    home_cell smallint NOT NULL,
    status text DEFAULT 'active'::text NOT NULL,
    suspended_at timestamp with time zone,
    suspended_reason text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    funded_at timestamp with time zone,
    supplier_since timestamp with time zone,
    CONSTRAINT organisations_home_cell_check CHECK (((home_cell >= 0) AND (home_cell <= 1023))),
    CONSTRAINT organisations_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
    CONSTRAINT organisations_slug_check CHECK ((slug ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'::text)),
    CONSTRAINT organisations_status_check CHECK ((status = ANY (ARRAY['active'::text, 'suspended'::text]))),
    CONSTRAINT organisations_suspended_reason_check CHECK ((length(suspended_reason) <= 500)),
    CONSTRAINT organisations_suspension_is_dated CHECK (((status = 'suspended'::text) = (suspended_at IS NOT NULL)))
);

COMMENT ON TABLE public.organisations IS 'Tenants. Money, keys and machines belong to an organisation, never to a person.';

COMMENT ON COLUMN public.organisations.metadata IS 'Free JSON text of the sign-in library; Millrace does not use it.';

COMMENT ON COLUMN public.organisations.home_cell IS 'The cell that has this organisation''s ledger; other cells lease credit from it.';

COMMENT ON COLUMN public.organisations.status IS 'suspended: every key of the organisation is refused within one second.';

COMMENT ON COLUMN public.organisations.funded_at IS 'When its deposits first reached the sum that raises its rate limit; null before. Permanent.';

COMMENT ON COLUMN public.organisations.supplier_since IS 'When its owners and admins became suppliers; null: not a supplier. Permanent, because a supplier has earnings and machines.';

CREATE TABLE public.outbox (
    id uuid NOT NULL,
    seq bigint NOT NULL,
    kind text NOT NULL,
    cell smallint NOT NULL,
    shard smallint NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    type text,
    resource_kind text,
    resource_id text,
    service text,
    object_key text,
    handler text,
    not_before timestamp with time zone,
    payload jsonb NOT NULL,
    actor jsonb NOT NULL,
    traceparent text,
    schema_version integer NOT NULL,
    occurred_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    next_attempt_at timestamp with time zone,
    last_error text,
    parked_at timestamp with time zone,
    CONSTRAINT outbox_actor_check CHECK ((actor ?& ARRAY['kind'::text, 'id'::text])),
    CONSTRAINT outbox_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT outbox_cell_check CHECK (((cell >= 0) AND (cell <= 1023))),
    CONSTRAINT outbox_command_shape CHECK (((kind <> 'command'::text) OR ((service IS NOT NULL) AND (object_key IS NOT NULL) AND (handler IS NOT NULL) AND (type IS NULL) AND (resource_kind IS NULL) AND (resource_id IS NULL)))),
    CONSTRAINT outbox_event_shape CHECK (((kind <> 'event'::text) OR ((type IS NOT NULL) AND (resource_kind IS NOT NULL) AND (resource_id IS NOT NULL) AND (service IS NULL) AND (object_key IS NULL) AND (handler IS NULL) AND (not_before IS NULL)))),
    CONSTRAINT outbox_handler_check CHECK (((length(handler) >= 1) AND (length(handler) <= 100))),
    CONSTRAINT outbox_kind_check CHECK ((kind = ANY (ARRAY['event'::text, 'command'::text]))),
    CONSTRAINT outbox_last_error_check CHECK ((length(last_error) <= 2000)),
    CONSTRAINT outbox_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT outbox_object_key_check CHECK (((length(object_key) >= 1) AND (length(object_key) <= 200))),
    CONSTRAINT outbox_parked_has_an_error CHECK (((parked_at IS NULL) OR (last_error IS NOT NULL))),
    CONSTRAINT outbox_resource_id_check CHECK (((length(resource_id) >= 1) AND (length(resource_id) <= 100))),
    CONSTRAINT outbox_resource_kind_check CHECK (((length(resource_kind) >= 1) AND (length(resource_kind) <= 50))),
    CONSTRAINT outbox_schema_version_check CHECK ((schema_version > 0)),
    CONSTRAINT outbox_service_check CHECK (((length(service) >= 1) AND (length(service) <= 100))),
    CONSTRAINT outbox_shard_check CHECK (((shard >= 0) AND (shard <= 63))),
    CONSTRAINT outbox_traceparent_check CHECK ((length(traceparent) = 55)),
    CONSTRAINT outbox_type_check CHECK (((type ~ '^[a-z][a-z_]*(\.[a-z][a-z_]*)+$'::text) AND (length(type) <= 100)))
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='5000', autovacuum_vacuum_cost_delay='0');

COMMENT ON TABLE public.outbox IS 'Events and commands of transactions. Inserted with their cause, delivered at least once by the relay, deleted after delivery.';

COMMENT ON COLUMN public.outbox.id IS 'Also the id of the event in the feed, and the idempotency key of the command.';

COMMENT ON COLUMN public.outbox.seq IS 'Order of insertion. Not the order of commit, and with gaps: readers must not treat it as a watermark.';

COMMENT ON COLUMN public.outbox.kind IS 'event: published to JetStream and the feed. command: calls a Restate handler.';

COMMENT ON COLUMN public.outbox.cell IS 'The cell whose transaction wrote this row.';

COMMENT ON COLUMN public.outbox.shard IS 'Low six bits of org_id. One relay at a time processes a shard, so an organisation has one writer.';

COMMENT ON COLUMN public.outbox.type IS 'Events only: the event type, such as key.created.';

COMMENT ON COLUMN public.outbox.resource_kind IS 'Events only: the kind of resource concerned.';

COMMENT ON COLUMN public.outbox.resource_id IS 'Events only: the public id of the resource concerned.';

COMMENT ON COLUMN public.outbox.service IS 'Commands only: the Restate service to call.';

COMMENT ON COLUMN public.outbox.object_key IS 'Commands only: the key of the Restate object to call.';

COMMENT ON COLUMN public.outbox.handler IS 'Commands only: the handler to call.';

COMMENT ON COLUMN public.outbox.not_before IS 'Commands only: the handler must not run before this time. A time and not a delay, so that an outage does not extend it.';

COMMENT ON COLUMN public.outbox.payload IS 'The data of the event or the argument of the command; schema_version identifies its format.';

COMMENT ON COLUMN public.outbox.actor IS 'The actor: {"kind": "key" | "user" | "operator" | "system", "id": "…"}.';

COMMENT ON COLUMN public.outbox.traceparent IS 'W3C trace context of the cause, so that one trace spans request, relay and handler.';

COMMENT ON COLUMN public.outbox.schema_version IS 'Version of the payload''s format.';

COMMENT ON COLUMN public.outbox.occurred_at IS 'Time of the cause, by the clock of the process.';

COMMENT ON COLUMN public.outbox.created_at IS 'Start of the transaction that wrote the row, by the database''s clock.';

COMMENT ON COLUMN public.outbox.attempts IS 'How often the receiver refused this row. Outages of the receiver do not count.';

COMMENT ON COLUMN public.outbox.next_attempt_at IS 'No retry before this time, by the database''s clock.';

COMMENT ON COLUMN public.outbox.last_error IS 'The error of the newest refused attempt.';

COMMENT ON COLUMN public.outbox.parked_at IS 'When the relay stopped retrying this row. Clearing parked_at and attempts retries it.';

ALTER TABLE public.outbox ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.outbox_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.passkeys (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    name text,
    public_key text NOT NULL,
    credential_id text NOT NULL,
    counter double precision NOT NULL,
    device_type text NOT NULL,
    backed_up boolean NOT NULL,
    transports text,
    aaguid text,
    created_at timestamp with time zone DEFAULT now(),
    CONSTRAINT passkeys_counter_check CHECK ((((counter >= (0)::double precision) AND (counter <= ('4294967295'::bigint)::double precision)) AND (counter = floor(counter)))),
    CONSTRAINT passkeys_name_check CHECK ((length(name) <= 200))
);

COMMENT ON TABLE public.passkeys IS 'Public keys of passkeys; the private key never leaves the person''s device.';

COMMENT ON COLUMN public.passkeys.counter IS 'Grows with each use, up to 32 bits; a float because the library expects a JavaScript number.';

CREATE TABLE public.payment_disputes (
    provider text NOT NULL,
    dispute_ref text NOT NULL COLLATE pg_catalog."C",
    payment_id uuid NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    amount_nano_usd bigint NOT NULL,
    standing text NOT NULL,
    told_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT payment_disputes_amount_nano_usd_check CHECK ((amount_nano_usd >= 0)),
    CONSTRAINT payment_disputes_dispute_ref_check CHECK (((length(dispute_ref) >= 1) AND (length(dispute_ref) <= 255))),
    CONSTRAINT payment_disputes_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT payment_disputes_provider_check CHECK ((provider = 'stripe'::text)),
    CONSTRAINT payment_disputes_standing_check CHECK ((standing = ANY (ARRAY['inquiry'::text, 'open'::text, 'won'::text, 'lost'::text])))
);

COMMENT ON TABLE public.payment_disputes IS 'Payments that payers have disputed at their bank.';

COMMENT ON COLUMN public.payment_disputes.standing IS 'inquiry: a question of the bank, no money has moved. open, lost: the money was withdrawn. won: it was returned or never withdrawn.';

COMMENT ON COLUMN public.payment_disputes.told_at IS 'Time of the newest report stored here, by the provider''s clock.';

CREATE TABLE public.payment_events (
    provider text NOT NULL,
    event_id text NOT NULL COLLATE pg_catalog."C",
    provider_live boolean NOT NULL,
    type text NOT NULL,
    intent_ref text COLLATE pg_catalog."C",
    payment_id uuid,
    outcome text NOT NULL,
    fact jsonb NOT NULL,
    occurred_at timestamp with time zone NOT NULL,
    received_at timestamp with time zone NOT NULL,
    CONSTRAINT payment_events_event_id_check CHECK (((length(event_id) >= 1) AND (length(event_id) <= 255))),
    CONSTRAINT payment_events_fact_check CHECK ((jsonb_typeof(fact) = 'object'::text)),
    CONSTRAINT payment_events_intent_ref_check CHECK ((length(intent_ref) <= 255)),
    CONSTRAINT payment_events_outcome_check CHECK ((outcome = ANY (ARRAY['applied'::text, 'unchanged'::text, 'unmatched'::text, 'mismatch'::text]))),
    CONSTRAINT payment_events_provider_check CHECK ((provider = 'stripe'::text)),
    CONSTRAINT payment_events_type_check CHECK ((length(type) <= 200))
);

COMMENT ON TABLE public.payment_events IS 'Every report of a provider, once, with its outcome. The row commits with its effect.';

COMMENT ON COLUMN public.payment_events.intent_ref IS 'The provider''s payment that the report names.';

COMMENT ON COLUMN public.payment_events.payment_id IS 'The payment found in our rows. Null: the report may belong to another product, or be early.';

COMMENT ON COLUMN public.payment_events.outcome IS 'applied: changed something. unchanged: already known. unmatched: names no known payment yet. mismatch: contradicts the payment and needs an operator.';

COMMENT ON COLUMN public.payment_events.fact IS 'The parsed report: ids, amounts and state. Contains no data about the payer.';

COMMENT ON COLUMN public.payment_events.occurred_at IS 'By the provider''s clock.';

CREATE TABLE public.payments (
    id uuid NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    provider text NOT NULL,
    provider_live boolean DEFAULT true NOT NULL,
    provider_ref text COLLATE pg_catalog."C",
    provider_intent text COLLATE pg_catalog."C",
    amount_nano_usd bigint NOT NULL,
    state text NOT NULL,
    success_url text NOT NULL,
    cancel_url text NOT NULL,
    checkout_url text,
    credited_nano_usd bigint DEFAULT 0 NOT NULL,
    refunded_nano_usd bigint DEFAULT 0 NOT NULL,
    clawed_back_nano_usd bigint DEFAULT 0 NOT NULL,
    shortfall_nano_usd bigint DEFAULT 0 NOT NULL,
    clawback_transfers uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    money_steps integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    paid_at timestamp with time zone,
    next_check_at timestamp with time zone,
    checks integer DEFAULT 0 NOT NULL,
    refund_total_nano_usd bigint DEFAULT 0 NOT NULL,
    refund_told_at timestamp with time zone,
    failed_refunds jsonb DEFAULT '[]'::jsonb NOT NULL,
    CONSTRAINT payments_amount_nano_usd_check CHECK (((amount_nano_usd > 0) AND ((amount_nano_usd % (10000000)::bigint) = 0))),
    CONSTRAINT payments_cancel_url_check CHECK ((length(cancel_url) <= 2000)),
    CONSTRAINT payments_checkout_url_check CHECK ((length(checkout_url) <= 5000)),
    CONSTRAINT payments_checks_check CHECK ((checks >= 0)),
    CONSTRAINT payments_claw_back_what_was_credited CHECK (((clawed_back_nano_usd >= 0) AND (clawed_back_nano_usd <= credited_nano_usd))),
    CONSTRAINT payments_credited_once_and_whole CHECK (((credited_nano_usd = 0) OR (credited_nano_usd = amount_nano_usd))),
    CONSTRAINT payments_failed_refunds_check CHECK ((jsonb_typeof(failed_refunds) = 'array'::text)),
    CONSTRAINT payments_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT payments_money_steps_check CHECK ((money_steps >= 0)),
    CONSTRAINT payments_paid_has_its_time CHECK (((paid_at IS NOT NULL) = (credited_nano_usd > 0))),
    CONSTRAINT payments_paid_is_credited CHECK (((credited_nano_usd > 0) = (state = ANY (ARRAY['paid'::text, 'refunded'::text, 'disputed'::text, 'charged_back'::text])))),
    CONSTRAINT payments_provider_check CHECK ((provider = 'stripe'::text)),
    CONSTRAINT payments_provider_intent_check CHECK (((length(provider_intent) >= 1) AND (length(provider_intent) <= 255))),
    CONSTRAINT payments_provider_ref_check CHECK (((length(provider_ref) >= 1) AND (length(provider_ref) <= 255))),
    CONSTRAINT payments_refund_total_nano_usd_check CHECK ((refund_total_nano_usd >= 0)),
    CONSTRAINT payments_refunded_nano_usd_check CHECK ((refunded_nano_usd >= 0)),
    CONSTRAINT payments_shortfall_is_part_of_it CHECK (((shortfall_nano_usd >= 0) AND (shortfall_nano_usd <= clawed_back_nano_usd))),
    CONSTRAINT payments_state_check CHECK ((state = ANY (ARRAY['created'::text, 'open'::text, 'processing'::text, 'paid'::text, 'expired'::text, 'failed'::text, 'mismatch'::text, 'refunded'::text, 'disputed'::text, 'charged_back'::text]))),
    CONSTRAINT payments_success_url_check CHECK ((length(success_url) <= 2000)),
    CONSTRAINT payments_undecided_is_looked_after CHECK (((next_check_at IS NOT NULL) = (state = ANY (ARRAY['created'::text, 'open'::text, 'processing'::text]))))
)
WITH (fillfactor='80');

COMMENT ON TABLE public.payments IS 'Deposits through a payment provider. Their ledger transfers have the cause payment and this id.';

COMMENT ON COLUMN public.payments.mode IS 'Always live: test keys cannot pay.';

COMMENT ON COLUMN public.payments.provider_live IS 'Created in the provider''s live mode, with real money. Reports of the provider''s test mode never affect it.';

COMMENT ON COLUMN public.payments.provider_ref IS 'The id of the Stripe Checkout Session. Null until it was created and stored.';

COMMENT ON COLUMN public.payments.provider_intent IS 'The id of the Stripe PaymentIntent, which refunds and disputes refer to.';

COMMENT ON COLUMN public.payments.amount_nano_usd IS 'The requested amount, in whole cents. The amount paid must equal it.';

COMMENT ON COLUMN public.payments.state IS 'created, open, processing: undecided. paid, refunded, disputed, charged_back: credited. expired, failed: not credited. mismatch: a different amount was paid; needs an operator.';

COMMENT ON COLUMN public.payments.success_url IS 'Stored with cancel_url because a repeated request to the provider must be identical.';

COMMENT ON COLUMN public.payments.credited_nano_usd IS 'Amount credited to the organisation: nothing, or the whole amount once.';

COMMENT ON COLUMN public.payments.refunded_nano_usd IS 'Total amount refunded to the card, as reported by the provider.';

COMMENT ON COLUMN public.payments.clawed_back_nano_usd IS 'Credit currently taken back for refunds and for open or lost disputes.';

COMMENT ON COLUMN public.payments.shortfall_nano_usd IS 'The part of the clawback that the organisation no longer had; absorbed by the operator.';

COMMENT ON COLUMN public.payments.clawback_transfers IS 'The ledger transfers of the clawback that were not reversed.';

COMMENT ON COLUMN public.payments.money_steps IS 'Counts the ledger commands after the credit; numbers each step.';

COMMENT ON COLUMN public.payments.next_check_at IS 'When to query the provider, in case a report was lost.';

COMMENT ON COLUMN public.payments.refund_total_nano_usd IS 'Total refunds in the newest report of the provider. Older processes may have written a smaller value than refunded_nano_usd, which then applies.';

COMMENT ON COLUMN public.payments.refund_told_at IS 'Time of that report, by the provider''s clock; null: from before this was recorded.';

COMMENT ON COLUMN public.payments.failed_refunds IS 'Refunds that the bank did not execute: ref, nanoUsd and at. Those after the newest report reduce its total to refunded_nano_usd.';

CREATE TABLE public.platform_roles (
    user_id uuid NOT NULL,
    role text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT platform_roles_role_check CHECK ((role = ANY (ARRAY['operator'::text, 'supplier'::text])))
);

COMMENT ON TABLE public.platform_roles IS 'Roles of people on the installation itself, beyond any organisation.';

CREATE TABLE public.pot_gateways (
    gateway_id text NOT NULL,
    cell smallint NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    CONSTRAINT pot_gateways_cell_check CHECK (((cell >= 0) AND (cell <= 1023))),
    CONSTRAINT pot_gateways_gateway_id_check CHECK ((gateway_id ~ '^[A-Za-z0-9._-]{1,100}$'::text))
);

COMMENT ON TABLE public.pot_gateways IS 'Gateway processes that have requested credit leases. An id is one run of a process and is never reused.';

CREATE TABLE public.pot_lease_budgets (
    lease_id uuid NOT NULL,
    budget_id uuid NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    hold_id uuid NOT NULL,
    granted_nano_usd bigint NOT NULL,
    recalled_nano_usd bigint DEFAULT 0 NOT NULL,
    settled_nano_usd bigint DEFAULT 0 NOT NULL,
    changes bigint DEFAULT 0 NOT NULL,
    CONSTRAINT pot_lease_budgets_changes_check CHECK ((changes >= 0)),
    CONSTRAINT pot_lease_budgets_granted_nano_usd_check CHECK ((granted_nano_usd >= 0)),
    CONSTRAINT pot_lease_budgets_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT pot_lease_budgets_recall_what_was_granted CHECK ((recalled_nano_usd <= granted_nano_usd)),
    CONSTRAINT pot_lease_budgets_recalled_nano_usd_check CHECK ((recalled_nano_usd >= 0)),
    CONSTRAINT pot_lease_budgets_settled_nano_usd_check CHECK ((settled_nano_usd >= 0))
);

COMMENT ON TABLE public.pot_lease_budgets IS 'The part of a budget granted with a lease: absolute amounts and a hold, as for the lease itself.';

CREATE TABLE public.pot_lease_gateways (
    lease_id uuid NOT NULL,
    gateway_id text NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    told_at timestamp with time zone NOT NULL,
    declared_dead_at timestamp with time zone,
    ended_stream text,
    ended_at_seq bigint,
    settled_at timestamp with time zone,
    given_back_at timestamp with time zone,
    CONSTRAINT pot_lease_gateways_end_has_its_stream CHECK (((ended_stream IS NULL) = (ended_at_seq IS NULL))),
    CONSTRAINT pot_lease_gateways_ended_at_seq_check CHECK ((ended_at_seq > 0)),
    CONSTRAINT pot_lease_gateways_ended_stream_check CHECK (((length(ended_stream) >= 1) AND (length(ended_stream) <= 200))),
    CONSTRAINT pot_lease_gateways_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT pot_lease_gateways_only_the_ended_are_settled CHECK (((settled_at IS NULL) OR (ended_at_seq IS NOT NULL))),
    CONSTRAINT pot_lease_gateways_settled_before_given_back CHECK (((given_back_at IS NULL) OR (settled_at IS NOT NULL)))
);

COMMENT ON TABLE public.pot_lease_gateways IS 'The holders of each lease. Inserted before the lease is sent, so every gateway that can spend from it has a row.';

COMMENT ON COLUMN public.pot_lease_gateways.declared_dead_at IS 'Silent for too long: a worker published its end marker.';

COMMENT ON COLUMN public.pot_lease_gateways.ended_at_seq IS 'Position of its end-of-epoch marker in the usage stream. All its usage of the lease is before it.';

COMMENT ON COLUMN public.pot_lease_gateways.settled_at IS 'Later usage is recorded and not charged, so that the remaining reservations can be released.';

COMMENT ON COLUMN public.pot_lease_gateways.given_back_at IS 'When its unused reservations were released, or the whole lease was closed.';

CREATE TABLE public.pot_leases (
    id uuid NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    cell smallint NOT NULL,
    epoch bigint NOT NULL,
    generation bigint NOT NULL,
    hold_id uuid NOT NULL,
    granted_nano_usd bigint NOT NULL,
    recalled_nano_usd bigint DEFAULT 0 NOT NULL,
    settled_nano_usd bigint DEFAULT 0 NOT NULL,
    changes bigint DEFAULT 0 NOT NULL,
    used_nano_usd bigint DEFAULT 0 NOT NULL,
    used_at timestamp with time zone NOT NULL,
    state text NOT NULL,
    opened_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    closing_at timestamp with time zone,
    closed_at timestamp with time zone,
    CONSTRAINT pot_leases_cell_check CHECK (((cell >= 0) AND (cell <= 1023))),
    CONSTRAINT pot_leases_changes_check CHECK ((changes >= 0)),
    CONSTRAINT pot_leases_epoch_check CHECK ((epoch > 0)),
    CONSTRAINT pot_leases_generation_check CHECK ((generation > 0)),
    CONSTRAINT pot_leases_granted_nano_usd_check CHECK ((granted_nano_usd >= 0)),
    CONSTRAINT pot_leases_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT pot_leases_recall_what_was_granted CHECK ((recalled_nano_usd <= granted_nano_usd)),
    CONSTRAINT pot_leases_recalled_nano_usd_check CHECK ((recalled_nano_usd >= 0)),
    CONSTRAINT pot_leases_settled_nano_usd_check CHECK ((settled_nano_usd >= 0)),
    CONSTRAINT pot_leases_state_check CHECK ((state = ANY (ARRAY['open'::text, 'closing'::text, 'closed'::text]))),
    CONSTRAINT pot_leases_state_has_its_time CHECK ((((closing_at IS NOT NULL) = (state = ANY (ARRAY['closing'::text, 'closed'::text]))) AND ((closed_at IS NOT NULL) = (state = 'closed'::text)))),
    CONSTRAINT pot_leases_used_nano_usd_check CHECK ((used_nano_usd >= 0))
)
WITH (fillfactor='80');

COMMENT ON TABLE public.pot_leases IS 'Credit leases: a ledger hold with an epoch. A lease closes only after every holder has ended.';

COMMENT ON COLUMN public.pot_leases.generation IS 'The incarnation of the Valkey server that received the lease; it is valid only there.';

COMMENT ON COLUMN public.pot_leases.granted_nano_usd IS 'Total amount granted. Written here before it is written to Valkey.';

COMMENT ON COLUMN public.pot_leases.recalled_nano_usd IS 'Total amount recalled. Taken from Valkey before it is written here.';

COMMENT ON COLUMN public.pot_leases.settled_nano_usd IS 'Total usage charged to the lease, including usage above it.';

COMMENT ON COLUMN public.pot_leases.changes IS 'Counts changes of the hold; numbers each change in the ledger.';

COMMENT ON COLUMN public.pot_leases.used_nano_usd IS 'Usage, reservations included, when the lease was last enlarged: with used_at, the recent burn rate.';

COMMENT ON COLUMN public.pot_leases.expires_at IS 'Extended by each request. An expired lease is recalled; time alone does not close it.';

CREATE TABLE public.pot_servers (
    cell smallint NOT NULL,
    namespace text DEFAULT "left"(replace((gen_random_uuid())::text, '-'::text, ''::text), 12) NOT NULL,
    generation bigint NOT NULL,
    incarnation text NOT NULL,
    initialised_at timestamp with time zone NOT NULL,
    epoch_floor bigint DEFAULT 0 NOT NULL,
    CONSTRAINT pot_servers_cell_check CHECK (((cell >= 0) AND (cell <= 1023))),
    CONSTRAINT pot_servers_epoch_floor_check CHECK ((epoch_floor >= 0)),
    CONSTRAINT pot_servers_generation_check CHECK ((generation > 0)),
    CONSTRAINT pot_servers_incarnation_check CHECK (((length(incarnation) >= 1) AND (length(incarnation) <= 100))),
    CONSTRAINT pot_servers_namespace_check CHECK ((namespace ~ '^[0-9a-f]{12}$'::text))
);

COMMENT ON TABLE public.pot_servers IS 'The current incarnation of a cell''s Valkey server for credit leases. Leases of earlier generations grant nothing more.';

COMMENT ON COLUMN public.pot_servers.namespace IS 'Part of every key and script on the server, so that installations can share one.';

COMMENT ON COLUMN public.pot_servers.generation IS 'Grows each time a server is prepared: after a restart, a restore, a promotion or a wipe.';

COMMENT ON COLUMN public.pot_servers.incarnation IS 'The server''s replication id at that time. It changes when a server takes over the data of another.';

COMMENT ON COLUMN public.pot_servers.epoch_floor IS 'New leases get greater epochs. A confirmed restore raises it above every epoch used before.';

CREATE TABLE public.pots (
    org_id uuid NOT NULL,
    mode text NOT NULL,
    cell smallint NOT NULL,
    last_epoch bigint DEFAULT 0 NOT NULL,
    calm_until timestamp with time zone,
    CONSTRAINT pots_cell_check CHECK (((cell >= 0) AND (cell <= 1023))),
    CONSTRAINT pots_last_epoch_check CHECK ((last_epoch >= 0)),
    CONSTRAINT pots_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))
)
WITH (fillfactor='80');

COMMENT ON TABLE public.pots IS 'One row per series of credit leases. Its row lock serialises all changes of the leases of the series.';

COMMENT ON COLUMN public.pots.cell IS 'The cell whose Valkey server has the series.';

COMMENT ON COLUMN public.pots.last_epoch IS 'The newest epoch. Never assigned again: a lease with another epoch is invalid.';

COMMENT ON COLUMN public.pots.calm_until IS 'After a recall: until then the lease grows only as its requests need, so that the recalled money reaches its purpose.';

CREATE TABLE public.prices (
    id uuid NOT NULL,
    org_id uuid,
    mode text DEFAULT 'live'::text NOT NULL,
    subject_kind text NOT NULL,
    gpu_type text,
    machine_type text,
    region text,
    network_type text,
    model text,
    model_unit text,
    unit text NOT NULL,
    price_nano_usd bigint NOT NULL,
    valid_from timestamp with time zone NOT NULL,
    valid_until timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT prices_end_after_they_begin CHECK ((valid_until >= valid_from)),
    CONSTRAINT prices_gpu_type_check CHECK (((length(gpu_type) >= 1) AND (length(gpu_type) <= 64))),
    CONSTRAINT prices_machine_type_check CHECK ((machine_type = ANY (ARRAY['virtual-machine'::text, 'bare-metal'::text]))),
    CONSTRAINT prices_mode_check CHECK ((mode = 'live'::text)),
    CONSTRAINT prices_model_check CHECK (((length(model) >= 1) AND (length(model) <= 200))),
    CONSTRAINT prices_model_unit_check CHECK ((model_unit = ANY (ARRAY['prompt_token'::text, 'cached_prompt_token'::text, 'completion_token'::text, 'image'::text, 'character'::text]))),
    CONSTRAINT prices_network_type_check CHECK ((network_type = ANY (ARRAY['infiniband'::text, 'ethernet'::text]))),
    CONSTRAINT prices_of_single_tokens_are_small CHECK (((unit <> 'token'::text) OR (price_nano_usd <= 1000000000))),
    CONSTRAINT prices_price_nano_usd_check CHECK (((price_nano_usd >= 0) AND (price_nano_usd <= '1000000000000000'::bigint))),
    CONSTRAINT prices_region_check CHECK (((length(region) >= 1) AND (length(region) <= 64))),
    CONSTRAINT prices_subject_is_whole CHECK ((((gpu_type IS NOT NULL) = (subject_kind = 'gpu'::text)) AND ((machine_type IS NOT NULL) = (subject_kind = 'gpu'::text)) AND ((network_type IS NULL) OR (subject_kind = 'gpu'::text)) AND ((region IS NULL) OR (subject_kind = ANY (ARRAY['gpu'::text, 'volume'::text, 'disk'::text]))) AND ((model IS NOT NULL) = (subject_kind = 'model'::text)) AND ((model_unit IS NOT NULL) = (subject_kind = 'model'::text)))),
    CONSTRAINT prices_subject_kind_check CHECK ((subject_kind = ANY (ARRAY['gpu'::text, 'volume'::text, 'disk'::text, 'model'::text]))),
    CONSTRAINT prices_unit_check CHECK ((unit = ANY (ARRAY['gpu_hour'::text, 'gb_hour'::text, 'token'::text, 'million_tokens'::text, 'image'::text, 'character'::text]))),
    CONSTRAINT prices_unit_fits_the_subject CHECK (
CASE
    WHEN (subject_kind = 'gpu'::text) THEN (unit = 'gpu_hour'::text)
    WHEN (subject_kind = ANY (ARRAY['volume'::text, 'disk'::text])) THEN (unit = 'gb_hour'::text)
    WHEN (model_unit = ANY (ARRAY['image'::text, 'character'::text])) THEN (unit = model_unit)
    ELSE (unit = ANY (ARRAY['token'::text, 'million_tokens'::text]))
END)
);

COMMENT ON TABLE public.prices IS 'The price list: every version of every price. The price at a time is the most specific subject''s newest version that has started and not ended.';

COMMENT ON COLUMN public.prices.org_id IS 'Contract price of this organisation, which precedes every list price; null: a list price.';

COMMENT ON COLUMN public.prices.mode IS 'Always live: test mode is free.';

COMMENT ON COLUMN public.prices.subject_kind IS 'gpu: a GPU of a running rental; volume: a storage volume; disk: the local disk of a stopped rental; model: inference.';

COMMENT ON COLUMN public.prices.region IS 'Null: every region without a price of its own.';

COMMENT ON COLUMN public.prices.network_type IS 'Null: every network type without a price of its own.';

COMMENT ON COLUMN public.prices.price_nano_usd IS 'Per unit; at most a million dollars, and one dollar per token, so that typing errors are refused.';

COMMENT ON COLUMN public.prices.valid_until IS 'Not used for new sales from this time on; null: no end. A price that ended before it started never applies.';

CREATE TABLE public.provider_regions (
    provider_id text NOT NULL,
    region text NOT NULL,
    enabled boolean DEFAULT true NOT NULL,
    configured boolean DEFAULT true NOT NULL,
    custom_ports boolean NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT provider_regions_region_check CHECK (((length(region) >= 1) AND (length(region) <= 64)))
);

COMMENT ON TABLE public.provider_regions IS 'Regions in which a provider has machines.';

COMMENT ON COLUMN public.provider_regions.custom_ports IS 'Whether a rental there may open custom ports.';

CREATE TABLE public.providers (
    id text NOT NULL,
    variant text NOT NULL,
    driver text NOT NULL,
    mode text NOT NULL,
    enabled boolean DEFAULT true NOT NULL,
    configured boolean DEFAULT true NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT providers_driver_check CHECK ((driver = ANY (ARRAY['incus'::text, 'ironic'::text, 'mock'::text]))),
    CONSTRAINT providers_id_check CHECK (((length(id) >= 1) AND (length(id) <= 63))),
    CONSTRAINT providers_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT providers_only_mock_is_test CHECK (((variant = 'mock'::text) = (mode = 'test'::text)))
);

COMMENT ON TABLE public.providers IS 'Operators of machines. Written from the configuration at start; an operator may change only enabled.';

COMMENT ON COLUMN public.providers.variant IS 'Decides the format of providerData in rental records.';

COMMENT ON COLUMN public.providers.mode IS 'test for the mock provider, the only one that test keys reach; live for all others. Only a demo has live providers with the driver mock.';

COMMENT ON COLUMN public.providers.enabled IS 'Set by the operator. False: nothing new is placed; running machines stay.';

COMMENT ON COLUMN public.providers.configured IS 'False after the configuration stopped naming the provider: it sells nothing and its rows stay for the record.';

CREATE TABLE public.relay_leases (
    shard smallint NOT NULL,
    holder text NOT NULL,
    fence bigint NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT relay_leases_fence_check CHECK ((fence > 0)),
    CONSTRAINT relay_leases_holder_check CHECK (((length(holder) >= 1) AND (length(holder) <= 200))),
    CONSTRAINT relay_leases_shard_check CHECK (((shard >= 0) AND (shard <= 63)))
);

COMMENT ON TABLE public.relay_leases IS 'The process that relays each shard of the outbox. Losing the lease is harmless: the fencing token refuses the late writer.';

COMMENT ON COLUMN public.relay_leases.holder IS 'The name of the process, for operators.';

COMMENT ON COLUMN public.relay_leases.fence IS 'Fencing token: grows with every change of holder. Every write of the holder checks it.';

COMMENT ON COLUMN public.relay_leases.expires_at IS 'By the database''s clock, which all relays share.';

CREATE TABLE public.relays (
    holder text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT relays_holder_check CHECK (((length(holder) >= 1) AND (length(holder) <= 200)))
);

COMMENT ON TABLE public.relays IS 'The running relay processes. Each takes its share of the shards, so a new process must have a row before it holds any.';

COMMENT ON COLUMN public.relays.expires_at IS 'Renewed by the process while it runs, by the database''s clock.';

CREATE TABLE public.rental_consoles (
    rental_id uuid NOT NULL,
    attempt smallint NOT NULL,
    "position" smallint NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    output text DEFAULT ''::text NOT NULL,
    dropped boolean DEFAULT false NOT NULL,
    read_at timestamp with time zone,
    reading_until timestamp with time zone,
    CONSTRAINT rental_consoles_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT rental_consoles_output_check CHECK ((octet_length(output) <= 1048576))
);

COMMENT ON TABLE public.rental_consoles IS 'Console output of machines. Engines return output of a running machine only once; later readers get this copy.';

COMMENT ON COLUMN public.rental_consoles.output IS 'At most the newest mebibyte, without control characters.';

COMMENT ON COLUMN public.rental_consoles.dropped IS 'Whether older output was discarded.';

COMMENT ON COLUMN public.rental_consoles.reading_until IS 'A process is reading from the engine; others wait, because the output must be stored in order.';

CREATE TABLE public.rental_idleness (
    rental_id uuid NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    sampled_at timestamp with time zone NOT NULL,
    idle_since timestamp with time zone NOT NULL,
    counters jsonb NOT NULL,
    CONSTRAINT rental_idleness_counters_check CHECK ((jsonb_typeof(counters) = 'array'::text)),
    CONSTRAINT rental_idleness_in_order CHECK ((idle_since <= sampled_at)),
    CONSTRAINT rental_idleness_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))
)
WITH (fillfactor='80');

COMMENT ON TABLE public.rental_idleness IS 'Since when rentals with an idle rule have been idle. A separate row, because a rule may be longer than the retention of samples.';

COMMENT ON COLUMN public.rental_idleness.idle_since IS 'When the rental was last busy, or when sampling restarted after a gap.';

COMMENT ON COLUMN public.rental_idleness.counters IS 'Counters of each machine at sampled_at; the next sample is compared with them.';

CREATE TABLE public.rental_machines (
    rental_id uuid NOT NULL,
    attempt smallint NOT NULL,
    "position" smallint NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    external_id text NOT NULL,
    allocation_id uuid,
    cluster_id uuid NOT NULL,
    node_id uuid NOT NULL,
    gpu_addresses text[] NOT NULL,
    ports jsonb NOT NULL,
    cpu_count integer NOT NULL,
    ram_mb integer NOT NULL,
    disk_gb integer NOT NULL,
    state text NOT NULL,
    proof_key text,
    address text,
    private_ip text,
    ssh_user text,
    host_key text,
    starting boolean DEFAULT false NOT NULL,
    cut_at timestamp with time zone,
    absent_seen smallint DEFAULT 0 NOT NULL,
    gone_at timestamp with time zone,
    tries integer DEFAULT 0 NOT NULL,
    next_try_at timestamp with time zone,
    doomed_at timestamp with time zone,
    last_error text,
    CONSTRAINT rental_machines_absent_seen_check CHECK (((absent_seen >= 0) AND (absent_seen <= 2))),
    CONSTRAINT rental_machines_attempt_check CHECK ((attempt >= 1)),
    CONSTRAINT rental_machines_cpu_count_check CHECK ((cpu_count >= 1)),
    CONSTRAINT rental_machines_disk_gb_check CHECK ((disk_gb >= 1)),
    CONSTRAINT rental_machines_doomed_since CHECK (((doomed_at IS NOT NULL) = (state = ANY (ARRAY['doomed'::text, 'gone'::text])))),
    CONSTRAINT rental_machines_external_id_check CHECK (((length(external_id) >= 1) AND (length(external_id) <= 63))),
    CONSTRAINT rental_machines_gone_is_confirmed CHECK ((((state = 'gone'::text) = (gone_at IS NOT NULL)) AND ((state <> 'gone'::text) OR (absent_seen = 2)))),
    CONSTRAINT rental_machines_last_error_check CHECK ((length(last_error) <= 2000)),
    CONSTRAINT rental_machines_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT rental_machines_ports_check CHECK ((jsonb_typeof(ports) = 'array'::text)),
    CONSTRAINT rental_machines_position_check CHECK (("position" >= 1)),
    CONSTRAINT rental_machines_proof_key_is_forgotten CHECK (((proof_key IS NULL) OR (state = ANY (ARRAY['wanted'::text, 'made'::text, 'proven'::text])))),
    CONSTRAINT rental_machines_ram_mb_check CHECK ((ram_mb >= 1)),
    CONSTRAINT rental_machines_state_check CHECK ((state = ANY (ARRAY['wanted'::text, 'made'::text, 'proven'::text, 'open'::text, 'doomed'::text, 'gone'::text]))),
    CONSTRAINT rental_machines_tries_check CHECK ((tries >= 0))
)
WITH (fillfactor='80');

COMMENT ON TABLE public.rental_machines IS 'Machines of rentals at their engines: one per node and attempt. Inserted before the engine is called, so that every created machine is known.';

COMMENT ON COLUMN public.rental_machines.external_id IS 'Name at the engine: the rental''s id, with attempt and position added unless they are the first.';

COMMENT ON COLUMN public.rental_machines.allocation_id IS 'The allocation of its GPUs. Null after a stop that released them.';

COMMENT ON COLUMN public.rental_machines.state IS 'wanted: the engine has perhaps created it. made: exists with the platform''s key. proven: verified as sold. open: the tenant has access, and the platform''s key is revoked. doomed: marked for deletion. gone: the engine confirmed the deletion twice.';

COMMENT ON COLUMN public.rental_machines.proof_key IS 'The private half of the one-time platform key, encrypted; deleted when the key is revoked.';

COMMENT ON COLUMN public.rental_machines.host_key IS 'The SSH host key seen in the readiness proof, as SHA256 fingerprint. Later sign-ins must show the same key.';

COMMENT ON COLUMN public.rental_machines.starting IS 'SSH worked before the engine finished the start, so the result of the start is still unknown.';

COMMENT ON COLUMN public.rental_machines.cut_at IS 'When the engine had removed all network access.';

COMMENT ON COLUMN public.rental_machines.absent_seen IS 'How often the engine has reported the machine as absent.';

COMMENT ON COLUMN public.rental_machines.next_try_at IS 'When a failed or unfinished step is retried.';

CREATE TABLE public.rental_samples (
    slot smallint NOT NULL,
    rental_id uuid NOT NULL,
    attempt smallint NOT NULL,
    "position" smallint NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    at timestamp with time zone NOT NULL,
    cpu_seconds double precision,
    ram_used_bytes bigint,
    disk_used_bytes bigint,
    network_in_bytes bigint,
    network_out_bytes bigint,
    gpu_addresses text[],
    gpu_percents smallint[],
    CONSTRAINT rental_samples_cpu_seconds_check CHECK ((cpu_seconds >= (0)::double precision)),
    CONSTRAINT rental_samples_disk_used_bytes_check CHECK ((disk_used_bytes >= 0)),
    CONSTRAINT rental_samples_gpus_match CHECK ((cardinality(gpu_addresses) = cardinality(gpu_percents))),
    CONSTRAINT rental_samples_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT rental_samples_network_in_bytes_check CHECK ((network_in_bytes >= 0)),
    CONSTRAINT rental_samples_network_out_bytes_check CHECK ((network_out_bytes >= 0)),
    CONSTRAINT rental_samples_ram_used_bytes_check CHECK ((ram_used_bytes >= 0))
)
PARTITION BY LIST (slot);

COMMENT ON TABLE public.rental_samples IS 'Metrics of machines of rentals, every 30 seconds where monitoring is on or an idle rule is set, kept for seven days. No foreign key: a check per row would cost more than the row.';

COMMENT ON COLUMN public.rental_samples.slot IS 'Days since 1970 in UTC, modulo nine: the partition of the ring.';

COMMENT ON COLUMN public.rental_samples.cpu_seconds IS 'A counter since the machine started, like those of the network. Null: not measured, never 0.';

COMMENT ON COLUMN public.rental_samples.gpu_percents IS 'Utilisation of each GPU in the order of gpu_addresses; both null if the engine does not report it.';

CREATE TABLE public.rental_samples_0 (
    slot smallint NOT NULL,
    rental_id uuid NOT NULL,
    attempt smallint NOT NULL,
    "position" smallint NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    at timestamp with time zone NOT NULL,
    cpu_seconds double precision,
    ram_used_bytes bigint,
    disk_used_bytes bigint,
    network_in_bytes bigint,
    network_out_bytes bigint,
    gpu_addresses text[],
    gpu_percents smallint[],
    CONSTRAINT rental_samples_cpu_seconds_check CHECK ((cpu_seconds >= (0)::double precision)),
    CONSTRAINT rental_samples_disk_used_bytes_check CHECK ((disk_used_bytes >= 0)),
    CONSTRAINT rental_samples_gpus_match CHECK ((cardinality(gpu_addresses) = cardinality(gpu_percents))),
    CONSTRAINT rental_samples_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT rental_samples_network_in_bytes_check CHECK ((network_in_bytes >= 0)),
    CONSTRAINT rental_samples_network_out_bytes_check CHECK ((network_out_bytes >= 0)),
    CONSTRAINT rental_samples_ram_used_bytes_check CHECK ((ram_used_bytes >= 0))
);

COMMENT ON TABLE public.rental_samples_0 IS 'One day of rental_samples in nine.';

CREATE TABLE public.rental_samples_1 (
    slot smallint NOT NULL,
    rental_id uuid NOT NULL,
    attempt smallint NOT NULL,
    "position" smallint NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    at timestamp with time zone NOT NULL,
    cpu_seconds double precision,
    ram_used_bytes bigint,
    disk_used_bytes bigint,
    network_in_bytes bigint,
    network_out_bytes bigint,
    gpu_addresses text[],
    gpu_percents smallint[],
    CONSTRAINT rental_samples_cpu_seconds_check CHECK ((cpu_seconds >= (0)::double precision)),
    CONSTRAINT rental_samples_disk_used_bytes_check CHECK ((disk_used_bytes >= 0)),
    CONSTRAINT rental_samples_gpus_match CHECK ((cardinality(gpu_addresses) = cardinality(gpu_percents))),
    CONSTRAINT rental_samples_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT rental_samples_network_in_bytes_check CHECK ((network_in_bytes >= 0)),
    CONSTRAINT rental_samples_network_out_bytes_check CHECK ((network_out_bytes >= 0)),
    CONSTRAINT rental_samples_ram_used_bytes_check CHECK ((ram_used_bytes >= 0))
);

COMMENT ON TABLE public.rental_samples_1 IS 'One day of rental_samples in nine.';

CREATE TABLE public.rental_samples_2 (
    slot smallint NOT NULL,
    rental_id uuid NOT NULL,
    attempt smallint NOT NULL,
    "position" smallint NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    at timestamp with time zone NOT NULL,
    cpu_seconds double precision,
    ram_used_bytes bigint,
    disk_used_bytes bigint,
    network_in_bytes bigint,
    network_out_bytes bigint,
    gpu_addresses text[],
    gpu_percents smallint[],
    CONSTRAINT rental_samples_cpu_seconds_check CHECK ((cpu_seconds >= (0)::double precision)),
    CONSTRAINT rental_samples_disk_used_bytes_check CHECK ((disk_used_bytes >= 0)),
    CONSTRAINT rental_samples_gpus_match CHECK ((cardinality(gpu_addresses) = cardinality(gpu_percents))),
    CONSTRAINT rental_samples_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT rental_samples_network_in_bytes_check CHECK ((network_in_bytes >= 0)),
    CONSTRAINT rental_samples_network_out_bytes_check CHECK ((network_out_bytes >= 0)),
    CONSTRAINT rental_samples_ram_used_bytes_check CHECK ((ram_used_bytes >= 0))
);

COMMENT ON TABLE public.rental_samples_2 IS 'One day of rental_samples in nine.';

CREATE TABLE public.rental_samples_3 (
    slot smallint NOT NULL,
    rental_id uuid NOT NULL,
    attempt smallint NOT NULL,
    "position" smallint NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    at timestamp with time zone NOT NULL,
    cpu_seconds double precision,
    ram_used_bytes bigint,
    disk_used_bytes bigint,
    network_in_bytes bigint,
    network_out_bytes bigint,
    gpu_addresses text[],
    gpu_percents smallint[],
    CONSTRAINT rental_samples_cpu_seconds_check CHECK ((cpu_seconds >= (0)::double precision)),
    CONSTRAINT rental_samples_disk_used_bytes_check CHECK ((disk_used_bytes >= 0)),
    CONSTRAINT rental_samples_gpus_match CHECK ((cardinality(gpu_addresses) = cardinality(gpu_percents))),
    CONSTRAINT rental_samples_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT rental_samples_network_in_bytes_check CHECK ((network_in_bytes >= 0)),
    CONSTRAINT rental_samples_network_out_bytes_check CHECK ((network_out_bytes >= 0)),
    CONSTRAINT rental_samples_ram_used_bytes_check CHECK ((ram_used_bytes >= 0))
);

COMMENT ON TABLE public.rental_samples_3 IS 'One day of rental_samples in nine.';

CREATE TABLE public.rental_samples_4 (
    slot smallint NOT NULL,
    rental_id uuid NOT NULL,
    attempt smallint NOT NULL,
    "position" smallint NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    at timestamp with time zone NOT NULL,
    cpu_seconds double precision,
    ram_used_bytes bigint,
    disk_used_bytes bigint,
    network_in_bytes bigint,
    network_out_bytes bigint,
    gpu_addresses text[],
    gpu_percents smallint[],
    CONSTRAINT rental_samples_cpu_seconds_check CHECK ((cpu_seconds >= (0)::double precision)),
    CONSTRAINT rental_samples_disk_used_bytes_check CHECK ((disk_used_bytes >= 0)),
    CONSTRAINT rental_samples_gpus_match CHECK ((cardinality(gpu_addresses) = cardinality(gpu_percents))),
    CONSTRAINT rental_samples_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT rental_samples_network_in_bytes_check CHECK ((network_in_bytes >= 0)),
    CONSTRAINT rental_samples_network_out_bytes_check CHECK ((network_out_bytes >= 0)),
    CONSTRAINT rental_samples_ram_used_bytes_check CHECK ((ram_used_bytes >= 0))
);

COMMENT ON TABLE public.rental_samples_4 IS 'One day of rental_samples in nine.';

CREATE TABLE public.rental_samples_5 (
    slot smallint NOT NULL,
    rental_id uuid NOT NULL,
    attempt smallint NOT NULL,
    "position" smallint NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    at timestamp with time zone NOT NULL,
    cpu_seconds double precision,
    ram_used_bytes bigint,
    disk_used_bytes bigint,
    network_in_bytes bigint,
    network_out_bytes bigint,
    gpu_addresses text[],
    gpu_percents smallint[],
    CONSTRAINT rental_samples_cpu_seconds_check CHECK ((cpu_seconds >= (0)::double precision)),
    CONSTRAINT rental_samples_disk_used_bytes_check CHECK ((disk_used_bytes >= 0)),
    CONSTRAINT rental_samples_gpus_match CHECK ((cardinality(gpu_addresses) = cardinality(gpu_percents))),
    CONSTRAINT rental_samples_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT rental_samples_network_in_bytes_check CHECK ((network_in_bytes >= 0)),
    CONSTRAINT rental_samples_network_out_bytes_check CHECK ((network_out_bytes >= 0)),
    CONSTRAINT rental_samples_ram_used_bytes_check CHECK ((ram_used_bytes >= 0))
);

COMMENT ON TABLE public.rental_samples_5 IS 'One day of rental_samples in nine.';

CREATE TABLE public.rental_samples_6 (
    slot smallint NOT NULL,
    rental_id uuid NOT NULL,
    attempt smallint NOT NULL,
    "position" smallint NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    at timestamp with time zone NOT NULL,
    cpu_seconds double precision,
    ram_used_bytes bigint,
    disk_used_bytes bigint,
    network_in_bytes bigint,
    network_out_bytes bigint,
    gpu_addresses text[],
    gpu_percents smallint[],
    CONSTRAINT rental_samples_cpu_seconds_check CHECK ((cpu_seconds >= (0)::double precision)),
    CONSTRAINT rental_samples_disk_used_bytes_check CHECK ((disk_used_bytes >= 0)),
    CONSTRAINT rental_samples_gpus_match CHECK ((cardinality(gpu_addresses) = cardinality(gpu_percents))),
    CONSTRAINT rental_samples_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT rental_samples_network_in_bytes_check CHECK ((network_in_bytes >= 0)),
    CONSTRAINT rental_samples_network_out_bytes_check CHECK ((network_out_bytes >= 0)),
    CONSTRAINT rental_samples_ram_used_bytes_check CHECK ((ram_used_bytes >= 0))
);

COMMENT ON TABLE public.rental_samples_6 IS 'One day of rental_samples in nine.';

CREATE TABLE public.rental_samples_7 (
    slot smallint NOT NULL,
    rental_id uuid NOT NULL,
    attempt smallint NOT NULL,
    "position" smallint NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    at timestamp with time zone NOT NULL,
    cpu_seconds double precision,
    ram_used_bytes bigint,
    disk_used_bytes bigint,
    network_in_bytes bigint,
    network_out_bytes bigint,
    gpu_addresses text[],
    gpu_percents smallint[],
    CONSTRAINT rental_samples_cpu_seconds_check CHECK ((cpu_seconds >= (0)::double precision)),
    CONSTRAINT rental_samples_disk_used_bytes_check CHECK ((disk_used_bytes >= 0)),
    CONSTRAINT rental_samples_gpus_match CHECK ((cardinality(gpu_addresses) = cardinality(gpu_percents))),
    CONSTRAINT rental_samples_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT rental_samples_network_in_bytes_check CHECK ((network_in_bytes >= 0)),
    CONSTRAINT rental_samples_network_out_bytes_check CHECK ((network_out_bytes >= 0)),
    CONSTRAINT rental_samples_ram_used_bytes_check CHECK ((ram_used_bytes >= 0))
);

COMMENT ON TABLE public.rental_samples_7 IS 'One day of rental_samples in nine.';

CREATE TABLE public.rental_samples_8 (
    slot smallint NOT NULL,
    rental_id uuid NOT NULL,
    attempt smallint NOT NULL,
    "position" smallint NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    at timestamp with time zone NOT NULL,
    cpu_seconds double precision,
    ram_used_bytes bigint,
    disk_used_bytes bigint,
    network_in_bytes bigint,
    network_out_bytes bigint,
    gpu_addresses text[],
    gpu_percents smallint[],
    CONSTRAINT rental_samples_cpu_seconds_check CHECK ((cpu_seconds >= (0)::double precision)),
    CONSTRAINT rental_samples_disk_used_bytes_check CHECK ((disk_used_bytes >= 0)),
    CONSTRAINT rental_samples_gpus_match CHECK ((cardinality(gpu_addresses) = cardinality(gpu_percents))),
    CONSTRAINT rental_samples_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT rental_samples_network_in_bytes_check CHECK ((network_in_bytes >= 0)),
    CONSTRAINT rental_samples_network_out_bytes_check CHECK ((network_out_bytes >= 0)),
    CONSTRAINT rental_samples_ram_used_bytes_check CHECK ((ram_used_bytes >= 0))
);

COMMENT ON TABLE public.rental_samples_8 IS 'One day of rental_samples in nine.';

CREATE TABLE public.rental_steps (
    rental_id uuid NOT NULL,
    seq integer NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    attempt smallint NOT NULL,
    name text NOT NULL,
    status text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    message text,
    CONSTRAINT rental_steps_attempt_check CHECK ((attempt >= 1)),
    CONSTRAINT rental_steps_ended_when_ended CHECK (((status = 'running'::text) = (ended_at IS NULL))),
    CONSTRAINT rental_steps_message_check CHECK ((length(message) <= 1000)),
    CONSTRAINT rental_steps_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT rental_steps_name_check CHECK (((length(name) >= 1) AND (length(name) <= 50))),
    CONSTRAINT rental_steps_seq_check CHECK ((seq >= 1)),
    CONSTRAINT rental_steps_status_check CHECK ((status = ANY (ARRAY['running'::text, 'done'::text, 'failed'::text, 'undone'::text])))
);

COMMENT ON TABLE public.rental_steps IS 'Provisioning and deletion steps of a rental with their times, as shown to the tenant.';

COMMENT ON COLUMN public.rental_steps.message IS 'Text for the tenant. Contains no secrets.';

CREATE TABLE public.rental_terms (
    rental_id uuid NOT NULL,
    seq integer NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    term_type text NOT NULL,
    price jsonb NOT NULL,
    hold_id uuid,
    meter_name text NOT NULL,
    effective_at timestamp with time zone,
    ends_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT rental_terms_in_order CHECK ((ends_at > effective_at)),
    CONSTRAINT rental_terms_meter_name_check CHECK (((length(meter_name) >= 1) AND (length(meter_name) <= 50))),
    CONSTRAINT rental_terms_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT rental_terms_price_check CHECK ((jsonb_typeof(price) = 'object'::text)),
    CONSTRAINT rental_terms_reserved_ends CHECK (((term_type = 'reserved'::text) OR (ends_at IS NULL))),
    CONSTRAINT rental_terms_seq_check CHECK ((seq >= 1)),
    CONSTRAINT rental_terms_term_type_check CHECK ((term_type = ANY (ARRAY['on-demand'::text, 'reserved'::text, 'private-cloud'::text])))
);

COMMENT ON TABLE public.rental_terms IS 'Terms of a rental in order: the first, each extension, and on demand afterwards. The price is frozen.';

COMMENT ON COLUMN public.rental_terms.hold_id IS 'The hold taken when the term was accepted, until its meter takes it over.';

COMMENT ON COLUMN public.rental_terms.meter_name IS 'The rental''s meter that charges the term.';

COMMENT ON COLUMN public.rental_terms.effective_at IS 'Null until the machine is proven usable: nothing is owed before.';

COMMENT ON COLUMN public.rental_terms.ends_at IS 'Reserved: the committed end.';

CREATE TABLE public.rental_transitions (
    rental_id uuid NOT NULL,
    seq integer NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    from_status text,
    to_status text NOT NULL,
    reason text,
    actor text NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT rental_transitions_actor_check CHECK (((length(actor) >= 1) AND (length(actor) <= 100))),
    CONSTRAINT rental_transitions_begin_somewhere CHECK (((seq = 1) = (from_status IS NULL))),
    CONSTRAINT rental_transitions_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT rental_transitions_reason_check CHECK (((length(reason) >= 1) AND (length(reason) <= 1000))),
    CONSTRAINT rental_transitions_seq_check CHECK ((seq >= 1))
);

COMMENT ON TABLE public.rental_transitions IS 'Status changes of each rental, with actor and reason. Append-only.';

CREATE TABLE public.required_actions (
    id bigint NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    cause_kind text NOT NULL,
    cause_id text NOT NULL,
    action text NOT NULL,
    reason text NOT NULL,
    due_at timestamp with time zone NOT NULL,
    state text DEFAULT 'pending'::text NOT NULL,
    claimed_until timestamp with time zone,
    attempts integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    done_at timestamp with time zone,
    CONSTRAINT required_actions_action_check CHECK ((action = ANY (ARRAY['stop'::text, 'delete'::text]))),
    CONSTRAINT required_actions_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT required_actions_cause_id_check CHECK (((length(cause_id) >= 1) AND (length(cause_id) <= 100))),
    CONSTRAINT required_actions_cause_kind_check CHECK (((length(cause_kind) >= 1) AND (length(cause_kind) <= 50))),
    CONSTRAINT required_actions_claim_ends CHECK (((state = 'claimed'::text) = (claimed_until IS NOT NULL))),
    CONSTRAINT required_actions_done_when_done CHECK (((state = ANY (ARRAY['done'::text, 'cancelled'::text])) = (done_at IS NOT NULL))),
    CONSTRAINT required_actions_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT required_actions_reason_check CHECK ((reason = ANY (ARRAY['balance'::text, 'budget'::text, 'suspension'::text]))),
    CONSTRAINT required_actions_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'claimed'::text, 'done'::text, 'cancelled'::text])))
)
WITH (fillfactor='80');

COMMENT ON TABLE public.required_actions IS 'Stops and deletions that owners of resources must carry out because money ended or the organisation was suspended. Metering inserts them; rentals and volumes execute them.';

COMMENT ON COLUMN public.required_actions.action IS 'stop: must not continue to run. delete: the paid retention has ended.';

COMMENT ON COLUMN public.required_actions.reason IS 'balance: the wallet is empty. budget: a budget with stop_everything refused to extend it. suspension: the operator suspended the organisation and its running work.';

COMMENT ON COLUMN public.required_actions.due_at IS 'Not before this instant.';

COMMENT ON COLUMN public.required_actions.state IS 'cancelled: money arrived before the action started, the suspension was lifted, or an immediate action replaced it.';

COMMENT ON COLUMN public.required_actions.claimed_until IS 'Another worker can claim an unfinished action from this time on.';

ALTER TABLE public.required_actions ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.required_actions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.reservation_requests (
    id uuid NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    user_id uuid NOT NULL,
    gpu_count bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT reservation_requests_gpu_count_check CHECK (((gpu_count >= 1) AND (gpu_count <= '9007199254740991'::bigint))),
    CONSTRAINT reservation_requests_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))
);

COMMENT ON TABLE public.reservation_requests IS 'Requests for large reservations. Append-only: people answer them.';

COMMENT ON COLUMN public.reservation_requests.user_id IS 'The user of the requesting key.';

CREATE TABLE public.reserve_options (
    id uuid NOT NULL,
    machine_type text NOT NULL,
    gpu_type text NOT NULL,
    region text,
    term_period_days integer NOT NULL,
    discount_ppm integer NOT NULL,
    refund_ppm integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT reserve_options_discount_ppm_check CHECK (((discount_ppm >= 0) AND (discount_ppm <= 1000000))),
    CONSTRAINT reserve_options_gpu_type_check CHECK (((length(gpu_type) >= 1) AND (length(gpu_type) <= 64))),
    CONSTRAINT reserve_options_machine_type_check CHECK ((machine_type = ANY (ARRAY['virtual-machine'::text, 'bare-metal'::text]))),
    CONSTRAINT reserve_options_refund_ppm_check CHECK (((refund_ppm >= 0) AND (refund_ppm <= 1000000))),
    CONSTRAINT reserve_options_region_check CHECK (((length(region) >= 1) AND (length(region) <= 64))),
    CONSTRAINT reserve_options_term_period_days_check CHECK (((term_period_days >= 1) AND (term_period_days <= 3650)))
);

COMMENT ON TABLE public.reserve_options IS 'Terms that can be reserved. Append-only: the newest of several for the same machine, GPU, region and term is on offer.';

COMMENT ON COLUMN public.reserve_options.region IS 'Null: every region without an option of its own for the term.';

COMMENT ON COLUMN public.reserve_options.discount_ppm IS 'Off the on-demand price, in parts per million: 10000 is one percent.';

COMMENT ON COLUMN public.reserve_options.refund_ppm IS 'Refund of the remaining term at an early end, in parts per million.';

CREATE TABLE public.restore_state (
    is_only boolean DEFAULT true NOT NULL,
    installation uuid DEFAULT gen_random_uuid() NOT NULL,
    generation bigint DEFAULT 1 NOT NULL,
    mark bigint DEFAULT 0 NOT NULL,
    marked_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    state text DEFAULT 'normal'::text NOT NULL,
    found_at timestamp with time zone,
    outside jsonb,
    report jsonb,
    reported_at timestamp with time zone,
    confirmed_at timestamp with time zone,
    lost_from timestamp with time zone,
    CONSTRAINT restore_state_generation_check CHECK ((generation > 0)),
    CONSTRAINT restore_state_is_only_check CHECK (is_only),
    CONSTRAINT restore_state_mark_check CHECK ((mark >= 0)),
    CONSTRAINT restore_state_says_what_was_found CHECK (((state = 'normal'::text) OR ((found_at IS NOT NULL) AND (outside IS NOT NULL)))),
    CONSTRAINT restore_state_state_check CHECK ((state = ANY (ARRAY['normal'::text, 'restored'::text, 'confirming'::text])))
)
WITH (fillfactor='50');

COMMENT ON TABLE public.restore_state IS 'Whether this database is the newest state of the installation. One row.';

COMMENT ON COLUMN public.restore_state.installation IS 'Identifies the database in NATS and Valkey. A backup has the same id; a new database has another.';

COMMENT ON COLUMN public.restore_state.generation IS 'Grows each time an operator confirms a restore. Compared before the mark.';

COMMENT ON COLUMN public.restore_state.mark IS 'Advanced by workers about every second while the state is normal, and copied to NATS and Valkey after the commit.';

COMMENT ON COLUMN public.restore_state.marked_at IS 'When the mark was last advanced: in a restored database, about the point of the backup.';

COMMENT ON COLUMN public.restore_state.state IS 'restored: a copy outside the database is ahead, so no credit is granted and no machine deleted. confirming: an operator has confirmed, and a worker is executing it.';

COMMENT ON COLUMN public.restore_state.outside IS 'The newest mark found outside the database, with the database''s counters at that time.';

COMMENT ON COLUMN public.restore_state.report IS 'Objects found outside that are newer than this database.';

COMMENT ON COLUMN public.restore_state.confirmed_at IS 'When the last restore was confirmed. Machines without rows that were seen before need an operator''s decision.';

COMMENT ON COLUMN public.restore_state.lost_from IS 'The earliest point to which this database was restored. Rows written between it and confirmed_at may be lost.';

CREATE TABLE public.sample_shards (
    shard smallint NOT NULL,
    sampled_at timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    CONSTRAINT sample_shards_shard_check CHECK (((shard >= 0) AND (shard <= 63)))
)
WITH (fillfactor='50');

COMMENT ON TABLE public.sample_shards IS 'When each shard of rentals was last sampled, so that workers share the shards. Saves duplicate work; not a lock.';

CREATE TABLE public.schema_migrations (
    version integer NOT NULL,
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

COMMENT ON TABLE public.schema_migrations IS 'The migrations applied to this database. Only the migrator writes here.';

COMMENT ON COLUMN public.schema_migrations.sha256 IS 'Digest of the file as it was applied; a changed file is refused.';

CREATE TABLE public.sessions (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    token text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    ip_address text,
    user_agent text,
    active_org_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT sessions_token_is_hashed CHECK ((token ~ '^[0-9a-f]{64}$'::text))
);

COMMENT ON TABLE public.sessions IS 'Sign-in sessions of people. The sign-in library creates them; it or our own operations end them.';

COMMENT ON COLUMN public.sessions.token IS 'SHA-256 of the token, in hex, so that a reader of this table cannot sign in.';

COMMENT ON COLUMN public.sessions.active_org_id IS 'The organisation that the person has selected; a preference, never a permission.';

CREATE TABLE public.ssh_public_keys (
    id uuid NOT NULL,
    org_id uuid NOT NULL,
    user_id uuid NOT NULL,
    mode text NOT NULL,
    name text NOT NULL,
    algorithm text NOT NULL,
    bits integer NOT NULL,
    public_key text NOT NULL,
    fingerprint text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT ssh_public_keys_bits_check CHECK ((bits > 0)),
    CONSTRAINT ssh_public_keys_fingerprint_check CHECK ((fingerprint ~ '^SHA256:[A-Za-z0-9+/]{43}$'::text)),
    CONSTRAINT ssh_public_keys_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT ssh_public_keys_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
    CONSTRAINT ssh_public_keys_public_key_check CHECK (((length(public_key) <= 16384) AND (public_key !~ '[\r\n]'::text)))
);

COMMENT ON TABLE public.ssh_public_keys IS 'Public keys installed on machines. Normalised on input: one line, no options.';

COMMENT ON COLUMN public.ssh_public_keys.public_key IS 'The OpenSSH form "algorithm base64", without options and without the comment.';

COMMENT ON COLUMN public.ssh_public_keys.fingerprint IS 'As ssh-keygen -l prints it.';

CREATE TABLE public.storage_addresses (
    region text NOT NULL,
    address text NOT NULL,
    rental_id uuid NOT NULL,
    attempt smallint NOT NULL,
    "position" smallint NOT NULL,
    CONSTRAINT storage_addresses_address_check CHECK ((length(address) <= 64)),
    CONSTRAINT storage_addresses_region_check CHECK (((length(region) >= 1) AND (length(region) <= 64)))
);

COMMENT ON TABLE public.storage_addresses IS 'The machine to which each private storage address of a region is assigned. Live mode only. Held from the rental''s first volume until the machine is deleted.';

CREATE TABLE public.storage_nodes (
    id uuid NOT NULL,
    name text NOT NULL,
    region text NOT NULL,
    mode text NOT NULL,
    kind text NOT NULL,
    endpoint text NOT NULL,
    credential_ref text,
    settings jsonb NOT NULL,
    vip_first text NOT NULL,
    vip_last text NOT NULL,
    capacity_gb integer NOT NULL,
    configured boolean DEFAULT true NOT NULL,
    status text NOT NULL,
    status_reason text,
    status_since timestamp with time zone NOT NULL,
    beat_at timestamp with time zone,
    watch_since timestamp with time zone,
    seen_at timestamp with time zone,
    next_look_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT storage_nodes_capacity_gb_check CHECK ((capacity_gb > 0)),
    CONSTRAINT storage_nodes_connected_was_seen CHECK (((status <> 'connected'::text) OR (seen_at IS NOT NULL))),
    CONSTRAINT storage_nodes_credential_ref_check CHECK (((length(credential_ref) >= 1) AND (length(credential_ref) <= 255))),
    CONSTRAINT storage_nodes_endpoint_check CHECK (((length(endpoint) >= 1) AND (length(endpoint) <= 2048))),
    CONSTRAINT storage_nodes_kind_check CHECK ((kind = ANY (ARRAY['nfs'::text, 'mock'::text]))),
    CONSTRAINT storage_nodes_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT storage_nodes_name_check CHECK ((name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'::text)),
    CONSTRAINT storage_nodes_region_check CHECK (((length(region) >= 1) AND (length(region) <= 64))),
    CONSTRAINT storage_nodes_settings_check CHECK ((jsonb_typeof(settings) = 'object'::text)),
    CONSTRAINT storage_nodes_status_check CHECK ((status = ANY (ARRAY['connecting'::text, 'connected'::text, 'silent'::text]))),
    CONSTRAINT storage_nodes_status_reason_check CHECK (((length(status_reason) >= 1) AND (length(status_reason) <= 1000))),
    CONSTRAINT storage_nodes_test_keys_use_mock CHECK (((mode = 'live'::text) OR (kind = 'mock'::text))),
    CONSTRAINT storage_nodes_vip_first_check CHECK ((vip_first ~ '^[0-9]{1,3}([.][0-9]{1,3}){3}$'::text)),
    CONSTRAINT storage_nodes_vip_last_check CHECK ((vip_last ~ '^[0-9]{1,3}([.][0-9]{1,3}){3}$'::text))
)
WITH (fillfactor='80');

COMMENT ON TABLE public.storage_nodes IS 'Hosts of volumes, from the workers'' configuration. One node is one storage agent.';

COMMENT ON COLUMN public.storage_nodes.mode IS 'Data of test keys is never on the same node as live data.';

COMMENT ON COLUMN public.storage_nodes.credential_ref IS 'The name of a configured credential, never the secret itself.';

COMMENT ON COLUMN public.storage_nodes.vip_first IS 'With vip_last: the range of addresses that serve volumes of this node, one each.';

COMMENT ON COLUMN public.storage_nodes.capacity_gb IS 'Capacity on sale, counted by the sizes of volumes and snapshots.';

COMMENT ON COLUMN public.storage_nodes.configured IS 'False: the configuration does not name the node. It takes no new volumes and continues to serve existing ones.';

COMMENT ON COLUMN public.storage_nodes.beat_at IS 'When a worker last tried to check the node.';

COMMENT ON COLUMN public.storage_nodes.watch_since IS 'Start of the present checks without a gap. Earlier silence was a gap in our checks.';

COMMENT ON COLUMN public.storage_nodes.seen_at IS 'When the node last responded.';

COMMENT ON COLUMN public.storage_nodes.next_look_at IS 'A worker advances this before it checks the node, so that one worker checks at a time.';

CREATE TABLE public.stray_machines (
    cluster_id uuid NOT NULL,
    org_id uuid NOT NULL,
    external_id text NOT NULL,
    mode text NOT NULL,
    node_name text NOT NULL,
    first_seen_at timestamp with time zone NOT NULL,
    reap_begun_at timestamp with time zone,
    last_error text,
    CONSTRAINT stray_machines_external_id_check CHECK (((length(external_id) >= 1) AND (length(external_id) <= 255))),
    CONSTRAINT stray_machines_last_error_check CHECK ((length(last_error) <= 2000)),
    CONSTRAINT stray_machines_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT stray_machines_node_name_check CHECK (((length(node_name) >= 1) AND (length(node_name) <= 255)))
);

COMMENT ON TABLE public.stray_machines IS 'Orphans: machines of this installation that no rental refers to. Removed after two comparisons some time apart; the row is deleted when the engine stops listing the machine.';

COMMENT ON COLUMN public.stray_machines.org_id IS 'As reported by the engine; the organisation may be unknown.';

COMMENT ON COLUMN public.stray_machines.reap_begun_at IS 'When the removal was first tried.';

CREATE TABLE public.supplier_join_tokens (
    id uuid NOT NULL,
    supplier_id uuid NOT NULL,
    org_id uuid NOT NULL,
    description text NOT NULL,
    cluster_name text NOT NULL,
    region text NOT NULL,
    max_machines integer NOT NULL,
    used_machines integer DEFAULT 0 NOT NULL,
    secret_hash bytea NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    created_by uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT supplier_join_tokens_cluster_name_check CHECK ((cluster_name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'::text)),
    CONSTRAINT supplier_join_tokens_description_check CHECK ((length(description) <= 255)),
    CONSTRAINT supplier_join_tokens_max_machines_check CHECK (((max_machines >= 1) AND (max_machines <= 1000))),
    CONSTRAINT supplier_join_tokens_region_check CHECK (((length(region) >= 1) AND (length(region) <= 64))),
    CONSTRAINT supplier_join_tokens_secret_hash_check CHECK ((length(secret_hash) = 32)),
    CONSTRAINT supplier_join_tokens_used_within_bounds CHECK (((used_machines >= 0) AND (used_machines <= max_machines)))
);

COMMENT ON TABLE public.supplier_join_tokens IS 'Tokens with which a machine joins, so that it needs no key of the supplier. Only the hash is stored.';

COMMENT ON COLUMN public.supplier_join_tokens.cluster_name IS 'The cluster name that the marketplace shows for machines that join with the token.';

CREATE TABLE public.supplier_machine_days (
    machine_id uuid NOT NULL,
    day date NOT NULL,
    watched_ms bigint NOT NULL,
    up_ms bigint NOT NULL,
    starts integer NOT NULL,
    failed_starts integer NOT NULL,
    losses integer NOT NULL,
    CONSTRAINT supplier_machine_days_failed_starts_check CHECK ((failed_starts >= 0)),
    CONSTRAINT supplier_machine_days_losses_check CHECK ((losses >= 0)),
    CONSTRAINT supplier_machine_days_starts_check CHECK ((starts >= 0)),
    CONSTRAINT supplier_machine_days_up_while_watched CHECK (((up_ms >= 0) AND (up_ms <= watched_ms))),
    CONSTRAINT supplier_machine_days_watched_ms_check CHECK ((watched_ms >= 0))
)
WITH (fillfactor='80');

COMMENT ON TABLE public.supplier_machine_days IS 'Daily measurements of a machine: observed time, available time, successful and failed starts. Kept for 90 days.';

CREATE TABLE public.supplier_machine_trust (
    machine_id uuid NOT NULL,
    measured_until timestamp with time zone NOT NULL,
    score_ppm integer NOT NULL,
    uptime_ppm integer NOT NULL,
    starting_ppm integer NOT NULL,
    quarantines integer DEFAULT 0 NOT NULL,
    CONSTRAINT supplier_machine_trust_quarantines_check CHECK ((quarantines >= 0)),
    CONSTRAINT supplier_machine_trust_score_ppm_check CHECK (((score_ppm >= 0) AND (score_ppm <= 1000000))),
    CONSTRAINT supplier_machine_trust_starting_ppm_check CHECK (((starting_ppm >= 0) AND (starting_ppm <= 1000000))),
    CONSTRAINT supplier_machine_trust_uptime_ppm_check CHECK (((uptime_ppm >= 0) AND (uptime_ppm <= 1000000)))
)
WITH (fillfactor='80');

COMMENT ON TABLE public.supplier_machine_trust IS 'Reliability of each enrolled machine, from the measurements of the last 30 days.';

COMMENT ON COLUMN public.supplier_machine_trust.measured_until IS 'Everything before this time is in supplier_machine_days, once.';

COMMENT ON COLUMN public.supplier_machine_trust.quarantines IS 'How often the machine was quarantined for its own faults.';

CREATE TABLE public.supplier_machines (
    id uuid NOT NULL,
    supplier_id uuid NOT NULL,
    org_id uuid NOT NULL,
    join_token_id uuid NOT NULL,
    cluster_id uuid,
    node_id uuid,
    name text NOT NULL,
    cluster_name text NOT NULL,
    region text NOT NULL,
    endpoint text NOT NULL,
    server_certificate text NOT NULL,
    server_fingerprint text NOT NULL,
    trust_token text,
    stage text NOT NULL,
    problem text,
    tries integer DEFAULT 0 NOT NULL,
    next_try_at timestamp with time zone,
    deadline_at timestamp with time zone,
    tests jsonb,
    tested_at timestamp with time zone,
    approval text DEFAULT 'pending'::text NOT NULL,
    approval_reason text,
    listed boolean DEFAULT false NOT NULL,
    drained_at timestamp with time zone,
    price_nano_usd_per_gpu_hour bigint,
    recent_price_nano_usd_per_gpu_hour bigint,
    recent_price_until timestamp with time zone,
    joined_at timestamp with time zone NOT NULL,
    enrolled_at timestamp with time zone,
    withdrawn_at timestamp with time zone,
    version integer DEFAULT 1 NOT NULL,
    CONSTRAINT supplier_machines_approval_check CHECK ((approval = ANY (ARRAY['pending'::text, 'approved'::text, 'rejected'::text]))),
    CONSTRAINT supplier_machines_approval_reason_check CHECK (((length(approval_reason) >= 1) AND (length(approval_reason) <= 1000))),
    CONSTRAINT supplier_machines_at_work_is_looked_at CHECK ((((stage = ANY (ARRAY['trusting'::text, 'inspecting'::text, 'testing'::text])) = (next_try_at IS NOT NULL)) AND ((next_try_at IS NULL) = (deadline_at IS NULL)))),
    CONSTRAINT supplier_machines_cluster_name_check CHECK (((length(cluster_name) >= 1) AND (length(cluster_name) <= 63))),
    CONSTRAINT supplier_machines_endpoint_check CHECK (((length(endpoint) >= 1) AND (length(endpoint) <= 2048))),
    CONSTRAINT supplier_machines_enrolled_was_tested CHECK (((stage <> 'enrolled'::text) OR ((tests IS NOT NULL) AND (tested_at IS NOT NULL) AND (enrolled_at IS NOT NULL)))),
    CONSTRAINT supplier_machines_inspected_has_a_cluster CHECK (((stage <> ALL (ARRAY['inspecting'::text, 'testing'::text, 'enrolled'::text])) OR (cluster_id IS NOT NULL))),
    CONSTRAINT supplier_machines_listed_has_a_price CHECK (((NOT listed) OR (price_nano_usd_per_gpu_hour IS NOT NULL))),
    CONSTRAINT supplier_machines_name_check CHECK (((length(name) >= 1) AND (length(name) <= 63))),
    CONSTRAINT supplier_machines_price_nano_usd_per_gpu_hour_check CHECK ((price_nano_usd_per_gpu_hour > 0)),
    CONSTRAINT supplier_machines_problem_check CHECK (((length(problem) >= 1) AND (length(problem) <= 1000))),
    CONSTRAINT supplier_machines_recent_price_has_an_end CHECK (((recent_price_nano_usd_per_gpu_hour IS NULL) = (recent_price_until IS NULL))),
    CONSTRAINT supplier_machines_recent_price_nano_usd_per_gpu_hour_check CHECK ((recent_price_nano_usd_per_gpu_hour > 0)),
    CONSTRAINT supplier_machines_region_check CHECK (((length(region) >= 1) AND (length(region) <= 64))),
    CONSTRAINT supplier_machines_secret_is_used_up CHECK (((stage = 'trusting'::text) OR (trust_token IS NULL))),
    CONSTRAINT supplier_machines_server_certificate_check CHECK (((length(server_certificate) >= 1) AND (length(server_certificate) <= 16384))),
    CONSTRAINT supplier_machines_server_fingerprint_check CHECK ((server_fingerprint ~ '^[0-9a-f]{64}$'::text)),
    CONSTRAINT supplier_machines_stage_check CHECK ((stage = ANY (ARRAY['trusting'::text, 'inspecting'::text, 'testing'::text, 'enrolled'::text, 'refused'::text, 'withdrawn'::text]))),
    CONSTRAINT supplier_machines_tested_has_a_node CHECK (((stage <> ALL (ARRAY['testing'::text, 'enrolled'::text])) OR (node_id IS NOT NULL))),
    CONSTRAINT supplier_machines_tests_check CHECK ((jsonb_typeof(tests) = 'object'::text)),
    CONSTRAINT supplier_machines_tries_check CHECK ((tries >= 0)),
    CONSTRAINT supplier_machines_trust_token_check CHECK (((length(trust_token) >= 1) AND (length(trust_token) <= 16384))),
    CONSTRAINT supplier_machines_version_check CHECK ((version >= 1)),
    CONSTRAINT supplier_machines_withdrawn_when_withdrawn CHECK (((stage = 'withdrawn'::text) = (withdrawn_at IS NOT NULL)))
);

COMMENT ON TABLE public.supplier_machines IS 'Machines of suppliers, from the request to join. Their hardware is in nodes and gpus, as for every machine.';

COMMENT ON COLUMN public.supplier_machines.endpoint IS 'Address of its daemon: https, a host and a port.';

COMMENT ON COLUMN public.supplier_machines.server_certificate IS 'The only certificate accepted from the daemon. Public.';

COMMENT ON COLUMN public.supplier_machines.server_fingerprint IS 'SHA-256 of that certificate. It identifies the daemon under any of its host names.';

COMMENT ON COLUMN public.supplier_machines.trust_token IS 'One-time token that makes the daemon trust our certificate, encrypted. Deleted after use.';

COMMENT ON COLUMN public.supplier_machines.stage IS 'trusting: registering our certificate, for one project only. inspecting: reading the hardware. testing: running the self-test. Only enrolled machines can be sold.';

COMMENT ON COLUMN public.supplier_machines.tests IS 'Results of the self-test, with notes for people.';

COMMENT ON COLUMN public.supplier_machines.listed IS 'The supplier wants the machine listed. It is listed if the operator has also approved it.';

COMMENT ON COLUMN public.supplier_machines.drained_at IS 'When the supplier drained the machine and may resume it; null: the supplier has not.';

COMMENT ON COLUMN public.supplier_machines.recent_price_nano_usd_per_gpu_hour IS 'The lowest price shortly before a price rise or an unlisting. Renters pay at most this until recent_price_until, because they may have seen it.';

CREATE TABLE public.supplier_payouts (
    id uuid NOT NULL,
    supplier_id uuid NOT NULL,
    org_id uuid NOT NULL,
    amount_nano_usd bigint NOT NULL,
    status text NOT NULL,
    reference text,
    reason text,
    hold_id uuid NOT NULL,
    transfer_id uuid,
    requested_by uuid NOT NULL,
    requested_at timestamp with time zone NOT NULL,
    settled_at timestamp with time zone,
    CONSTRAINT supplier_payouts_amount_nano_usd_check CHECK ((amount_nano_usd > 0)),
    CONSTRAINT supplier_payouts_paid_by_a_transfer CHECK (((status = 'paid'::text) = (transfer_id IS NOT NULL))),
    CONSTRAINT supplier_payouts_reason_check CHECK (((length(reason) >= 1) AND (length(reason) <= 1000))),
    CONSTRAINT supplier_payouts_reference_check CHECK ((length(reference) <= 255)),
    CONSTRAINT supplier_payouts_settled_when_settled CHECK (((status = 'requested'::text) = (settled_at IS NULL))),
    CONSTRAINT supplier_payouts_status_check CHECK ((status = ANY (ARRAY['requested'::text, 'paid'::text, 'rejected'::text])))
);

COMMENT ON TABLE public.supplier_payouts IS 'Payouts requested by suppliers, with their results. Money leaves the ledger when an operator confirms the payment.';

COMMENT ON COLUMN public.supplier_payouts.reference IS 'Reference of the payment, such as the number of a bank transfer.';

COMMENT ON COLUMN public.supplier_payouts.reason IS 'The operator''s reason; shown to the supplier after a rejection.';

COMMENT ON COLUMN public.supplier_payouts.hold_id IS 'The hold of the amount since the request, so that no amount is requested twice. Closed by the settlement.';

CREATE TABLE public.supplier_statements (
    id uuid NOT NULL,
    supplier_id uuid NOT NULL,
    org_id uuid NOT NULL,
    period_start timestamp with time zone NOT NULL,
    period_end timestamp with time zone NOT NULL,
    gross_nano_usd bigint NOT NULL,
    fee_nano_usd bigint NOT NULL,
    net_nano_usd bigint NOT NULL,
    lines jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT supplier_statements_add_up CHECK ((gross_nano_usd = (fee_nano_usd + net_nano_usd))),
    CONSTRAINT supplier_statements_lines_check CHECK ((jsonb_typeof(lines) = 'array'::text)),
    CONSTRAINT supplier_statements_period_is_one CHECK ((period_start < period_end))
);

COMMENT ON TABLE public.supplier_statements IS 'Ledger postings of a month (UTC) for a supplier''s machines, by machine, less refunds. Written once, when the month is over.';

COMMENT ON COLUMN public.supplier_statements.lines IS 'By machine: [{"machineId": …, "gpuSeconds": …, "grossNanoUsd": "…", "feeNanoUsd": "…"}]. They sum to the statement.';

CREATE TABLE public.suppliers (
    id uuid NOT NULL,
    org_id uuid NOT NULL,
    name text NOT NULL,
    about text NOT NULL,
    status text NOT NULL,
    status_reason text,
    fee_ppm integer DEFAULT 0 NOT NULL,
    applied_at timestamp with time zone NOT NULL,
    approved_at timestamp with time zone,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT suppliers_about_check CHECK ((length(about) <= 2000)),
    CONSTRAINT suppliers_approved_when_approved CHECK (((status <> ALL (ARRAY['approved'::text, 'suspended'::text])) OR (approved_at IS NOT NULL))),
    CONSTRAINT suppliers_fee_ppm_check CHECK (((fee_ppm >= 0) AND (fee_ppm <= 1000000))),
    CONSTRAINT suppliers_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
    CONSTRAINT suppliers_status_check CHECK ((status = ANY (ARRAY['applied'::text, 'approved'::text, 'rejected'::text, 'suspended'::text]))),
    CONSTRAINT suppliers_status_reason_check CHECK (((length(status_reason) >= 1) AND (length(status_reason) <= 1000)))
);

COMMENT ON TABLE public.suppliers IS 'Organisations that applied to supply machines. One row each, also after a rejection.';

COMMENT ON COLUMN public.suppliers.fee_ppm IS 'The operator''s share of each charge, in parts per million. Running rentals keep the fee at which they were rented.';

CREATE TABLE public.two_factors (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    secret text NOT NULL,
    backup_codes text NOT NULL,
    verified boolean DEFAULT true NOT NULL,
    failed_verification_count integer DEFAULT 0 NOT NULL,
    locked_until timestamp with time zone
);

COMMENT ON TABLE public.two_factors IS 'Second factors of people: time-based codes and backup codes.';

COMMENT ON COLUMN public.two_factors.secret IS 'Encrypted with MILLRACE_AUTH_SECRET.';

COMMENT ON COLUMN public.two_factors.backup_codes IS 'Encrypted with MILLRACE_AUTH_SECRET; each code is deleted after use.';

COMMENT ON COLUMN public.two_factors.verified IS 'False until the person has entered a first code; until then sign-in does not ask for one.';

COMMENT ON COLUMN public.two_factors.failed_verification_count IS 'Consecutive wrong codes; too many lock the factor for some time.';

CREATE TABLE public.usage_archive_guard (
    only_row boolean DEFAULT true NOT NULL,
    old_charges bigint DEFAULT 0 NOT NULL,
    CONSTRAINT usage_archive_guard_only_row_check CHECK (only_row)
);

COMMENT ON TABLE public.usage_archive_guard IS 'Locked by charges of usage that is older than 30 days and by the begin of an archive, so that neither misses the other.';

CREATE TABLE public.usage_archives (
    through date NOT NULL,
    cutoff uuid NOT NULL,
    requests bigint NOT NULL,
    begun_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    deleted_partitions integer DEFAULT 0 NOT NULL,
    deleted_at timestamp with time zone,
    CONSTRAINT usage_archives_deleted_partitions_check CHECK ((deleted_partitions >= 0)),
    CONSTRAINT usage_archives_end_a_month CHECK ((through = (date_trunc('month'::text, (through)::timestamp without time zone))::date)),
    CONSTRAINT usage_archives_requests_check CHECK ((requests >= 0))
);

COMMENT ON TABLE public.usage_archives IS 'Each row archives the requests of the closed months before its date that no earlier row archives.';

COMMENT ON COLUMN public.usage_archives.cutoff IS 'Requests with a smaller id are archived. Audits begin here.';

COMMENT ON COLUMN public.usage_archives.requests IS 'How many requests it counted in usage_months.';

COMMENT ON COLUMN public.usage_archives.deleted_at IS 'When the last details had been deleted; null while they are deleted.';

CREATE TABLE public.usage_charges (
    request_id uuid NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    key_id uuid,
    lease_id uuid,
    gateway_id text NOT NULL,
    product text NOT NULL,
    amount_nano_usd bigint NOT NULL,
    borne_nano_usd bigint DEFAULT 0 NOT NULL,
    transfer_id uuid,
    outcome text NOT NULL,
    recorded_at timestamp with time zone NOT NULL,
    CONSTRAINT usage_charges_amount_nano_usd_check CHECK ((amount_nano_usd >= 0)),
    CONSTRAINT usage_charges_borne_nano_usd_check CHECK ((borne_nano_usd >= 0)),
    CONSTRAINT usage_charges_gateway_id_check CHECK (((length(gateway_id) >= 1) AND (length(gateway_id) <= 100))),
    CONSTRAINT usage_charges_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT usage_charges_only_charged_has_a_transfer CHECK (((transfer_id IS NULL) OR (outcome = 'charged'::text))),
    CONSTRAINT usage_charges_outcome_check CHECK ((outcome = ANY (ARRAY['charged'::text, 'late'::text, 'unknown_lease'::text, 'overpriced'::text]))),
    CONSTRAINT usage_charges_product_check CHECK (((length(product) >= 1) AND (length(product) <= 200)))
)
PARTITION BY RANGE (request_id);

COMMENT ON TABLE public.usage_charges IS 'One row per request that reported usage, so that none is charged twice. Append-only. Partitioned by the day in the request id, a UUIDv7; the worker creates partitions in advance.';

COMMENT ON COLUMN public.usage_charges.product IS 'The model or other product used. Requests of one product, key and lease in a batch share a transfer.';

COMMENT ON COLUMN public.usage_charges.amount_nano_usd IS 'Cost of the request; charged only if the outcome says so.';

COMMENT ON COLUMN public.usage_charges.borne_nano_usd IS 'Cost above the reservation, posted to the operator''s shortfall account.';

COMMENT ON COLUMN public.usage_charges.transfer_id IS 'The transfer that charged it; null if nothing was charged.';

COMMENT ON COLUMN public.usage_charges.outcome IS 'late: the lease was closed, or its gateway settled, before the usage arrived. unknown_lease: the organisation has no such lease. overpriced: the reported cost exceeds the highest possible cost of the model. None of these is charged.';

CREATE TABLE public.usage_charges_rest (
    request_id uuid NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    key_id uuid,
    lease_id uuid,
    gateway_id text NOT NULL,
    product text NOT NULL,
    amount_nano_usd bigint NOT NULL,
    borne_nano_usd bigint DEFAULT 0 NOT NULL,
    transfer_id uuid,
    outcome text NOT NULL,
    recorded_at timestamp with time zone NOT NULL,
    CONSTRAINT usage_charges_amount_nano_usd_check CHECK ((amount_nano_usd >= 0)),
    CONSTRAINT usage_charges_borne_nano_usd_check CHECK ((borne_nano_usd >= 0)),
    CONSTRAINT usage_charges_gateway_id_check CHECK (((length(gateway_id) >= 1) AND (length(gateway_id) <= 100))),
    CONSTRAINT usage_charges_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT usage_charges_only_charged_has_a_transfer CHECK (((transfer_id IS NULL) OR (outcome = 'charged'::text))),
    CONSTRAINT usage_charges_outcome_check CHECK ((outcome = ANY (ARRAY['charged'::text, 'late'::text, 'unknown_lease'::text, 'overpriced'::text]))),
    CONSTRAINT usage_charges_product_check CHECK (((length(product) >= 1) AND (length(product) <= 200)))
);

COMMENT ON TABLE public.usage_charges_rest IS 'Rows that arrived before the partition of their day existed. Creating the partition moves them.';

CREATE TABLE public.usage_deferred (
    stream text NOT NULL,
    seq bigint NOT NULL,
    "position" integer NOT NULL,
    org_id uuid NOT NULL,
    lease_id uuid,
    lane uuid GENERATED ALWAYS AS (COALESCE(lease_id, org_id)) STORED NOT NULL,
    kind text NOT NULL,
    payload jsonb NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    recorded_at timestamp with time zone NOT NULL,
    CONSTRAINT usage_deferred_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT usage_deferred_kind_check CHECK ((kind = ANY (ARRAY['usage'::text, 'end'::text]))),
    CONSTRAINT usage_deferred_position_check CHECK (("position" >= 0)),
    CONSTRAINT usage_deferred_seq_check CHECK ((seq > 0)),
    CONSTRAINT usage_deferred_stream_check CHECK (((length(stream) >= 1) AND (length(stream) <= 200)))
)
WITH (fillfactor='70');

COMMENT ON TABLE public.usage_deferred IS 'Usage whose charge the ledger refused or that timed out. A worker charges each request once and deletes the row. A lease with rows here is not closed.';

COMMENT ON COLUMN public.usage_deferred."position" IS 'Index of the event in the message, from 0.';

COMMENT ON COLUMN public.usage_deferred.lane IS 'Rows of one organisation and lane are charged separately from all others: those of one lease, or those without a lease.';

COMMENT ON COLUMN public.usage_deferred.kind IS 'end: the end marker of a gateway''s epochs, which follows its usage in the stream.';

COMMENT ON COLUMN public.usage_deferred.attempts IS 'Failed attempts of this row. Rows with fewer are tried first.';

CREATE TABLE public.usage_months (
    month date NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    key_id uuid NOT NULL,
    model text NOT NULL,
    outcome text NOT NULL,
    requests bigint NOT NULL,
    tokens_prompt numeric(40,0) NOT NULL,
    tokens_cached numeric(40,0) NOT NULL,
    tokens_completion numeric(40,0) NOT NULL,
    image_pixel_steps numeric(40,0) NOT NULL,
    characters numeric(40,0) NOT NULL,
    priced_nano_usd numeric(40,0) NOT NULL,
    cost_nano_usd numeric(40,0) NOT NULL,
    CONSTRAINT usage_months_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))
);

COMMENT ON TABLE public.usage_months IS 'Sums of archived requests. The month is the one in their ids.';

CREATE TABLE public.usage_sinks (
    stream text NOT NULL,
    holder text NOT NULL,
    held_until timestamp with time zone NOT NULL,
    CONSTRAINT usage_sinks_holder_check CHECK (((length(holder) >= 1) AND (length(holder) <= 200))),
    CONSTRAINT usage_sinks_stream_check CHECK (((length(stream) >= 1) AND (length(stream) <= 200)))
);

COMMENT ON TABLE public.usage_sinks IS 'The worker that processes each usage stream. Only saves work: concurrent workers are serialised by the stream''s row in usage_watermarks.';

CREATE TABLE public.usage_unreadable (
    stream text NOT NULL,
    seq bigint NOT NULL,
    "position" integer NOT NULL,
    problem text NOT NULL,
    payload text NOT NULL,
    recorded_at timestamp with time zone NOT NULL,
    CONSTRAINT usage_unreadable_position_check CHECK (("position" >= 0)),
    CONSTRAINT usage_unreadable_problem_check CHECK (((length(problem) >= 1) AND (length(problem) <= 1000))),
    CONSTRAINT usage_unreadable_seq_check CHECK ((seq > 0))
);

COMMENT ON TABLE public.usage_unreadable IS 'Messages of a usage stream that could not be parsed or stored, kept for an operator. The stream continues without them, and they are not charged.';

COMMENT ON COLUMN public.usage_unreadable."position" IS 'Index of the event in the message, from 0; 0 with the whole message as payload if no event could be parsed.';

CREATE TABLE public.usage_watermarks (
    stream text NOT NULL,
    passed_seq bigint NOT NULL,
    CONSTRAINT usage_watermarks_passed_seq_check CHECK ((passed_seq >= 0)),
    CONSTRAINT usage_watermarks_stream_check CHECK (((length(stream) >= 1) AND (length(stream) <= 200)))
);

COMMENT ON TABLE public.usage_watermarks IS 'Progress of the sink in each usage stream: everything up to passed_seq is charged or recorded.';

CREATE TABLE public.users (
    id uuid NOT NULL,
    name text NOT NULL,
    email text NOT NULL,
    email_verified boolean DEFAULT false NOT NULL,
    image text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    two_factor_enabled boolean DEFAULT false NOT NULL,
    CONSTRAINT users_email_check CHECK (((email = lower(email)) AND (length(email) <= 255) AND (POSITION(('@'::text) IN (email)) > 1))),
    CONSTRAINT users_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255)))
);

COMMENT ON TABLE public.users IS 'People. A person has one row, however many organisations they belong to.';

COMMENT ON COLUMN public.users.email IS 'Always lower case, so that one address is one user.';

COMMENT ON COLUMN public.users.email_verified IS 'True after the person confirmed the address; sign-in maintains it.';

COMMENT ON COLUMN public.users.two_factor_enabled IS 'True after the person confirmed a second factor; a password alone is then not enough to sign in.';

CREATE TABLE public.verifications (
    id uuid NOT NULL,
    identifier text NOT NULL,
    value text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

COMMENT ON TABLE public.verifications IS 'Short-lived confirmations in progress (email address, password reset).';

CREATE TABLE public.volume_attachments (
    id bigint NOT NULL,
    volume_id uuid NOT NULL,
    rental_id uuid NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    attached_at timestamp with time zone NOT NULL,
    detached_at timestamp with time zone,
    CONSTRAINT volume_attachments_check CHECK ((detached_at >= attached_at)),
    CONSTRAINT volume_attachments_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))
);

COMMENT ON TABLE public.volume_attachments IS 'Rentals that may use a volume, now or in the past. A volume may have several at once.';

ALTER TABLE public.volume_attachments ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.volume_attachments_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.volume_snapshots (
    id uuid NOT NULL,
    volume_id uuid NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    label text NOT NULL,
    size_gb integer NOT NULL,
    price jsonb NOT NULL,
    hold_id uuid,
    status text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    make_by timestamp with time zone NOT NULL,
    ready_at timestamp with time zone,
    ended_at timestamp with time zone,
    tries integer DEFAULT 0 NOT NULL,
    last_error text,
    volume_gb integer NOT NULL,
    CONSTRAINT volume_snapshots_ended_when_ended CHECK (((status = ANY (ARRAY['failed'::text, 'deleted'::text])) = (ended_at IS NOT NULL))),
    CONSTRAINT volume_snapshots_label_check CHECK (((length(label) >= 1) AND (length(label) <= 255))),
    CONSTRAINT volume_snapshots_last_error_check CHECK ((length(last_error) <= 2000)),
    CONSTRAINT volume_snapshots_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT volume_snapshots_price_check CHECK ((jsonb_typeof(price) = 'object'::text)),
    CONSTRAINT volume_snapshots_ready_since CHECK (((status <> 'ready'::text) OR (ready_at IS NOT NULL))),
    CONSTRAINT volume_snapshots_size_gb_check CHECK ((size_gb >= 0)),
    CONSTRAINT volume_snapshots_status_check CHECK ((status = ANY (ARRAY['creating'::text, 'ready'::text, 'failed'::text, 'deleting'::text, 'deleted'::text]))),
    CONSTRAINT volume_snapshots_tries_check CHECK ((tries >= 0)),
    CONSTRAINT volume_snapshots_volume_gb_check CHECK (((volume_gb >= 1) AND (volume_gb <= 64000)))
)
WITH (fillfactor='80');

COMMENT ON TABLE public.volume_snapshots IS 'Snapshots of volumes. Billed like the volume; deleted when the volume is purged.';

COMMENT ON COLUMN public.volume_snapshots.size_gb IS 'The volume''s size while it is created; the space used once it is ready.';

COMMENT ON COLUMN public.volume_snapshots.price IS 'Frozen for this size.';

COMMENT ON COLUMN public.volume_snapshots.make_by IS 'The snapshot fails if it is not ready by this time.';

COMMENT ON COLUMN public.volume_snapshots.volume_gb IS 'Size of the file system in the snapshot; a volume that it is restored into must be at least as large.';

CREATE TABLE public.volume_transitions (
    volume_id uuid NOT NULL,
    seq integer NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    from_status text,
    to_status text,
    reason text,
    actor text NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT volume_transitions_actor_check CHECK (((length(actor) >= 1) AND (length(actor) <= 100))),
    CONSTRAINT volume_transitions_begin_somewhere CHECK (((seq = 1) = (from_status IS NULL))),
    CONSTRAINT volume_transitions_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT volume_transitions_reason_check CHECK (((length(reason) >= 1) AND (length(reason) <= 1000))),
    CONSTRAINT volume_transitions_seq_check CHECK ((seq >= 1))
);

COMMENT ON TABLE public.volume_transitions IS 'Status changes of each volume, with actor and reason. Append-only.';

COMMENT ON COLUMN public.volume_transitions.to_status IS 'Null: the volume was deleted.';

CREATE TABLE public.wallet_ladders (
    org_id uuid NOT NULL,
    mode text NOT NULL,
    shard smallint NOT NULL,
    step text NOT NULL,
    since timestamp with time zone NOT NULL,
    CONSTRAINT wallet_ladders_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT wallet_ladders_shard_check CHECK (((shard >= 0) AND (shard <= 63))),
    CONSTRAINT wallet_ladders_step_check CHECK ((step = ANY (ARRAY['fine'::text, 'day'::text, 'hour'::text, 'quarter'::text, 'empty'::text])))
)
WITH (fillfactor='80');

COMMENT ON TABLE public.wallet_ladders IS 'The dunning level of each wallet. No row: the wallet never came near its end.';

COMMENT ON COLUMN public.wallet_ladders.shard IS 'The shard of the organisation.';

COMMENT ON COLUMN public.wallet_ladders.step IS 'The lowest level announced: a day, an hour or a quarter of an hour of runway, or none.';

COMMENT ON COLUMN public.wallet_ladders.since IS 'When the wallet reached this level.';

CREATE TABLE public.webhook_deliveries (
    webhook_id uuid NOT NULL,
    seq bigint NOT NULL,
    id uuid NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    event_id uuid NOT NULL,
    event_type text NOT NULL,
    resource_kind text NOT NULL,
    resource_id text NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    failures smallint DEFAULT 0 NOT NULL,
    attempts jsonb DEFAULT '[]'::jsonb NOT NULL,
    next_attempt_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT webhook_deliveries_attempts_check CHECK (((jsonb_typeof(attempts) = 'array'::text) AND (jsonb_array_length(attempts) <= 30))),
    CONSTRAINT webhook_deliveries_failures_check CHECK ((failures >= 0)),
    CONSTRAINT webhook_deliveries_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT webhook_deliveries_pending_has_its_time CHECK (((status = 'pending'::text) = (next_attempt_at IS NOT NULL))),
    CONSTRAINT webhook_deliveries_seq_check CHECK ((seq >= 1)),
    CONSTRAINT webhook_deliveries_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'succeeded'::text, 'failed'::text, 'abandoned'::text])))
)
WITH (fillfactor='70');

COMMENT ON TABLE public.webhook_deliveries IS 'Deliveries of events to webhooks. No foreign keys and no checks: the statement that numbers events inserts here and must not fail because of it.';

COMMENT ON COLUMN public.webhook_deliveries.seq IS 'The number of the event. Deliveries about one resource are sent in this order, one at a time.';

COMMENT ON COLUMN public.webhook_deliveries.id IS 'The public id: the first bits of the event''s id, with its time and cell, then a digest of event and webhook.';

COMMENT ON COLUMN public.webhook_deliveries.status IS 'pending: retried until it succeeds. failed: the last attempt failed. abandoned: not retried further because the webhook was disabled.';

COMMENT ON COLUMN public.webhook_deliveries.failures IS 'Failed attempts since it was last requested: its position in the retry schedule.';

COMMENT ON COLUMN public.webhook_deliveries.attempts IS 'The newest attempts, oldest first: at, httpStatus, error, durationMs.';

COMMENT ON COLUMN public.webhook_deliveries.next_attempt_at IS 'Not tried before this time, by the workers'' clock, nor before earlier deliveries about the same resource are done.';

COMMENT ON COLUMN public.webhook_deliveries.created_at IS 'By the database''s clock. Retention uses this time.';

CREATE TABLE public.webhook_queues (
    webhook_id uuid NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    next_due_at timestamp with time zone,
    wakes bigint DEFAULT 0 NOT NULL,
    failing boolean DEFAULT false NOT NULL,
    holder text,
    fence bigint DEFAULT 0 NOT NULL,
    lease_until timestamp with time zone,
    CONSTRAINT webhook_queues_fence_check CHECK ((fence >= 0)),
    CONSTRAINT webhook_queues_held_until CHECK (((holder IS NULL) = (lease_until IS NULL))),
    CONSTRAINT webhook_queues_holder_check CHECK (((length(holder) >= 1) AND (length(holder) <= 200))),
    CONSTRAINT webhook_queues_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT webhook_queues_wakes_check CHECK ((wakes >= 0))
)
WITH (fillfactor='50');

COMMENT ON TABLE public.webhook_queues IS 'Webhooks with pending deliveries, and the worker that sends them: one worker at a time per webhook.';

COMMENT ON COLUMN public.webhook_queues.next_due_at IS 'When the next delivery is due, by the workers'' clock; null if none is pending.';

COMMENT ON COLUMN public.webhook_queues.wakes IS 'Grows with every addition, so that a worker that found nothing can detect deliveries added meanwhile.';

COMMENT ON COLUMN public.webhook_queues.failing IS 'The last attempt failed. Failing webhooks share a limited part of the workers'' slots, so that they do not delay the others.';

COMMENT ON COLUMN public.webhook_queues.fence IS 'Fencing token: grows with each change of worker. Writes of a worker that lost the webhook change nothing.';

COMMENT ON COLUMN public.webhook_queues.lease_until IS 'By the database''s clock.';

CREATE TABLE public.webhooks (
    id uuid NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    url text NOT NULL,
    description text NOT NULL,
    event_types text[] NOT NULL,
    status text NOT NULL,
    disabled_by text,
    disabled_reason text,
    disabled_at timestamp with time zone,
    secret_sealed text NOT NULL,
    previous_secret_sealed text,
    previous_secret_until timestamp with time zone,
    created_by uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    last_succeeded_at timestamp with time zone,
    failing_since timestamp with time zone,
    last_error text,
    deleted_at timestamp with time zone,
    CONSTRAINT webhooks_deleted_is_disabled CHECK (((deleted_at IS NULL) OR (status = 'disabled'::text))),
    CONSTRAINT webhooks_description_check CHECK ((length(description) <= 255)),
    CONSTRAINT webhooks_disabled_by_check CHECK ((disabled_by = ANY (ARRAY['person'::text, 'failures'::text]))),
    CONSTRAINT webhooks_disabled_reason_check CHECK (((length(disabled_reason) >= 1) AND (length(disabled_reason) <= 2000))),
    CONSTRAINT webhooks_disabled_says_why CHECK ((((status = 'disabled'::text) = (disabled_by IS NOT NULL)) AND ((status = 'disabled'::text) = (disabled_reason IS NOT NULL)) AND ((status = 'disabled'::text) = (disabled_at IS NOT NULL)))),
    CONSTRAINT webhooks_event_types_check CHECK (((cardinality(event_types) >= 1) AND (cardinality(event_types) <= 1000))),
    CONSTRAINT webhooks_last_error_check CHECK ((length(last_error) <= 2000)),
    CONSTRAINT webhooks_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT webhooks_previous_secret_ends CHECK (((previous_secret_sealed IS NULL) = (previous_secret_until IS NULL))),
    CONSTRAINT webhooks_previous_secret_sealed_check CHECK ((length(previous_secret_sealed) <= 1000)),
    CONSTRAINT webhooks_secret_sealed_check CHECK ((length(secret_sealed) <= 1000)),
    CONSTRAINT webhooks_status_check CHECK ((status = ANY (ARRAY['enabled'::text, 'disabled'::text]))),
    CONSTRAINT webhooks_url_check CHECK (((length(url) >= 1) AND (length(url) <= 2048)))
)
WITH (fillfactor='70');

COMMENT ON TABLE public.webhooks IS 'Addresses to which organisations have their events sent.';

COMMENT ON COLUMN public.webhooks.mode IS 'live or test. Only events of the same mode are sent.';

COMMENT ON COLUMN public.webhooks.event_types IS 'The types sent; * means every type, including future ones.';

COMMENT ON COLUMN public.webhooks.disabled_by IS 'person: disabled or deleted by its owner. failures: disabled after days without a success. Notices depend on it.';

COMMENT ON COLUMN public.webhooks.secret_sealed IS 'The signing secret, encrypted for this row and column.';

COMMENT ON COLUMN public.webhooks.previous_secret_sealed IS 'Also signs until previous_secret_until, so that receivers can change over.';

COMMENT ON COLUMN public.webhooks.failing_since IS 'First failed attempt since the last success; null while deliveries succeed.';

COMMENT ON COLUMN public.webhooks.last_error IS 'Error of the newest attempt, if it failed.';

COMMENT ON COLUMN public.webhooks.deleted_at IS 'Deleted by its owner. The row stays until its deliveries are deleted.';

CREATE TABLE public.written_off_clawbacks (
    transfer_id uuid NOT NULL
);

COMMENT ON TABLE public.written_off_clawbacks IS 'Clawbacks whose uncovered part the operator does not claim, from before debts were recorded.';

CREATE TABLE public.written_off_machines (
    org_id uuid NOT NULL,
    cluster_id uuid NOT NULL,
    external_id text NOT NULL,
    mode text NOT NULL,
    node_id uuid NOT NULL,
    written_off_at timestamp with time zone NOT NULL,
    absent_at timestamp with time zone,
    CONSTRAINT written_off_machines_external_id_check CHECK (((length(external_id) >= 1) AND (length(external_id) <= 255))),
    CONSTRAINT written_off_machines_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))
);

COMMENT ON TABLE public.written_off_machines IS 'Machines that an operator wrote off because their host never returned. A node with one that may still exist stays out of service.';

COMMENT ON COLUMN public.written_off_machines.absent_at IS 'When the engine later reported that it has no such machine. Null: unknown.';

ALTER TABLE ONLY public.inference_requests ATTACH PARTITION public.inference_requests_rest DEFAULT;

ALTER TABLE ONLY public.rental_samples ATTACH PARTITION public.rental_samples_0 FOR VALUES IN ('0');

ALTER TABLE ONLY public.rental_samples ATTACH PARTITION public.rental_samples_1 FOR VALUES IN ('1');

ALTER TABLE ONLY public.rental_samples ATTACH PARTITION public.rental_samples_2 FOR VALUES IN ('2');

ALTER TABLE ONLY public.rental_samples ATTACH PARTITION public.rental_samples_3 FOR VALUES IN ('3');

ALTER TABLE ONLY public.rental_samples ATTACH PARTITION public.rental_samples_4 FOR VALUES IN ('4');

ALTER TABLE ONLY public.rental_samples ATTACH PARTITION public.rental_samples_5 FOR VALUES IN ('5');

ALTER TABLE ONLY public.rental_samples ATTACH PARTITION public.rental_samples_6 FOR VALUES IN ('6');

ALTER TABLE ONLY public.rental_samples ATTACH PARTITION public.rental_samples_7 FOR VALUES IN ('7');

ALTER TABLE ONLY public.rental_samples ATTACH PARTITION public.rental_samples_8 FOR VALUES IN ('8');

ALTER TABLE ONLY public.usage_charges ATTACH PARTITION public.usage_charges_rest DEFAULT;

ALTER TABLE ONLY public.mock_machines ALTER COLUMN change_seq SET DEFAULT nextval('public.mock_machine_changes'::regclass);

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_provider_account_key UNIQUE (provider_id, account_id);

ALTER TABLE ONLY public.allocated_gpus
    ADD CONSTRAINT allocated_gpus_pkey PRIMARY KEY (allocation_id, gpu_id);

ALTER TABLE ONLY public.allocated_ports
    ADD CONSTRAINT allocated_ports_pkey PRIMARY KEY (allocation_id, node_id, protocol, external_port);

ALTER TABLE ONLY public.allocations
    ADD CONSTRAINT allocations_id_mode_org_id_key UNIQUE (id, mode, org_id);

ALTER TABLE ONLY public.allocations
    ADD CONSTRAINT allocations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_one_successor UNIQUE (rotated_from);

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_public_id_key UNIQUE (public_id);

ALTER TABLE ONLY public.archived_ledger_entries
    ADD CONSTRAINT archived_ledger_entries_pkey PRIMARY KEY (transfer_id, account_id);

ALTER TABLE ONLY public.archived_ledger_transfers
    ADD CONSTRAINT archived_ledger_transfers_once UNIQUE (org_id, idempotency_key);

ALTER TABLE ONLY public.archived_ledger_transfers
    ADD CONSTRAINT archived_ledger_transfers_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.audit_log
    ADD CONSTRAINT audit_log_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.audit_marks
    ADD CONSTRAINT audit_marks_pkey PRIMARY KEY (account_id);

ALTER TABLE ONLY public.audit_runs
    ADD CONSTRAINT audit_runs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.book_changes
    ADD CONSTRAINT book_changes_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.budgets
    ADD CONSTRAINT budgets_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.cluster_comparisons
    ADD CONSTRAINT cluster_comparisons_pkey PRIMARY KEY (cluster_id);

ALTER TABLE ONLY public.cluster_observers
    ADD CONSTRAINT cluster_observers_pkey PRIMARY KEY (holder);

ALTER TABLE ONLY public.clusters
    ADD CONSTRAINT clusters_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.demo_mark
    ADD CONSTRAINT demo_mark_pkey PRIMARY KEY (is_only);

ALTER TABLE ONLY public.device_codes
    ADD CONSTRAINT device_codes_device_code_key UNIQUE (device_code);

ALTER TABLE ONLY public.device_codes
    ADD CONSTRAINT device_codes_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.device_codes
    ADD CONSTRAINT device_codes_user_code_key UNIQUE (user_code);

ALTER TABLE ONLY public.entitlements
    ADD CONSTRAINT entitlements_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.event_heads
    ADD CONSTRAINT event_heads_pkey PRIMARY KEY (org_id);

ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_id_key UNIQUE (id);

ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (org_id, seq);

ALTER TABLE ONLY public.fabrics
    ADD CONSTRAINT fabrics_cluster_id_name_key UNIQUE (cluster_id, name);

ALTER TABLE ONLY public.fabrics
    ADD CONSTRAINT fabrics_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.gpus
    ADD CONSTRAINT gpus_id_node_id_key UNIQUE (id, node_id);

ALTER TABLE ONLY public.gpus
    ADD CONSTRAINT gpus_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.id_blocks
    ADD CONSTRAINT id_blocks_pkey PRIMARY KEY (kind, block);

ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_operation_row_id_key UNIQUE (operation_row_id);

ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (org_id, key);

ALTER TABLE ONLY public.inference_checkpoints
    ADD CONSTRAINT inference_checkpoints_pkey PRIMARY KEY (request_id);

ALTER TABLE ONLY public.inference_deployments
    ADD CONSTRAINT inference_deployments_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.inference_model_names
    ADD CONSTRAINT inference_model_names_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.inference_models
    ADD CONSTRAINT inference_models_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.inference_requests
    ADD CONSTRAINT inference_requests_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.inference_requests_rest
    ADD CONSTRAINT inference_requests_rest_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.instances
    ADD CONSTRAINT instances_name_once UNIQUE (name);

ALTER TABLE ONLY public.instances
    ADD CONSTRAINT instances_pkey PRIMARY KEY (rental_id);

ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT invitations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.invoice_counter
    ADD CONSTRAINT invoice_counter_pkey PRIMARY KEY (is_only);

ALTER TABLE ONLY public.invoice_gaps
    ADD CONSTRAINT invoice_gaps_pkey PRIMARY KEY (first_number);

ALTER TABLE ONLY public.invoice_months
    ADD CONSTRAINT invoice_months_pkey PRIMARY KEY (month);

ALTER TABLE ONLY public.invoices
    ADD CONSTRAINT invoices_number_key UNIQUE (number);

ALTER TABLE ONLY public.invoices
    ADD CONSTRAINT invoices_once_a_month UNIQUE (org_id, period_start);

ALTER TABLE ONLY public.invoices
    ADD CONSTRAINT invoices_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.ledger_accounts
    ADD CONSTRAINT ledger_accounts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.ledger_archived_keys
    ADD CONSTRAINT ledger_archived_keys_pkey PRIMARY KEY (key_hash);

ALTER TABLE ONLY public.ledger_archived_totals
    ADD CONSTRAINT ledger_archived_totals_pkey PRIMARY KEY (subject, measure);

ALTER TABLE ONLY public.ledger_archives
    ADD CONSTRAINT ledger_archives_cutoff_key UNIQUE (cutoff);

ALTER TABLE ONLY public.ledger_archives
    ADD CONSTRAINT ledger_archives_pkey PRIMARY KEY (through);

ALTER TABLE ONLY public.ledger_entries
    ADD CONSTRAINT ledger_entries_pkey PRIMARY KEY (transfer_id, account_id);

ALTER TABLE ONLY public.ledger_hold_parts
    ADD CONSTRAINT ledger_hold_parts_pkey PRIMARY KEY (hold_id, account_id);

ALTER TABLE ONLY public.ledger_holds
    ADD CONSTRAINT ledger_holds_once UNIQUE (org_id, idempotency_key);

ALTER TABLE ONLY public.ledger_holds
    ADD CONSTRAINT ledger_holds_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.ledger_opening_balances
    ADD CONSTRAINT ledger_opening_balances_pkey PRIMARY KEY (account_id);

ALTER TABLE ONLY public.ledger_transfers
    ADD CONSTRAINT ledger_transfers_once UNIQUE (org_id, idempotency_key);

ALTER TABLE ONLY public.ledger_transfers
    ADD CONSTRAINT ledger_transfers_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.loop_items
    ADD CONSTRAINT loop_items_pkey PRIMARY KEY (loop, item);

ALTER TABLE ONLY public.mail_refusals
    ADD CONSTRAINT mail_refusals_pkey PRIMARY KEY (email);

ALTER TABLE ONLY public.maintenance_nodes
    ADD CONSTRAINT maintenance_nodes_pkey PRIMARY KEY (window_id, node_id);

ALTER TABLE ONLY public.maintenance_notices
    ADD CONSTRAINT maintenance_notices_pkey PRIMARY KEY (window_id, allocation_id);

ALTER TABLE ONLY public.maintenance_windows
    ADD CONSTRAINT maintenance_windows_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.members
    ADD CONSTRAINT members_org_user_key UNIQUE (org_id, user_id);

ALTER TABLE ONLY public.members
    ADD CONSTRAINT members_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.meter_shards
    ADD CONSTRAINT meter_shards_pkey PRIMARY KEY (shard);

ALTER TABLE ONLY public.meter_transitions
    ADD CONSTRAINT meter_transitions_pkey PRIMARY KEY (meter_id, seq);

ALTER TABLE ONLY public.meters
    ADD CONSTRAINT meters_once UNIQUE (org_id, cause_kind, cause_id, name);

ALTER TABLE ONLY public.meters
    ADD CONSTRAINT meters_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.mock_machines
    ADD CONSTRAINT mock_machines_pkey PRIMARY KEY (cluster, org_id, external_id);

ALTER TABLE ONLY public.node_capacity
    ADD CONSTRAINT node_capacity_pkey PRIMARY KEY (node_id);

ALTER TABLE ONLY public.node_faults
    ADD CONSTRAINT node_faults_pkey PRIMARY KEY (node_id, at, rental_id, kind);

ALTER TABLE ONLY public.node_transitions
    ADD CONSTRAINT node_transitions_pkey PRIMARY KEY (node_id, seq);

ALTER TABLE ONLY public.nodes
    ADD CONSTRAINT nodes_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.notice_mails
    ADD CONSTRAINT notice_mails_pkey PRIMARY KEY (notice_id, recipient);

ALTER TABLE ONLY public.notice_preferences
    ADD CONSTRAINT notice_preferences_pkey PRIMARY KEY (org_id, user_id, mode, category);

ALTER TABLE ONLY public.notices
    ADD CONSTRAINT notices_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.organisations
    ADD CONSTRAINT organisations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.organisations
    ADD CONSTRAINT organisations_slug_key UNIQUE (slug);

ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.passkeys
    ADD CONSTRAINT passkeys_credential_id_key UNIQUE (credential_id);

ALTER TABLE ONLY public.passkeys
    ADD CONSTRAINT passkeys_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.payment_disputes
    ADD CONSTRAINT payment_disputes_pkey PRIMARY KEY (provider, dispute_ref);

ALTER TABLE ONLY public.payment_events
    ADD CONSTRAINT payment_events_pkey PRIMARY KEY (provider, event_id);

ALTER TABLE ONLY public.payments
    ADD CONSTRAINT payments_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.platform_roles
    ADD CONSTRAINT platform_roles_pkey PRIMARY KEY (user_id, role);

ALTER TABLE ONLY public.pot_gateways
    ADD CONSTRAINT pot_gateways_pkey PRIMARY KEY (gateway_id);

ALTER TABLE ONLY public.pot_lease_budgets
    ADD CONSTRAINT pot_lease_budgets_hold_id_key UNIQUE (hold_id);

ALTER TABLE ONLY public.pot_lease_budgets
    ADD CONSTRAINT pot_lease_budgets_pkey PRIMARY KEY (lease_id, budget_id);

ALTER TABLE ONLY public.pot_lease_gateways
    ADD CONSTRAINT pot_lease_gateways_pkey PRIMARY KEY (lease_id, gateway_id);

ALTER TABLE ONLY public.pot_leases
    ADD CONSTRAINT pot_leases_epoch_once UNIQUE (org_id, mode, cell, epoch);

ALTER TABLE ONLY public.pot_leases
    ADD CONSTRAINT pot_leases_hold_once UNIQUE (hold_id);

ALTER TABLE ONLY public.pot_leases
    ADD CONSTRAINT pot_leases_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.pot_servers
    ADD CONSTRAINT pot_servers_pkey PRIMARY KEY (cell);

ALTER TABLE ONLY public.pots
    ADD CONSTRAINT pots_pkey PRIMARY KEY (org_id, mode, cell);

ALTER TABLE ONLY public.prices
    ADD CONSTRAINT prices_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.provider_regions
    ADD CONSTRAINT provider_regions_pkey PRIMARY KEY (provider_id, region);

ALTER TABLE ONLY public.providers
    ADD CONSTRAINT providers_id_mode_key UNIQUE (id, mode);

ALTER TABLE ONLY public.providers
    ADD CONSTRAINT providers_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.relay_leases
    ADD CONSTRAINT relay_leases_pkey PRIMARY KEY (shard);

ALTER TABLE ONLY public.relays
    ADD CONSTRAINT relays_pkey PRIMARY KEY (holder);

ALTER TABLE ONLY public.rental_consoles
    ADD CONSTRAINT rental_consoles_pkey PRIMARY KEY (rental_id, attempt, "position");

ALTER TABLE ONLY public.rental_idleness
    ADD CONSTRAINT rental_idleness_pkey PRIMARY KEY (rental_id);

ALTER TABLE ONLY public.rental_machines
    ADD CONSTRAINT rental_machines_external_id_key UNIQUE (external_id);

ALTER TABLE ONLY public.rental_machines
    ADD CONSTRAINT rental_machines_pkey PRIMARY KEY (rental_id, attempt, "position");

ALTER TABLE ONLY public.rental_samples
    ADD CONSTRAINT rental_samples_pkey PRIMARY KEY (rental_id, at, "position", slot);

ALTER TABLE ONLY public.rental_samples_0
    ADD CONSTRAINT rental_samples_0_pkey PRIMARY KEY (rental_id, at, "position", slot);

ALTER TABLE ONLY public.rental_samples_1
    ADD CONSTRAINT rental_samples_1_pkey PRIMARY KEY (rental_id, at, "position", slot);

ALTER TABLE ONLY public.rental_samples_2
    ADD CONSTRAINT rental_samples_2_pkey PRIMARY KEY (rental_id, at, "position", slot);

ALTER TABLE ONLY public.rental_samples_3
    ADD CONSTRAINT rental_samples_3_pkey PRIMARY KEY (rental_id, at, "position", slot);

ALTER TABLE ONLY public.rental_samples_4
    ADD CONSTRAINT rental_samples_4_pkey PRIMARY KEY (rental_id, at, "position", slot);

ALTER TABLE ONLY public.rental_samples_5
    ADD CONSTRAINT rental_samples_5_pkey PRIMARY KEY (rental_id, at, "position", slot);

ALTER TABLE ONLY public.rental_samples_6
    ADD CONSTRAINT rental_samples_6_pkey PRIMARY KEY (rental_id, at, "position", slot);

ALTER TABLE ONLY public.rental_samples_7
    ADD CONSTRAINT rental_samples_7_pkey PRIMARY KEY (rental_id, at, "position", slot);

ALTER TABLE ONLY public.rental_samples_8
    ADD CONSTRAINT rental_samples_8_pkey PRIMARY KEY (rental_id, at, "position", slot);

ALTER TABLE ONLY public.rental_steps
    ADD CONSTRAINT rental_steps_pkey PRIMARY KEY (rental_id, seq);

ALTER TABLE ONLY public.rental_terms
    ADD CONSTRAINT rental_terms_pkey PRIMARY KEY (rental_id, seq);

ALTER TABLE ONLY public.rental_transitions
    ADD CONSTRAINT rental_transitions_pkey PRIMARY KEY (rental_id, seq);

ALTER TABLE ONLY public.rentals
    ADD CONSTRAINT rentals_id_mode_key UNIQUE (id, mode);

ALTER TABLE ONLY public.rentals
    ADD CONSTRAINT rentals_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.rentals
    ADD CONSTRAINT rentals_wire_id_key UNIQUE (wire_id);

ALTER TABLE ONLY public.required_actions
    ADD CONSTRAINT required_actions_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.reservation_requests
    ADD CONSTRAINT reservation_requests_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.reserve_options
    ADD CONSTRAINT reserve_options_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.restore_state
    ADD CONSTRAINT restore_state_pkey PRIMARY KEY (is_only);

ALTER TABLE ONLY public.sample_shards
    ADD CONSTRAINT sample_shards_pkey PRIMARY KEY (shard);

ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_token_key UNIQUE (token);

ALTER TABLE ONLY public.ssh_public_keys
    ADD CONSTRAINT ssh_public_keys_fingerprint_key UNIQUE (org_id, user_id, mode, fingerprint);

ALTER TABLE ONLY public.ssh_public_keys
    ADD CONSTRAINT ssh_public_keys_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.storage_addresses
    ADD CONSTRAINT storage_addresses_pkey PRIMARY KEY (region, address);

ALTER TABLE ONLY public.storage_nodes
    ADD CONSTRAINT storage_nodes_id_mode_key UNIQUE (id, mode);

ALTER TABLE ONLY public.storage_nodes
    ADD CONSTRAINT storage_nodes_name_key UNIQUE (name);

ALTER TABLE ONLY public.storage_nodes
    ADD CONSTRAINT storage_nodes_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.stray_machines
    ADD CONSTRAINT stray_machines_pkey PRIMARY KEY (cluster_id, org_id, external_id);

ALTER TABLE ONLY public.supplier_join_tokens
    ADD CONSTRAINT supplier_join_tokens_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.supplier_join_tokens
    ADD CONSTRAINT supplier_join_tokens_secret_hash_key UNIQUE (secret_hash);

ALTER TABLE ONLY public.supplier_machine_days
    ADD CONSTRAINT supplier_machine_days_pkey PRIMARY KEY (machine_id, day);

ALTER TABLE ONLY public.supplier_machine_trust
    ADD CONSTRAINT supplier_machine_trust_pkey PRIMARY KEY (machine_id);

ALTER TABLE ONLY public.supplier_machines
    ADD CONSTRAINT supplier_machines_cluster_id_key UNIQUE (cluster_id);

ALTER TABLE ONLY public.supplier_machines
    ADD CONSTRAINT supplier_machines_node_id_key UNIQUE (node_id);

ALTER TABLE ONLY public.supplier_machines
    ADD CONSTRAINT supplier_machines_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.supplier_payouts
    ADD CONSTRAINT supplier_payouts_hold_id_key UNIQUE (hold_id);

ALTER TABLE ONLY public.supplier_payouts
    ADD CONSTRAINT supplier_payouts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.supplier_payouts
    ADD CONSTRAINT supplier_payouts_transfer_id_key UNIQUE (transfer_id);

ALTER TABLE ONLY public.supplier_statements
    ADD CONSTRAINT supplier_statements_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.supplier_statements
    ADD CONSTRAINT supplier_statements_supplier_id_period_start_key UNIQUE (supplier_id, period_start);

ALTER TABLE ONLY public.suppliers
    ADD CONSTRAINT suppliers_id_org_id_key UNIQUE (id, org_id);

ALTER TABLE ONLY public.suppliers
    ADD CONSTRAINT suppliers_org_id_key UNIQUE (org_id);

ALTER TABLE ONLY public.suppliers
    ADD CONSTRAINT suppliers_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.two_factors
    ADD CONSTRAINT two_factors_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.two_factors
    ADD CONSTRAINT two_factors_user_key UNIQUE (user_id);

ALTER TABLE ONLY public.usage_archive_guard
    ADD CONSTRAINT usage_archive_guard_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY public.usage_archives
    ADD CONSTRAINT usage_archives_cutoff_key UNIQUE (cutoff);

ALTER TABLE ONLY public.usage_archives
    ADD CONSTRAINT usage_archives_pkey PRIMARY KEY (through);

ALTER TABLE ONLY public.usage_charges
    ADD CONSTRAINT usage_charges_pkey PRIMARY KEY (request_id);

ALTER TABLE ONLY public.usage_charges_rest
    ADD CONSTRAINT usage_charges_rest_pkey PRIMARY KEY (request_id);

ALTER TABLE ONLY public.usage_deferred
    ADD CONSTRAINT usage_deferred_pkey PRIMARY KEY (stream, seq, "position");

ALTER TABLE ONLY public.usage_months
    ADD CONSTRAINT usage_months_pkey PRIMARY KEY (month, org_id, mode, key_id, model, outcome);

ALTER TABLE ONLY public.usage_sinks
    ADD CONSTRAINT usage_sinks_pkey PRIMARY KEY (stream);

ALTER TABLE ONLY public.usage_unreadable
    ADD CONSTRAINT usage_unreadable_pkey PRIMARY KEY (stream, seq, "position");

ALTER TABLE ONLY public.usage_watermarks
    ADD CONSTRAINT usage_watermarks_pkey PRIMARY KEY (stream);

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_email_key UNIQUE (email);

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.verifications
    ADD CONSTRAINT verifications_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.volume_attachments
    ADD CONSTRAINT volume_attachments_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.volume_snapshots
    ADD CONSTRAINT volume_snapshots_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.volume_transitions
    ADD CONSTRAINT volume_transitions_pkey PRIMARY KEY (volume_id, seq);

ALTER TABLE ONLY public.volumes
    ADD CONSTRAINT volumes_id_mode_key UNIQUE (id, mode);

ALTER TABLE ONLY public.volumes
    ADD CONSTRAINT volumes_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.volumes
    ADD CONSTRAINT volumes_wire_id_key UNIQUE (wire_id);

ALTER TABLE ONLY public.wallet_ladders
    ADD CONSTRAINT wallet_ladders_pkey PRIMARY KEY (org_id, mode);

ALTER TABLE ONLY public.webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (webhook_id, seq);

ALTER TABLE ONLY public.webhook_queues
    ADD CONSTRAINT webhook_queues_pkey PRIMARY KEY (webhook_id);

ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT webhooks_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.written_off_clawbacks
    ADD CONSTRAINT written_off_clawbacks_pkey PRIMARY KEY (transfer_id);

ALTER TABLE ONLY public.written_off_machines
    ADD CONSTRAINT written_off_machines_pkey PRIMARY KEY (org_id, cluster_id, external_id);

CREATE INDEX accounts_user_id_idx ON public.accounts USING btree (user_id);

CREATE INDEX allocated_gpus_node_idx ON public.allocated_gpus USING btree (node_id) WHERE (released_at IS NULL);

CREATE INDEX allocated_gpus_released_idx ON public.allocated_gpus USING btree (released_at) WHERE (released_at IS NOT NULL);

CREATE UNIQUE INDEX allocated_gpus_sold_once_idx ON public.allocated_gpus USING btree (gpu_id) WHERE (released_at IS NULL);

CREATE UNIQUE INDEX allocated_ports_given_once_idx ON public.allocated_ports USING btree (node_id, protocol, external_port) WHERE (released_at IS NULL);

CREATE INDEX allocated_ports_released_idx ON public.allocated_ports USING btree (released_at) WHERE (released_at IS NOT NULL);

CREATE INDEX allocations_frees_idx ON public.allocations USING btree (region, frees_at) WHERE (((state)::text <> 'released'::text) AND (frees_at IS NOT NULL));

CREATE UNIQUE INDEX allocations_live_once ON public.allocations USING btree (external_id) WHERE ((state)::text = 'live'::text);

CREATE INDEX allocations_org_idx ON public.allocations USING btree (org_id, id) WHERE ((state)::text <> 'released'::text);

CREATE INDEX api_keys_next_action_idx ON public.api_keys USING btree (next_action_at) WHERE (next_action_at IS NOT NULL);

CREATE UNIQUE INDEX api_keys_one_seat ON public.api_keys USING btree (org_id, user_id, mode) WHERE ((kind = 'seat'::text) AND (revoked_at IS NULL));

CREATE INDEX api_keys_org_idx ON public.api_keys USING btree (org_id, id);

CREATE INDEX api_keys_unrevoked_idx ON public.api_keys USING btree (org_id) WHERE (revoked_at IS NULL);

CREATE INDEX api_keys_user_idx ON public.api_keys USING btree (user_id);

CREATE INDEX archived_ledger_transfers_org_idx ON public.archived_ledger_transfers USING btree (mode, org_id, id);

CREATE INDEX audit_log_org_idx ON public.audit_log USING btree (org_id, id DESC);

CREATE INDEX audit_log_resource_idx ON public.audit_log USING btree (resource_kind, resource_id, id DESC);

CREATE INDEX audit_runs_snapshot_idx ON public.audit_runs USING btree (snapshot_at);

CREATE INDEX budgets_org_idx ON public.budgets USING btree (org_id, mode, id) WHERE (deleted_at IS NULL);

CREATE INDEX cluster_comparisons_due_idx ON public.cluster_comparisons USING btree (looked_at NULLS FIRST);

CREATE UNIQUE INDEX clusters_name_idx ON public.clusters USING btree (name) WHERE (status <> 'removed'::text);

CREATE INDEX clusters_provider_idx ON public.clusters USING btree (provider_id, region);

CREATE INDEX clusters_supplier_org_idx ON public.clusters USING btree (supplier_org_id) WHERE (supplier_org_id IS NOT NULL);

CREATE INDEX device_codes_expires_at_idx ON public.device_codes USING btree (expires_at);

CREATE INDEX entitlements_org_idx ON public.entitlements USING btree (org_id, id) WHERE (revoked_at IS NULL);

CREATE INDEX events_recorded_idx ON public.events USING brin (recorded_at);

CREATE INDEX events_resource_idx ON public.events USING btree (org_id, resource_kind, resource_id, seq);

CREATE INDEX events_test_mode_idx ON public.events USING btree (org_id, seq) WHERE (mode = 'test'::text);

CREATE INDEX events_unpublished_idx ON public.events USING btree (shard, recorded_at, seq) WHERE (published_at IS NULL);

CREATE UNIQUE INDEX gpus_address_idx ON public.gpus USING btree (node_id, pci_address) WHERE (state <> 'replaced'::text);

CREATE INDEX gpus_device_idx ON public.gpus USING btree (device_uuid) WHERE (state = 'present'::text);

CREATE INDEX gpus_node_idx ON public.gpus USING btree (node_id, numa_node);

CREATE INDEX id_blocks_cell_idx ON public.id_blocks USING btree (kind, cell, block);

CREATE INDEX idempotency_keys_expires_at_idx ON public.idempotency_keys USING btree (expires_at);

CREATE INDEX inference_checkpoints_lease_idx ON public.inference_checkpoints USING btree (lease_id, gateway_id);

CREATE INDEX inference_checkpoints_old_idx ON public.inference_checkpoints USING btree (recorded_at);

CREATE INDEX inference_deployments_model_idx ON public.inference_deployments USING btree (model, id);

CREATE INDEX inference_model_names_model_idx ON public.inference_model_names USING btree (model);

CREATE INDEX inference_requests_recorded_idx ON ONLY public.inference_requests USING brin (recorded_at);

CREATE INDEX inference_requests_rest_recorded_at_idx ON public.inference_requests_rest USING brin (recorded_at);

CREATE INDEX inference_requests_transfer_idx ON ONLY public.inference_requests USING btree (transfer_id, id) WHERE (transfer_id IS NOT NULL);

CREATE INDEX inference_requests_rest_transfer_idx ON public.inference_requests_rest USING btree (transfer_id, id) WHERE (transfer_id IS NOT NULL);

CREATE INDEX instances_node_idx ON public.instances USING btree (node_id, rental_id);

CREATE INDEX instances_org_idx ON public.instances USING btree (org_id, mode, rental_id);

CREATE INDEX invitations_email_idx ON public.invitations USING btree (email);

CREATE UNIQUE INDEX invitations_one_pending_idx ON public.invitations USING btree (org_id, email) WHERE (status = 'pending'::text);

CREATE INDEX invitations_org_id_idx ON public.invitations USING btree (org_id);

CREATE INDEX invitations_recent_idx ON public.invitations USING btree (org_id, created_at);

CREATE INDEX invoices_org_idx ON public.invoices USING btree (org_id, id);

CREATE INDEX ledger_accounts_expiring_idx ON public.ledger_accounts USING btree (expires_at) WHERE (expires_at IS NOT NULL);

CREATE UNIQUE INDEX ledger_accounts_one_credit_idx ON public.ledger_accounts USING btree (org_id, mode, kind) WHERE (kind = ANY (ARRAY['credit'::text, 'supplier_payable'::text]));

CREATE INDEX ledger_accounts_org_idx ON public.ledger_accounts USING btree (org_id, mode) WHERE (org_id IS NOT NULL);

CREATE UNIQUE INDEX ledger_accounts_system_idx ON public.ledger_accounts USING btree (kind, product, mode, shard) NULLS NOT DISTINCT WHERE (org_id IS NULL);

CREATE INDEX ledger_hold_parts_account_idx ON public.ledger_hold_parts USING btree (account_id);

CREATE INDEX ledger_holds_open_idx ON public.ledger_holds USING btree (id) WHERE (closed_at IS NULL);

CREATE INDEX ledger_transfers_org_idx ON public.ledger_transfers USING btree (mode, org_id, id);

CREATE INDEX ledger_transfers_rare_idx ON public.ledger_transfers USING btree (org_id, mode, id) WHERE (kind <> ALL (ARRAY['charge'::text, 'credit'::text, 'budget'::text]));

CREATE INDEX ledger_transfers_rare_kind_idx ON public.ledger_transfers USING btree (kind, id) WHERE (kind <> ALL (ARRAY['charge'::text, 'credit'::text, 'budget'::text]));

CREATE INDEX ledger_transfers_reverses_idx ON public.ledger_transfers USING btree (reverses) WHERE (reverses IS NOT NULL);

CREATE INDEX listing_changes_xid_idx ON public.listing_changes USING btree (xid);

CREATE INDEX loop_items_by_time ON public.loop_items USING btree (free_at);

CREATE INDEX maintenance_nodes_held_idx ON public.maintenance_nodes USING btree (window_id) WHERE (hold = 'held'::text);

CREATE INDEX maintenance_nodes_node_idx ON public.maintenance_nodes USING btree (node_id);

CREATE INDEX maintenance_notices_allocation_idx ON public.maintenance_notices USING btree (allocation_id);

CREATE INDEX maintenance_notices_open_idx ON public.maintenance_notices USING btree (window_id) WHERE (told <> 'ended'::text);

CREATE INDEX maintenance_windows_open_idx ON public.maintenance_windows USING btree (starts_at, id) WHERE (status = ANY (ARRAY['announced'::text, 'in_progress'::text]));

CREATE INDEX members_user_id_idx ON public.members USING btree (user_id);

CREATE INDEX meters_due_idx ON public.meters USING btree (shard, next_post_at) WHERE (next_post_at IS NOT NULL);

CREATE UNIQUE INDEX meters_hold_idx ON public.meters USING btree (hold_id) WHERE (hold_id IS NOT NULL);

CREATE INDEX meters_open_idx ON public.meters USING btree (shard, org_id, mode) WHERE ((state = 'open'::text) AND (rate_nano_usd_per_hour > 0));

CREATE INDEX meters_org_idx ON public.meters USING btree (org_id, mode, state);

CREATE INDEX meters_supplier_idx ON public.meters USING btree (supplier_org_id, id) WHERE (supplier_org_id IS NOT NULL);

CREATE INDEX mock_machines_changes_idx ON public.mock_machines USING btree (cluster, change_seq);

CREATE INDEX mock_machines_gone_idx ON public.mock_machines USING btree (changed_at) WHERE (machine IS NULL);

CREATE INDEX node_capacity_cluster_idx ON public.node_capacity USING btree (cluster_id);

CREATE INDEX node_capacity_gang_idx ON public.node_capacity USING btree (fabric_id, node_id) WHERE (placeable AND idle);

CREATE INDEX node_capacity_pool_idx ON public.node_capacity USING btree (pool, gpus_free, largest_numa_free, spread) WHERE placeable;

CREATE INDEX node_faults_at_idx ON public.node_faults USING btree (at);

CREATE INDEX node_faults_rental_idx ON public.node_faults USING btree (rental_id) WHERE (rental_id IS NOT NULL);

CREATE INDEX nodes_cluster_idx ON public.nodes USING btree (cluster_id) WHERE ((status <> 'node_removed'::text) OR (forgotten_at IS NULL));

CREATE UNIQUE INDEX nodes_name_idx ON public.nodes USING btree (cluster_id, name) WHERE (status <> 'node_removed'::text);

CREATE INDEX nodes_status_idx ON public.nodes USING btree (status, id);

CREATE INDEX notice_mails_digest_idx ON public.notice_mails USING btree (org_id, user_id, mode, category) WHERE ((state = 'waiting'::text) AND in_digest);

CREATE INDEX notice_mails_due_idx ON public.notice_mails USING btree (next_attempt_at) WHERE (state = 'waiting'::text);

CREATE INDEX notice_mails_mailbox_idx ON public.notice_mails USING btree (email, created_at) WHERE (email IS NOT NULL);

CREATE INDEX notice_mails_recent_idx ON public.notice_mails USING btree (org_id, user_id, category, created_at);

CREATE INDEX notices_recorded_idx ON public.notices USING brin (recorded_at);

CREATE INDEX notices_unaddressed_idx ON public.notices USING btree (recorded_at, id) WHERE (addressed_at IS NULL);

CREATE INDEX organisations_created_idx ON public.organisations USING btree (created_at, id);

CREATE INDEX outbox_commands_idx ON public.outbox USING btree (shard, seq) WHERE ((kind = 'command'::text) AND (parked_at IS NULL));

CREATE INDEX outbox_events_idx ON public.outbox USING btree (shard, seq) WHERE ((kind = 'event'::text) AND (parked_at IS NULL));

COMMENT ON INDEX public.outbox_events_idx IS 'Separates events from commands: finding events must not scan commands that wait for an unavailable engine.';

CREATE INDEX outbox_parked_idx ON public.outbox USING btree (parked_at) WHERE (parked_at IS NOT NULL);

CREATE INDEX outbox_retrying_idx ON public.outbox USING btree (shard, service, object_key) WHERE ((kind = 'command'::text) AND (parked_at IS NULL) AND (next_attempt_at IS NOT NULL));

CREATE INDEX passkeys_user_id_idx ON public.passkeys USING btree (user_id);

CREATE INDEX payment_disputes_against_idx ON public.payment_disputes USING btree (org_id, mode) WHERE (standing = ANY (ARRAY['open'::text, 'lost'::text]));

CREATE INDEX payment_disputes_payment_idx ON public.payment_disputes USING btree (payment_id);

CREATE INDEX payment_events_payment_idx ON public.payment_events USING btree (payment_id, received_at) WHERE (payment_id IS NOT NULL);

CREATE INDEX payment_events_waiting_idx ON public.payment_events USING btree (provider, intent_ref) WHERE (outcome = 'unmatched'::text);

CREATE INDEX payments_org_idx ON public.payments USING btree (org_id, mode, id);

CREATE UNIQUE INDEX payments_provider_intent_key ON public.payments USING btree (provider, provider_intent) WHERE (provider_intent IS NOT NULL);

CREATE UNIQUE INDEX payments_provider_ref_key ON public.payments USING btree (provider, provider_ref) WHERE (provider_ref IS NOT NULL);

CREATE INDEX payments_undecided_idx ON public.payments USING btree (next_check_at) WHERE (next_check_at IS NOT NULL);

CREATE INDEX pot_gateways_silent_idx ON public.pot_gateways USING btree (last_seen_at);

CREATE INDEX pot_lease_gateways_dead_idx ON public.pot_lease_gateways USING btree (declared_dead_at) WHERE ((declared_dead_at IS NOT NULL) AND (given_back_at IS NULL));

CREATE INDEX pot_lease_gateways_ended_idx ON public.pot_lease_gateways USING btree (lease_id) WHERE ((ended_at_seq IS NOT NULL) AND (given_back_at IS NULL));

CREATE INDEX pot_lease_gateways_using_idx ON public.pot_lease_gateways USING btree (gateway_id) WHERE (ended_at_seq IS NULL);

CREATE INDEX pot_leases_closing_idx ON public.pot_leases USING btree (cell, closing_at) WHERE (state = 'closing'::text);

CREATE INDEX pot_leases_expiring_idx ON public.pot_leases USING btree (cell, expires_at) WHERE (state = 'open'::text);

CREATE UNIQUE INDEX pot_leases_one_open_idx ON public.pot_leases USING btree (org_id, mode, cell) WHERE (state = 'open'::text);

CREATE INDEX prices_model_idx ON public.prices USING btree (model, org_id) WHERE (subject_kind = 'model'::text);

CREATE UNIQUE INDEX prices_one_from_an_instant_idx ON public.prices USING btree (subject_kind, gpu_type, machine_type, model, model_unit, region, network_type, org_id, valid_from) NULLS NOT DISTINCT WHERE ((valid_until IS NULL) OR (valid_until > valid_from));

COMMENT ON INDEX public.prices_one_from_an_instant_idx IS 'Refuses a second price for the same subject from the same time, so that the applicable price is always unique.';

CREATE INDEX prices_org_idx ON public.prices USING btree (org_id) WHERE (org_id IS NOT NULL);

CREATE INDEX rental_consoles_read_idx ON public.rental_consoles USING btree (read_at);

CREATE INDEX rental_machines_allocation_idx ON public.rental_machines USING btree (allocation_id);

CREATE INDEX rental_machines_cluster_idx ON public.rental_machines USING btree (cluster_id) WHERE (state <> 'gone'::text);

CREATE INDEX rental_machines_node_idx ON public.rental_machines USING btree (node_id) WHERE (state <> 'gone'::text);

CREATE INDEX rental_machines_uncut_idx ON public.rental_machines USING btree (next_try_at) WHERE ((state = 'doomed'::text) AND (cut_at IS NULL));

CREATE INDEX rental_steps_started_idx ON public.rental_steps USING brin (started_at);

CREATE INDEX rentals_allocation_idx ON public.rentals USING btree (allocation_id) WHERE (allocation_id IS NOT NULL);

CREATE INDEX rentals_due_idx ON public.rentals USING btree (next_action_at) WHERE (next_action_at IS NOT NULL);

CREATE INDEX rentals_ended_idx ON public.rentals USING btree (org_id, mode, kind, ended_at, id) WHERE (status = 'Terminated'::text);

CREATE INDEX rentals_key_idx ON public.rentals USING btree (key_id) WHERE (status <> 'Terminated'::text);

CREATE INDEX rentals_late_idx ON public.rentals USING btree (deadline_at) WHERE (deadline_at IS NOT NULL);

CREATE INDEX rentals_live_idx ON public.rentals USING btree (org_id, mode, kind, status, id) WHERE (status <> 'Terminated'::text);

CREATE INDEX rentals_provider_idx ON public.rentals USING btree (provider_id) WHERE (provider_id IS NOT NULL);

CREATE INDEX rentals_sampled_idx ON public.rentals USING btree (((wire_id & 63))) WHERE ((status = 'Running'::text) AND (power = 'on'::text) AND (monitoring OR (idle_after_seconds IS NOT NULL)));

CREATE INDEX rentals_supplier_org_idx ON public.rentals USING btree (supplier_org_id) WHERE (supplier_org_id IS NOT NULL);

CREATE INDEX rentals_user_idx ON public.rentals USING btree (user_id) WHERE (user_id IS NOT NULL);

CREATE INDEX required_actions_cause_idx ON public.required_actions USING btree (org_id, mode, cause_kind, cause_id, action, created_at);

CREATE INDEX required_actions_done_idx ON public.required_actions USING btree (done_at) WHERE (done_at IS NOT NULL);

CREATE INDEX required_actions_due_idx ON public.required_actions USING btree (cause_kind, due_at) WHERE (state = ANY (ARRAY['pending'::text, 'claimed'::text]));

CREATE UNIQUE INDEX required_actions_once_idx ON public.required_actions USING btree (org_id, mode, cause_kind, cause_id, action) WHERE (state = ANY (ARRAY['pending'::text, 'claimed'::text]));

CREATE INDEX reservation_requests_live_idx ON public.reservation_requests USING btree (id) WHERE (mode = 'live'::text);

CREATE INDEX reservation_requests_org_idx ON public.reservation_requests USING btree (org_id, mode, created_at);

CREATE INDEX reserve_options_subject_idx ON public.reserve_options USING btree (machine_type, gpu_type, term_period_days, id);

CREATE INDEX sessions_expires_at_idx ON public.sessions USING btree (expires_at);

CREATE INDEX sessions_user_id_idx ON public.sessions USING btree (user_id);

CREATE INDEX ssh_public_keys_org_idx ON public.ssh_public_keys USING btree (org_id, mode, id);

CREATE INDEX storage_addresses_machine_idx ON public.storage_addresses USING btree (rental_id, attempt, "position");

CREATE INDEX storage_nodes_look_idx ON public.storage_nodes USING btree (next_look_at);

CREATE INDEX supplier_join_tokens_org_idx ON public.supplier_join_tokens USING btree (org_id, id);

CREATE INDEX supplier_machine_days_day_idx ON public.supplier_machine_days USING btree (day);

CREATE INDEX supplier_machine_trust_due_idx ON public.supplier_machine_trust USING btree (measured_until);

CREATE INDEX supplier_machines_approval_idx ON public.supplier_machines USING btree (approval, id);

CREATE INDEX supplier_machines_asking_idx ON public.supplier_machines USING btree (join_token_id) WHERE (stage = 'trusting'::text);

CREATE INDEX supplier_machines_due_idx ON public.supplier_machines USING btree (next_try_at) WHERE (next_try_at IS NOT NULL);

CREATE UNIQUE INDEX supplier_machines_endpoint_idx ON public.supplier_machines USING btree (endpoint) WHERE (stage = ANY (ARRAY['inspecting'::text, 'testing'::text, 'enrolled'::text]));

CREATE INDEX supplier_machines_org_idx ON public.supplier_machines USING btree (org_id, id);

CREATE UNIQUE INDEX supplier_machines_server_idx ON public.supplier_machines USING btree (server_fingerprint) WHERE (stage = ANY (ARRAY['inspecting'::text, 'testing'::text, 'enrolled'::text]));

CREATE INDEX supplier_payouts_open_idx ON public.supplier_payouts USING btree (id) WHERE (status = 'requested'::text);

CREATE INDEX supplier_payouts_org_idx ON public.supplier_payouts USING btree (org_id, id);

CREATE INDEX supplier_statements_org_idx ON public.supplier_statements USING btree (org_id, id);

CREATE INDEX suppliers_status_idx ON public.suppliers USING btree (status, id);

CREATE INDEX usage_charges_transfer_idx ON ONLY public.usage_charges USING btree (transfer_id) WHERE (transfer_id IS NOT NULL);

CREATE INDEX usage_charges_rest_transfer_id_idx ON public.usage_charges_rest USING btree (transfer_id) WHERE (transfer_id IS NOT NULL);

CREATE INDEX usage_deferred_lane_idx ON public.usage_deferred USING btree (org_id, lane, attempts, recorded_at, seq, "position");

CREATE INDEX usage_deferred_lease_idx ON public.usage_deferred USING btree (lease_id) WHERE (lease_id IS NOT NULL);

CREATE INDEX verifications_expires_idx ON public.verifications USING btree (expires_at);

CREATE INDEX verifications_identifier_idx ON public.verifications USING btree (identifier);

CREATE UNIQUE INDEX volume_attachments_once_idx ON public.volume_attachments USING btree (volume_id, rental_id) WHERE (detached_at IS NULL);

CREATE INDEX volume_attachments_rental_idx ON public.volume_attachments USING btree (rental_id);

CREATE INDEX volume_snapshots_volume_idx ON public.volume_snapshots USING btree (volume_id, id) WHERE (status <> 'deleted'::text);

CREATE INDEX volumes_due_idx ON public.volumes USING btree (next_action_at) WHERE (next_action_at IS NOT NULL);

CREATE INDEX volumes_key_idx ON public.volumes USING btree (key_id) WHERE (phase <> 'purged'::text);

CREATE UNIQUE INDEX volumes_label_idx ON public.volumes USING btree (org_id, mode, label) WHERE (phase = ANY (ARRAY['provisioning'::text, 'live'::text, 'frozen'::text]));

CREATE INDEX volumes_node_idx ON public.volumes USING btree (node_id) WHERE (phase <> 'purged'::text);

CREATE INDEX volumes_org_idx ON public.volumes USING btree (org_id, mode, id) WHERE (phase <> 'purged'::text);

CREATE INDEX volumes_restore_idx ON public.volumes USING btree (restore_volume_id) WHERE (restore_volume_id IS NOT NULL);

CREATE INDEX volumes_user_idx ON public.volumes USING btree (user_id) WHERE (user_id IS NOT NULL);

CREATE UNIQUE INDEX volumes_vip_idx ON public.volumes USING btree (node_id, vip) WHERE (phase <> 'purged'::text);

CREATE INDEX wallet_ladders_low_idx ON public.wallet_ladders USING btree (shard) WHERE (step <> 'fine'::text);

CREATE INDEX webhook_deliveries_ahead_idx ON public.webhook_deliveries USING btree (webhook_id, resource_kind, resource_id, seq) WHERE (status = 'pending'::text);

CREATE INDEX webhook_deliveries_due_idx ON public.webhook_deliveries USING btree (webhook_id, next_attempt_at, seq) WHERE (status = 'pending'::text);

CREATE INDEX webhook_deliveries_id_idx ON public.webhook_deliveries USING btree (webhook_id, id);

CREATE INDEX webhook_deliveries_old_idx ON public.webhook_deliveries USING btree (created_at);

CREATE INDEX webhook_deliveries_status_idx ON public.webhook_deliveries USING btree (webhook_id, status, seq);

CREATE INDEX webhook_queues_due_idx ON public.webhook_queues USING btree (next_due_at) WHERE (next_due_at IS NOT NULL);

CREATE INDEX webhook_queues_held_idx ON public.webhook_queues USING btree (holder) WHERE (holder IS NOT NULL);

CREATE INDEX webhooks_disabled_idx ON public.webhooks USING btree (id) WHERE (status = 'disabled'::text);

CREATE INDEX webhooks_enabled_idx ON public.webhooks USING btree (org_id, mode) WHERE (status = 'enabled'::text);

CREATE INDEX webhooks_org_idx ON public.webhooks USING btree (org_id, mode, id) WHERE (deleted_at IS NULL);

CREATE INDEX written_off_machines_cluster_idx ON public.written_off_machines USING btree (cluster_id) WHERE (absent_at IS NULL);

CREATE INDEX written_off_machines_node_idx ON public.written_off_machines USING btree (node_id) WHERE (absent_at IS NULL);

ALTER INDEX public.inference_requests_pkey ATTACH PARTITION public.inference_requests_rest_pkey;

ALTER INDEX public.inference_requests_recorded_idx ATTACH PARTITION public.inference_requests_rest_recorded_at_idx;

ALTER INDEX public.inference_requests_transfer_idx ATTACH PARTITION public.inference_requests_rest_transfer_idx;

ALTER INDEX public.rental_samples_pkey ATTACH PARTITION public.rental_samples_0_pkey;

ALTER INDEX public.rental_samples_pkey ATTACH PARTITION public.rental_samples_1_pkey;

ALTER INDEX public.rental_samples_pkey ATTACH PARTITION public.rental_samples_2_pkey;

ALTER INDEX public.rental_samples_pkey ATTACH PARTITION public.rental_samples_3_pkey;

ALTER INDEX public.rental_samples_pkey ATTACH PARTITION public.rental_samples_4_pkey;

ALTER INDEX public.rental_samples_pkey ATTACH PARTITION public.rental_samples_5_pkey;

ALTER INDEX public.rental_samples_pkey ATTACH PARTITION public.rental_samples_6_pkey;

ALTER INDEX public.rental_samples_pkey ATTACH PARTITION public.rental_samples_7_pkey;

ALTER INDEX public.rental_samples_pkey ATTACH PARTITION public.rental_samples_8_pkey;

ALTER INDEX public.usage_charges_pkey ATTACH PARTITION public.usage_charges_rest_pkey;

ALTER INDEX public.usage_charges_transfer_idx ATTACH PARTITION public.usage_charges_rest_transfer_id_idx;

CREATE TRIGGER allocated_gpus_insert_recount AFTER INSERT ON public.allocated_gpus REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.recount_sold_nodes();

CREATE TRIGGER allocated_gpus_update_recount AFTER UPDATE ON public.allocated_gpus REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.recount_sold_nodes();

CREATE TRIGGER api_keys_insert_noted AFTER INSERT ON public.api_keys FOR EACH ROW WHEN ((new.kind = 'key'::text)) EXECUTE FUNCTION public.note_changed_key();

CREATE TRIGGER api_keys_update_noted AFTER UPDATE OF scopes, limits, allowed_ips, expires_at, revoked_at, revoked_reason ON public.api_keys FOR EACH ROW WHEN ((new.kind = 'key'::text)) EXECUTE FUNCTION public.note_changed_key();

CREATE TRIGGER archived_ledger_entries_append_only BEFORE DELETE OR UPDATE ON public.archived_ledger_entries FOR EACH ROW EXECUTE FUNCTION public.refuse_ledger_change();

CREATE TRIGGER archived_ledger_transfers_append_only BEFORE DELETE OR UPDATE ON public.archived_ledger_transfers FOR EACH ROW EXECUTE FUNCTION public.refuse_ledger_change();

CREATE TRIGGER audit_log_append_only BEFORE DELETE OR UPDATE ON public.audit_log FOR EACH ROW EXECUTE FUNCTION public.refuse_audit_log_change();

CREATE TRIGGER audit_log_no_truncate BEFORE TRUNCATE ON public.audit_log FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_audit_log_change();

CREATE TRIGGER budgets_noted AFTER INSERT OR UPDATE OF key_ids, on_exceeded, deleted_at ON public.budgets FOR EACH ROW EXECUTE FUNCTION public.note_keys_of_changed_budget();

CREATE TRIGGER clusters_listed AFTER UPDATE OF name, region, settings, offer, supplier_org_id, port_first, port_last, status ON public.clusters FOR EACH ROW WHEN (((new.offer = 'marketplace'::text) AND ((((((((old.name IS DISTINCT FROM new.name) OR (old.region IS DISTINCT FROM new.region)) OR (old.settings IS DISTINCT FROM new.settings)) OR (old.offer IS DISTINCT FROM new.offer)) OR (old.supplier_org_id IS DISTINCT FROM new.supplier_org_id)) OR (old.port_first IS DISTINCT FROM new.port_first)) OR (old.port_last IS DISTINCT FROM new.port_last)) OR (old.status IS DISTINCT FROM new.status)))) EXECUTE FUNCTION public.note_listed_cluster();

CREATE TRIGGER demo_mark_before_money BEFORE INSERT ON public.demo_mark FOR EACH ROW EXECUTE FUNCTION public.refuse_demo_with_money();

CREATE TRIGGER events_to_notices AFTER INSERT ON public.events REFERENCING NEW TABLE AS stored FOR EACH STATEMENT EXECUTE FUNCTION public.collect_notices();

CREATE TRIGGER events_to_webhooks AFTER INSERT ON public.events REFERENCING NEW TABLE AS stored FOR EACH STATEMENT EXECUTE FUNCTION public.fan_out_to_webhooks();

CREATE TRIGGER gpus_insert_recount AFTER INSERT ON public.gpus REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.recount_changed_nodes();

CREATE TRIGGER gpus_update_recount AFTER UPDATE ON public.gpus REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.recount_changed_nodes();

CREATE TRIGGER inference_deployments_noted AFTER INSERT OR DELETE OR UPDATE OF address, upstream_model, sealed_api_key, region, weight, max_concurrency, enabled ON public.inference_deployments FOR EACH ROW EXECUTE FUNCTION public.note_changed_model();

CREATE TRIGGER inference_model_names_noted AFTER INSERT OR DELETE ON public.inference_model_names FOR EACH ROW EXECUTE FUNCTION public.note_changed_model();

CREATE TRIGGER inference_models_noted AFTER INSERT OR DELETE OR UPDATE ON public.inference_models FOR EACH ROW EXECUTE FUNCTION public.note_changed_model();

CREATE TRIGGER invoice_counter_goes_by_one BEFORE UPDATE ON public.invoice_counter FOR EACH ROW EXECUTE FUNCTION public.check_invoice_counter();

CREATE CONSTRAINT TRIGGER invoice_counter_leaves_no_hole AFTER UPDATE ON public.invoice_counter DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.check_invoice_number_used();

CREATE TRIGGER invoice_counter_no_truncate BEFORE TRUNCATE ON public.invoice_counter FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_ledger_change();

CREATE TRIGGER invoice_counter_stays BEFORE DELETE ON public.invoice_counter FOR EACH ROW EXECUTE FUNCTION public.refuse_ledger_change();

CREATE TRIGGER invoice_gaps_are_final BEFORE DELETE OR UPDATE ON public.invoice_gaps FOR EACH ROW EXECUTE FUNCTION public.refuse_ledger_change();

CREATE TRIGGER invoices_are_final BEFORE DELETE OR UPDATE ON public.invoices FOR EACH ROW EXECUTE FUNCTION public.refuse_ledger_change();

CREATE TRIGGER invoices_have_the_next_number BEFORE INSERT ON public.invoices FOR EACH ROW EXECUTE FUNCTION public.check_invoice_number();

CREATE TRIGGER invoices_no_truncate BEFORE TRUNCATE ON public.invoices FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_ledger_change();

CREATE TRIGGER ledger_archived_keys_append_only BEFORE DELETE OR UPDATE ON public.ledger_archived_keys FOR EACH ROW EXECUTE FUNCTION public.refuse_ledger_change();

CREATE TRIGGER ledger_entries_append_only BEFORE DELETE OR UPDATE ON public.ledger_entries FOR EACH ROW EXECUTE FUNCTION public.refuse_unarchived_change();

CREATE TRIGGER ledger_entries_are_sound AFTER INSERT ON public.ledger_entries REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION public.check_ledger_entries();

CREATE TRIGGER ledger_entries_no_truncate BEFORE TRUNCATE ON public.ledger_entries FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_ledger_change();

CREATE TRIGGER ledger_transfers_append_only BEFORE DELETE OR UPDATE ON public.ledger_transfers FOR EACH ROW EXECUTE FUNCTION public.refuse_unarchived_change();

CREATE TRIGGER ledger_transfers_no_truncate BEFORE TRUNCATE ON public.ledger_transfers FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_ledger_change();

CREATE TRIGGER ledger_transfers_refuse_archived_keys AFTER INSERT ON public.ledger_transfers REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_archived_keys();

CREATE TRIGGER members_noted AFTER INSERT OR DELETE OR UPDATE OF role ON public.members FOR EACH ROW EXECUTE FUNCTION public.note_keys_of_changed_user();

CREATE TRIGGER meter_transitions_append_only BEFORE DELETE OR UPDATE ON public.meter_transitions FOR EACH ROW EXECUTE FUNCTION public.refuse_ledger_change();

CREATE TRIGGER meter_transitions_no_truncate BEFORE TRUNCATE ON public.meter_transitions FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_ledger_change();

CREATE TRIGGER node_capacity_listed AFTER INSERT OR UPDATE ON public.node_capacity FOR EACH ROW WHEN (((new.offer)::text = 'marketplace'::text)) EXECUTE FUNCTION public.note_listed_capacity();

CREATE TRIGGER node_capacity_pool BEFORE INSERT OR UPDATE OF mode, offer, region, gpu_type, connection_type, ready, open, placeable, pool ON public.node_capacity FOR EACH ROW EXECUTE FUNCTION public.mark_pool();

CREATE TRIGGER node_faults_append_only BEFORE DELETE OR UPDATE ON public.node_faults FOR EACH ROW EXECUTE FUNCTION public.refuse_ledger_change();

CREATE TRIGGER node_transitions_append_only BEFORE DELETE OR UPDATE ON public.node_transitions FOR EACH ROW EXECUTE FUNCTION public.refuse_ledger_change();

CREATE TRIGGER nodes_listed AFTER UPDATE OF status, address, cpu_model, cpu_count, ram_mb, storage_gb, gpu_form_factor ON public.nodes FOR EACH ROW WHEN ((((((((old.status IS DISTINCT FROM new.status) OR (old.address IS DISTINCT FROM new.address)) OR (old.cpu_model IS DISTINCT FROM new.cpu_model)) OR (old.cpu_count IS DISTINCT FROM new.cpu_count)) OR (old.ram_mb IS DISTINCT FROM new.ram_mb)) OR (old.storage_gb IS DISTINCT FROM new.storage_gb)) OR (old.gpu_form_factor IS DISTINCT FROM new.gpu_form_factor))) EXECUTE FUNCTION public.note_listed_node();

CREATE TRIGGER organisations_insert_noted AFTER INSERT ON public.organisations FOR EACH ROW EXECUTE FUNCTION public.note_changed_organisation();

CREATE TRIGGER organisations_listed AFTER UPDATE OF status ON public.organisations FOR EACH ROW WHEN ((old.status IS DISTINCT FROM new.status)) EXECUTE FUNCTION public.note_listed_supplier();

CREATE TRIGGER organisations_update_noted AFTER UPDATE OF status, funded_at ON public.organisations FOR EACH ROW EXECUTE FUNCTION public.note_changed_organisation();

CREATE TRIGGER payments_without_real_money_in_demo BEFORE INSERT OR UPDATE OF provider_live ON public.payments FOR EACH ROW WHEN (new.provider_live) EXECUTE FUNCTION public.refuse_real_money_in_demo();

CREATE TRIGGER platform_roles_noted AFTER INSERT OR DELETE ON public.platform_roles FOR EACH ROW EXECUTE FUNCTION public.note_keys_of_changed_user();

CREATE TRIGGER prices_append_only BEFORE DELETE OR UPDATE ON public.prices FOR EACH ROW EXECUTE FUNCTION public.keep_price();

CREATE TRIGGER prices_insert_noted AFTER INSERT ON public.prices FOR EACH ROW WHEN ((new.subject_kind = 'model'::text)) EXECUTE FUNCTION public.note_changed_model();

CREATE TRIGGER prices_no_truncate BEFORE TRUNCATE ON public.prices FOR EACH STATEMENT EXECUTE FUNCTION public.keep_price();

CREATE TRIGGER prices_update_noted AFTER UPDATE ON public.prices FOR EACH ROW WHEN ((new.subject_kind = 'model'::text)) EXECUTE FUNCTION public.note_changed_model();

CREATE TRIGGER rental_machines_hold_address AFTER INSERT OR UPDATE OF private_ip ON public.rental_machines FOR EACH ROW WHEN (((new.mode = 'live'::text) AND (new.private_ip IS NOT NULL))) EXECUTE FUNCTION public.note_storage_addresses('hold');

CREATE TRIGGER rental_machines_listed AFTER UPDATE OF state ON public.rental_machines FOR EACH ROW WHEN (((old.state = 'wanted'::text) AND (new.state IS DISTINCT FROM old.state))) EXECUTE FUNCTION public.note_listed_instance();

CREATE TRIGGER rental_machines_release_address AFTER UPDATE OF state ON public.rental_machines FOR EACH ROW WHEN (((new.mode = 'live'::text) AND (new.state = 'gone'::text))) EXECUTE FUNCTION public.note_storage_addresses('release');

CREATE TRIGGER rental_transitions_append_only BEFORE DELETE OR UPDATE ON public.rental_transitions FOR EACH ROW EXECUTE FUNCTION public.refuse_ledger_change();

CREATE TRIGGER rentals_listed AFTER UPDATE OF status ON public.rentals FOR EACH ROW WHEN (((new.kind = 'instance'::text) AND (old.status IS DISTINCT FROM new.status))) EXECUTE FUNCTION public.note_listed_instance();

CREATE TRIGGER storage_nodes_mock_for_live_keys BEFORE INSERT OR UPDATE OF kind, mode ON public.storage_nodes FOR EACH ROW WHEN (((new.kind = 'mock'::text) AND (new.mode = 'live'::text))) EXECUTE FUNCTION public.refuse_mock_storage_for_live_keys();

CREATE TRIGGER supplier_machines_listed AFTER INSERT OR UPDATE ON public.supplier_machines FOR EACH ROW WHEN ((new.node_id IS NOT NULL)) EXECUTE FUNCTION public.note_listed_machine();

CREATE TRIGGER suppliers_listed AFTER UPDATE OF status ON public.suppliers FOR EACH ROW WHEN ((old.status IS DISTINCT FROM new.status)) EXECUTE FUNCTION public.note_listed_supplier();

CREATE TRIGGER usage_charges_refuse_archived AFTER INSERT ON public.usage_charges REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_archived_usage();

CREATE TRIGGER volume_attachments_hold_address AFTER INSERT ON public.volume_attachments FOR EACH ROW WHEN ((new.mode = 'live'::text)) EXECUTE FUNCTION public.note_storage_addresses('hold');

CREATE TRIGGER volume_attachments_not_while_restoring BEFORE INSERT ON public.volume_attachments FOR EACH ROW EXECUTE FUNCTION public.refuse_attached_restore();

CREATE TRIGGER volume_transitions_append_only BEFORE DELETE OR UPDATE ON public.volume_transitions FOR EACH ROW EXECUTE FUNCTION public.refuse_ledger_change();

CREATE TRIGGER volumes_restore_unattached BEFORE UPDATE OF restore_id ON public.volumes FOR EACH ROW WHEN (((new.restore_volume_id = new.id) AND (new.restore_id IS DISTINCT FROM old.restore_id))) EXECUTE FUNCTION public.refuse_attached_restore();

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.allocated_gpus
    ADD CONSTRAINT allocated_gpus_allocation_id_mode_org_id_fkey FOREIGN KEY (allocation_id, mode, org_id) REFERENCES public.allocations(id, mode, org_id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.allocated_gpus
    ADD CONSTRAINT allocated_gpus_gpu_id_node_id_fkey FOREIGN KEY (gpu_id, node_id) REFERENCES public.gpus(id, node_id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.allocated_ports
    ADD CONSTRAINT allocated_ports_allocation_id_mode_org_id_fkey FOREIGN KEY (allocation_id, mode, org_id) REFERENCES public.allocations(id, mode, org_id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.allocations
    ADD CONSTRAINT allocations_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_rotated_from_fkey FOREIGN KEY (rotated_from) REFERENCES public.api_keys(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.audit_log
    ADD CONSTRAINT audit_log_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.budgets
    ADD CONSTRAINT budgets_id_fkey FOREIGN KEY (id) REFERENCES public.ledger_accounts(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.budgets
    ADD CONSTRAINT budgets_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.cluster_comparisons
    ADD CONSTRAINT cluster_comparisons_cluster_id_fkey FOREIGN KEY (cluster_id) REFERENCES public.clusters(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.clusters
    ADD CONSTRAINT clusters_provider_id_region_fkey FOREIGN KEY (provider_id, region) REFERENCES public.provider_regions(provider_id, region) ON DELETE RESTRICT;

ALTER TABLE ONLY public.clusters
    ADD CONSTRAINT clusters_supplier_org_id_fkey FOREIGN KEY (supplier_org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.device_codes
    ADD CONSTRAINT device_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.entitlements
    ADD CONSTRAINT entitlements_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.fabrics
    ADD CONSTRAINT fabrics_cluster_id_fkey FOREIGN KEY (cluster_id) REFERENCES public.clusters(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.gpus
    ADD CONSTRAINT gpus_node_id_fkey FOREIGN KEY (node_id) REFERENCES public.nodes(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.inference_deployments
    ADD CONSTRAINT inference_deployments_model_fkey FOREIGN KEY (model) REFERENCES public.inference_models(name) ON DELETE RESTRICT;

ALTER TABLE ONLY public.inference_model_names
    ADD CONSTRAINT inference_model_names_model_fkey FOREIGN KEY (model) REFERENCES public.inference_models(name) ON DELETE RESTRICT;

ALTER TABLE ONLY public.instances
    ADD CONSTRAINT instances_node_id_fkey FOREIGN KEY (node_id) REFERENCES public.nodes(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.instances
    ADD CONSTRAINT instances_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.instances
    ADD CONSTRAINT instances_rental_id_mode_fkey FOREIGN KEY (rental_id, mode) REFERENCES public.rentals(id, mode) ON DELETE RESTRICT;

ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT invitations_inviter_id_fkey FOREIGN KEY (inviter_id) REFERENCES public.users(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT invitations_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.invoices
    ADD CONSTRAINT invoices_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.ledger_accounts
    ADD CONSTRAINT ledger_accounts_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.maintenance_nodes
    ADD CONSTRAINT maintenance_nodes_node_id_fkey FOREIGN KEY (node_id) REFERENCES public.nodes(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.maintenance_nodes
    ADD CONSTRAINT maintenance_nodes_window_id_fkey FOREIGN KEY (window_id) REFERENCES public.maintenance_windows(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.maintenance_notices
    ADD CONSTRAINT maintenance_notices_allocation_id_mode_org_id_fkey FOREIGN KEY (allocation_id, mode, org_id) REFERENCES public.allocations(id, mode, org_id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.maintenance_notices
    ADD CONSTRAINT maintenance_notices_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.maintenance_notices
    ADD CONSTRAINT maintenance_notices_window_id_fkey FOREIGN KEY (window_id) REFERENCES public.maintenance_windows(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.members
    ADD CONSTRAINT members_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.members
    ADD CONSTRAINT members_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.meter_transitions
    ADD CONSTRAINT meter_transitions_meter_id_fkey FOREIGN KEY (meter_id) REFERENCES public.meters(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.meters
    ADD CONSTRAINT meters_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.meters
    ADD CONSTRAINT meters_supplier_org_id_fkey FOREIGN KEY (supplier_org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.mock_machines
    ADD CONSTRAINT mock_machines_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.node_capacity
    ADD CONSTRAINT node_capacity_cluster_id_fkey FOREIGN KEY (cluster_id) REFERENCES public.clusters(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.node_capacity
    ADD CONSTRAINT node_capacity_fabric_id_fkey FOREIGN KEY (fabric_id) REFERENCES public.fabrics(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.node_capacity
    ADD CONSTRAINT node_capacity_node_id_fkey FOREIGN KEY (node_id) REFERENCES public.nodes(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.node_capacity
    ADD CONSTRAINT node_capacity_provider_id_mode_fkey FOREIGN KEY (provider_id, mode) REFERENCES public.providers(id, mode) ON DELETE RESTRICT;

ALTER TABLE ONLY public.node_capacity
    ADD CONSTRAINT node_capacity_provider_id_region_fkey FOREIGN KEY (provider_id, region) REFERENCES public.provider_regions(provider_id, region) ON DELETE RESTRICT;

ALTER TABLE ONLY public.node_faults
    ADD CONSTRAINT node_faults_node_id_fkey FOREIGN KEY (node_id) REFERENCES public.nodes(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.node_faults
    ADD CONSTRAINT node_faults_rental_id_fkey FOREIGN KEY (rental_id) REFERENCES public.rentals(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.node_transitions
    ADD CONSTRAINT node_transitions_node_id_fkey FOREIGN KEY (node_id) REFERENCES public.nodes(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.nodes
    ADD CONSTRAINT nodes_cluster_id_fkey FOREIGN KEY (cluster_id) REFERENCES public.clusters(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.notice_mails
    ADD CONSTRAINT notice_mails_notice_id_fkey FOREIGN KEY (notice_id) REFERENCES public.notices(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.notice_mails
    ADD CONSTRAINT notice_mails_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.notice_preferences
    ADD CONSTRAINT notice_preferences_org_id_user_id_fkey FOREIGN KEY (org_id, user_id) REFERENCES public.members(org_id, user_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.passkeys
    ADD CONSTRAINT passkeys_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.payment_disputes
    ADD CONSTRAINT payment_disputes_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.payment_disputes
    ADD CONSTRAINT payment_disputes_payment_id_fkey FOREIGN KEY (payment_id) REFERENCES public.payments(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.payment_events
    ADD CONSTRAINT payment_events_payment_id_fkey FOREIGN KEY (payment_id) REFERENCES public.payments(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.payments
    ADD CONSTRAINT payments_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.platform_roles
    ADD CONSTRAINT platform_roles_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.pot_lease_budgets
    ADD CONSTRAINT pot_lease_budgets_lease_id_fkey FOREIGN KEY (lease_id) REFERENCES public.pot_leases(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.pot_lease_gateways
    ADD CONSTRAINT pot_lease_gateways_lease_id_fkey FOREIGN KEY (lease_id) REFERENCES public.pot_leases(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.pots
    ADD CONSTRAINT pots_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.prices
    ADD CONSTRAINT prices_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.provider_regions
    ADD CONSTRAINT provider_regions_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES public.providers(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.rental_consoles
    ADD CONSTRAINT rental_consoles_rental_id_mode_fkey FOREIGN KEY (rental_id, mode) REFERENCES public.rentals(id, mode) ON DELETE RESTRICT;

ALTER TABLE ONLY public.rental_idleness
    ADD CONSTRAINT rental_idleness_rental_id_mode_fkey FOREIGN KEY (rental_id, mode) REFERENCES public.rentals(id, mode) ON DELETE RESTRICT;

ALTER TABLE ONLY public.rental_machines
    ADD CONSTRAINT rental_machines_allocation_id_mode_org_id_fkey FOREIGN KEY (allocation_id, mode, org_id) REFERENCES public.allocations(id, mode, org_id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.rental_machines
    ADD CONSTRAINT rental_machines_cluster_id_fkey FOREIGN KEY (cluster_id) REFERENCES public.clusters(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.rental_machines
    ADD CONSTRAINT rental_machines_node_id_fkey FOREIGN KEY (node_id) REFERENCES public.nodes(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.rental_machines
    ADD CONSTRAINT rental_machines_rental_id_mode_fkey FOREIGN KEY (rental_id, mode) REFERENCES public.rentals(id, mode) ON DELETE RESTRICT;

ALTER TABLE ONLY public.rental_steps
    ADD CONSTRAINT rental_steps_rental_id_mode_fkey FOREIGN KEY (rental_id, mode) REFERENCES public.rentals(id, mode) ON DELETE RESTRICT;

ALTER TABLE ONLY public.rental_terms
    ADD CONSTRAINT rental_terms_rental_id_mode_fkey FOREIGN KEY (rental_id, mode) REFERENCES public.rentals(id, mode) ON DELETE RESTRICT;

ALTER TABLE ONLY public.rental_transitions
    ADD CONSTRAINT rental_transitions_rental_id_fkey FOREIGN KEY (rental_id) REFERENCES public.rentals(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.rentals
    ADD CONSTRAINT rentals_allocation_is_its_own FOREIGN KEY (allocation_id, mode, org_id) REFERENCES public.allocations(id, mode, org_id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.rentals
    ADD CONSTRAINT rentals_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.rentals
    ADD CONSTRAINT rentals_mode_of_provider FOREIGN KEY (provider_id, mode) REFERENCES public.providers(id, mode) ON DELETE RESTRICT;

ALTER TABLE ONLY public.rentals
    ADD CONSTRAINT rentals_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.rentals
    ADD CONSTRAINT rentals_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES public.providers(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.rentals
    ADD CONSTRAINT rentals_supplier_org_id_fkey FOREIGN KEY (supplier_org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.rentals
    ADD CONSTRAINT rentals_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.required_actions
    ADD CONSTRAINT required_actions_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.reservation_requests
    ADD CONSTRAINT reservation_requests_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.reservation_requests
    ADD CONSTRAINT reservation_requests_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.ssh_public_keys
    ADD CONSTRAINT ssh_public_keys_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.ssh_public_keys
    ADD CONSTRAINT ssh_public_keys_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.storage_addresses
    ADD CONSTRAINT storage_addresses_rental_id_attempt_position_fkey FOREIGN KEY (rental_id, attempt, "position") REFERENCES public.rental_machines(rental_id, attempt, "position") ON DELETE CASCADE;

ALTER TABLE ONLY public.stray_machines
    ADD CONSTRAINT stray_machines_cluster_id_fkey FOREIGN KEY (cluster_id) REFERENCES public.clusters(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.supplier_join_tokens
    ADD CONSTRAINT supplier_join_tokens_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.users(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.supplier_join_tokens
    ADD CONSTRAINT supplier_join_tokens_supplier_id_org_id_fkey FOREIGN KEY (supplier_id, org_id) REFERENCES public.suppliers(id, org_id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.supplier_machine_days
    ADD CONSTRAINT supplier_machine_days_machine_id_fkey FOREIGN KEY (machine_id) REFERENCES public.supplier_machines(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.supplier_machine_trust
    ADD CONSTRAINT supplier_machine_trust_machine_id_fkey FOREIGN KEY (machine_id) REFERENCES public.supplier_machines(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.supplier_machines
    ADD CONSTRAINT supplier_machines_cluster_id_fkey FOREIGN KEY (cluster_id) REFERENCES public.clusters(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.supplier_machines
    ADD CONSTRAINT supplier_machines_join_token_id_fkey FOREIGN KEY (join_token_id) REFERENCES public.supplier_join_tokens(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.supplier_machines
    ADD CONSTRAINT supplier_machines_node_id_fkey FOREIGN KEY (node_id) REFERENCES public.nodes(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.supplier_machines
    ADD CONSTRAINT supplier_machines_supplier_id_org_id_fkey FOREIGN KEY (supplier_id, org_id) REFERENCES public.suppliers(id, org_id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.supplier_payouts
    ADD CONSTRAINT supplier_payouts_requested_by_fkey FOREIGN KEY (requested_by) REFERENCES public.users(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.supplier_payouts
    ADD CONSTRAINT supplier_payouts_supplier_id_org_id_fkey FOREIGN KEY (supplier_id, org_id) REFERENCES public.suppliers(id, org_id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.supplier_statements
    ADD CONSTRAINT supplier_statements_supplier_id_org_id_fkey FOREIGN KEY (supplier_id, org_id) REFERENCES public.suppliers(id, org_id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.suppliers
    ADD CONSTRAINT suppliers_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.two_factors
    ADD CONSTRAINT two_factors_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.volume_attachments
    ADD CONSTRAINT volume_attachments_rental_id_mode_fkey FOREIGN KEY (rental_id, mode) REFERENCES public.rentals(id, mode) ON DELETE RESTRICT;

ALTER TABLE ONLY public.volume_attachments
    ADD CONSTRAINT volume_attachments_volume_id_mode_fkey FOREIGN KEY (volume_id, mode) REFERENCES public.volumes(id, mode) ON DELETE RESTRICT;

ALTER TABLE ONLY public.volume_snapshots
    ADD CONSTRAINT volume_snapshots_volume_id_mode_fkey FOREIGN KEY (volume_id, mode) REFERENCES public.volumes(id, mode) ON DELETE RESTRICT;

ALTER TABLE ONLY public.volume_transitions
    ADD CONSTRAINT volume_transitions_volume_id_fkey FOREIGN KEY (volume_id) REFERENCES public.volumes(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.volumes
    ADD CONSTRAINT volumes_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.volumes
    ADD CONSTRAINT volumes_mode_of_node FOREIGN KEY (node_id, mode) REFERENCES public.storage_nodes(id, mode) ON DELETE RESTRICT;

ALTER TABLE ONLY public.volumes
    ADD CONSTRAINT volumes_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.volumes
    ADD CONSTRAINT volumes_restore_snapshot_id_fkey FOREIGN KEY (restore_snapshot_id) REFERENCES public.volume_snapshots(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.volumes
    ADD CONSTRAINT volumes_restore_volume_id_fkey FOREIGN KEY (restore_volume_id) REFERENCES public.volumes(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.volumes
    ADD CONSTRAINT volumes_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.wallet_ladders
    ADD CONSTRAINT wallet_ladders_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT webhooks_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.written_off_clawbacks
    ADD CONSTRAINT written_off_clawbacks_transfer_id_fkey FOREIGN KEY (transfer_id) REFERENCES public.ledger_transfers(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.written_off_machines
    ADD CONSTRAINT written_off_machines_cluster_id_fkey FOREIGN KEY (cluster_id) REFERENCES public.clusters(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.written_off_machines
    ADD CONSTRAINT written_off_machines_node_id_fkey FOREIGN KEY (node_id) REFERENCES public.nodes(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.written_off_machines
    ADD CONSTRAINT written_off_machines_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

GRANT USAGE ON SCHEMA public TO millrace_app;
GRANT USAGE ON SCHEMA public TO millrace_api;
GRANT USAGE ON SCHEMA public TO millrace_worker;
GRANT USAGE ON SCHEMA public TO millrace_admin;

REVOKE ALL ON FUNCTION public.begin_ledger_archive(through date) FROM PUBLIC;
GRANT ALL ON FUNCTION public.begin_ledger_archive(through date) TO millrace_app;
GRANT ALL ON FUNCTION public.begin_ledger_archive(through date) TO millrace_worker;

REVOKE ALL ON FUNCTION public.begin_usage_archive(through date) FROM PUBLIC;
GRANT ALL ON FUNCTION public.begin_usage_archive(through date) TO millrace_app;
GRANT ALL ON FUNCTION public.begin_usage_archive(through date) TO millrace_worker;

REVOKE ALL ON FUNCTION public.delete_archived_leases(at_most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.delete_archived_leases(at_most integer) TO millrace_app;
GRANT ALL ON FUNCTION public.delete_archived_leases(at_most integer) TO millrace_worker;

REVOKE ALL ON FUNCTION public.delete_archived_usage(at_most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.delete_archived_usage(at_most integer) TO millrace_app;
GRANT ALL ON FUNCTION public.delete_archived_usage(at_most integer) TO millrace_worker;

REVOKE ALL ON FUNCTION public.delete_finished_rows(what text, keep_days integer, at_most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.delete_finished_rows(what text, keep_days integer, at_most integer) TO millrace_app;
GRANT ALL ON FUNCTION public.delete_finished_rows(what text, keep_days integer, at_most integer) TO millrace_worker;

REVOKE ALL ON FUNCTION public.due_usage_archive(after_months integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.due_usage_archive(after_months integer) TO millrace_app;
GRANT ALL ON FUNCTION public.due_usage_archive(after_months integer) TO millrace_worker;

REVOKE ALL ON FUNCTION public.make_usage_partitions(first_day date, days integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.make_usage_partitions(first_day date, days integer) TO millrace_app;
GRANT ALL ON FUNCTION public.make_usage_partitions(first_day date, days integer) TO millrace_worker;

REVOKE ALL ON FUNCTION public.move_archived_transfers(at_most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.move_archived_transfers(at_most integer) TO millrace_app;
GRANT ALL ON FUNCTION public.move_archived_transfers(at_most integer) TO millrace_worker;

REVOKE ALL ON FUNCTION public.recount_node(one uuid) FROM PUBLIC;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.accounts TO millrace_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.accounts TO millrace_api;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.accounts TO millrace_admin;

GRANT SELECT ON TABLE public.archived_ledger_entries TO millrace_app;

GRANT SELECT,INSERT ON TABLE public.ledger_entries TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.ledger_entries TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.ledger_entries TO millrace_worker;
GRANT SELECT ON TABLE public.ledger_entries TO millrace_admin;

GRANT SELECT ON TABLE public.all_ledger_entries TO millrace_app;
GRANT SELECT ON TABLE public.all_ledger_entries TO millrace_api;
GRANT SELECT ON TABLE public.all_ledger_entries TO millrace_worker;

GRANT SELECT ON TABLE public.archived_ledger_transfers TO millrace_app;

GRANT SELECT,INSERT ON TABLE public.ledger_transfers TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.ledger_transfers TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.ledger_transfers TO millrace_worker;
GRANT SELECT ON TABLE public.ledger_transfers TO millrace_admin;

GRANT SELECT ON TABLE public.all_ledger_transfers TO millrace_app;
GRANT SELECT ON TABLE public.all_ledger_transfers TO millrace_api;
GRANT SELECT ON TABLE public.all_ledger_transfers TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.allocated_gpus TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.allocated_gpus TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.allocated_gpus TO millrace_worker;
GRANT SELECT ON TABLE public.allocated_gpus TO millrace_admin;

GRANT UPDATE(released_at) ON TABLE public.allocated_gpus TO millrace_app;
GRANT UPDATE(released_at) ON TABLE public.allocated_gpus TO millrace_api;
GRANT UPDATE(released_at) ON TABLE public.allocated_gpus TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.allocated_ports TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.allocated_ports TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.allocated_ports TO millrace_worker;
GRANT SELECT ON TABLE public.allocated_ports TO millrace_admin;

GRANT UPDATE(released_at) ON TABLE public.allocated_ports TO millrace_app;
GRANT UPDATE(released_at) ON TABLE public.allocated_ports TO millrace_api;
GRANT UPDATE(released_at) ON TABLE public.allocated_ports TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.allocations TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.allocations TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.allocations TO millrace_worker;
GRANT SELECT ON TABLE public.allocations TO millrace_admin;

GRANT UPDATE(state) ON TABLE public.allocations TO millrace_app;
GRANT UPDATE(state) ON TABLE public.allocations TO millrace_api;
GRANT UPDATE(state) ON TABLE public.allocations TO millrace_worker;

GRANT UPDATE(frees_at) ON TABLE public.allocations TO millrace_app;
GRANT UPDATE(frees_at) ON TABLE public.allocations TO millrace_api;
GRANT UPDATE(frees_at) ON TABLE public.allocations TO millrace_worker;

GRANT UPDATE(released_at) ON TABLE public.allocations TO millrace_app;
GRANT UPDATE(released_at) ON TABLE public.allocations TO millrace_api;
GRANT UPDATE(released_at) ON TABLE public.allocations TO millrace_worker;

GRANT SELECT,INSERT,DELETE ON TABLE public.api_keys TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.api_keys TO millrace_api;
GRANT SELECT ON TABLE public.api_keys TO millrace_worker;
GRANT SELECT,INSERT ON TABLE public.api_keys TO millrace_admin;

GRANT UPDATE(expires_at) ON TABLE public.api_keys TO millrace_app;
GRANT UPDATE(expires_at) ON TABLE public.api_keys TO millrace_api;
GRANT UPDATE(expires_at) ON TABLE public.api_keys TO millrace_worker;

GRANT UPDATE(revoked_at) ON TABLE public.api_keys TO millrace_app;
GRANT UPDATE(revoked_at) ON TABLE public.api_keys TO millrace_api;
GRANT UPDATE(revoked_at) ON TABLE public.api_keys TO millrace_worker;

GRANT UPDATE(revoked_reason) ON TABLE public.api_keys TO millrace_app;
GRANT UPDATE(revoked_reason) ON TABLE public.api_keys TO millrace_api;
GRANT UPDATE(revoked_reason) ON TABLE public.api_keys TO millrace_worker;

GRANT UPDATE(last_used_at) ON TABLE public.api_keys TO millrace_app;
GRANT UPDATE(last_used_at) ON TABLE public.api_keys TO millrace_api;
GRANT UPDATE(last_used_at) ON TABLE public.api_keys TO millrace_worker;

GRANT UPDATE(next_action_at) ON TABLE public.api_keys TO millrace_app;
GRANT UPDATE(next_action_at) ON TABLE public.api_keys TO millrace_api;
GRANT UPDATE(next_action_at) ON TABLE public.api_keys TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.audit_log TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.audit_log TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.audit_log TO millrace_worker;
GRANT SELECT,INSERT ON TABLE public.audit_log TO millrace_admin;

GRANT SELECT,INSERT,UPDATE ON TABLE public.audit_marks TO millrace_app;
GRANT SELECT,INSERT,UPDATE ON TABLE public.audit_marks TO millrace_worker;
GRANT SELECT,INSERT,UPDATE ON TABLE public.audit_marks TO millrace_admin;

GRANT SELECT,INSERT,DELETE ON TABLE public.audit_runs TO millrace_app;
GRANT SELECT ON TABLE public.audit_runs TO millrace_api;
GRANT SELECT,INSERT,DELETE ON TABLE public.audit_runs TO millrace_worker;
GRANT SELECT,INSERT,DELETE ON TABLE public.audit_runs TO millrace_admin;

GRANT SELECT,DELETE ON TABLE public.book_changes TO millrace_app;
GRANT SELECT,DELETE ON TABLE public.book_changes TO millrace_api;
GRANT SELECT,DELETE ON TABLE public.book_changes TO millrace_worker;

GRANT SELECT,USAGE ON SEQUENCE public.book_changes_id_seq TO millrace_app;
GRANT SELECT,USAGE ON SEQUENCE public.book_changes_id_seq TO millrace_api;
GRANT SELECT,USAGE ON SEQUENCE public.book_changes_id_seq TO millrace_worker;
GRANT SELECT,USAGE ON SEQUENCE public.book_changes_id_seq TO millrace_admin;

GRANT SELECT,INSERT ON TABLE public.budgets TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.budgets TO millrace_api;
GRANT SELECT ON TABLE public.budgets TO millrace_worker;
GRANT SELECT ON TABLE public.budgets TO millrace_admin;

GRANT UPDATE(name) ON TABLE public.budgets TO millrace_app;
GRANT UPDATE(name) ON TABLE public.budgets TO millrace_api;
GRANT UPDATE(name) ON TABLE public.budgets TO millrace_worker;

GRANT UPDATE(key_ids) ON TABLE public.budgets TO millrace_app;
GRANT UPDATE(key_ids) ON TABLE public.budgets TO millrace_api;
GRANT UPDATE(key_ids) ON TABLE public.budgets TO millrace_worker;

GRANT UPDATE(limit_nano_usd) ON TABLE public.budgets TO millrace_app;
GRANT UPDATE(limit_nano_usd) ON TABLE public.budgets TO millrace_api;
GRANT UPDATE(limit_nano_usd) ON TABLE public.budgets TO millrace_worker;

GRANT UPDATE(period_start) ON TABLE public.budgets TO millrace_app;
GRANT UPDATE(period_start) ON TABLE public.budgets TO millrace_api;
GRANT UPDATE(period_start) ON TABLE public.budgets TO millrace_worker;

GRANT UPDATE(period_end) ON TABLE public.budgets TO millrace_app;
GRANT UPDATE(period_end) ON TABLE public.budgets TO millrace_api;
GRANT UPDATE(period_end) ON TABLE public.budgets TO millrace_worker;

GRANT UPDATE(thresholds_percent) ON TABLE public.budgets TO millrace_app;
GRANT UPDATE(thresholds_percent) ON TABLE public.budgets TO millrace_api;
GRANT UPDATE(thresholds_percent) ON TABLE public.budgets TO millrace_worker;

GRANT UPDATE(notified_percent) ON TABLE public.budgets TO millrace_app;
GRANT UPDATE(notified_percent) ON TABLE public.budgets TO millrace_api;
GRANT UPDATE(notified_percent) ON TABLE public.budgets TO millrace_worker;

GRANT UPDATE(on_exceeded) ON TABLE public.budgets TO millrace_app;
GRANT UPDATE(on_exceeded) ON TABLE public.budgets TO millrace_api;
GRANT UPDATE(on_exceeded) ON TABLE public.budgets TO millrace_worker;

GRANT UPDATE(deleted_at) ON TABLE public.budgets TO millrace_app;
GRANT UPDATE(deleted_at) ON TABLE public.budgets TO millrace_api;
GRANT UPDATE(deleted_at) ON TABLE public.budgets TO millrace_worker;

GRANT UPDATE(is_key_limit) ON TABLE public.budgets TO millrace_app;
GRANT UPDATE(is_key_limit) ON TABLE public.budgets TO millrace_api;
GRANT UPDATE(is_key_limit) ON TABLE public.budgets TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.cluster_comparisons TO millrace_app;
GRANT SELECT ON TABLE public.cluster_comparisons TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.cluster_comparisons TO millrace_worker;
GRANT SELECT,INSERT ON TABLE public.cluster_comparisons TO millrace_admin;

GRANT UPDATE(turn) ON TABLE public.cluster_comparisons TO millrace_app;
GRANT UPDATE(turn) ON TABLE public.cluster_comparisons TO millrace_worker;
GRANT UPDATE(turn) ON TABLE public.cluster_comparisons TO millrace_admin;

GRANT UPDATE(holder) ON TABLE public.cluster_comparisons TO millrace_app;
GRANT UPDATE(holder) ON TABLE public.cluster_comparisons TO millrace_worker;
GRANT UPDATE(holder) ON TABLE public.cluster_comparisons TO millrace_admin;

GRANT UPDATE(held_until) ON TABLE public.cluster_comparisons TO millrace_app;
GRANT UPDATE(held_until) ON TABLE public.cluster_comparisons TO millrace_worker;
GRANT UPDATE(held_until) ON TABLE public.cluster_comparisons TO millrace_admin;

GRANT UPDATE(looked_at) ON TABLE public.cluster_comparisons TO millrace_app;
GRANT UPDATE(looked_at) ON TABLE public.cluster_comparisons TO millrace_worker;
GRANT UPDATE(looked_at) ON TABLE public.cluster_comparisons TO millrace_admin;

GRANT UPDATE(watching_since) ON TABLE public.cluster_comparisons TO millrace_app;
GRANT UPDATE(watching_since) ON TABLE public.cluster_comparisons TO millrace_worker;
GRANT UPDATE(watching_since) ON TABLE public.cluster_comparisons TO millrace_admin;

GRANT UPDATE(whole_at) ON TABLE public.cluster_comparisons TO millrace_app;
GRANT UPDATE(whole_at) ON TABLE public.cluster_comparisons TO millrace_worker;
GRANT UPDATE(whole_at) ON TABLE public.cluster_comparisons TO millrace_admin;

GRANT UPDATE(problem) ON TABLE public.cluster_comparisons TO millrace_app;
GRANT UPDATE(problem) ON TABLE public.cluster_comparisons TO millrace_worker;
GRANT UPDATE(problem) ON TABLE public.cluster_comparisons TO millrace_admin;

GRANT UPDATE(reap_allowed_until) ON TABLE public.cluster_comparisons TO millrace_app;
GRANT UPDATE(reap_allowed_until) ON TABLE public.cluster_comparisons TO millrace_worker;
GRANT UPDATE(reap_allowed_until) ON TABLE public.cluster_comparisons TO millrace_admin;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.cluster_observers TO millrace_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.cluster_observers TO millrace_worker;

GRANT SELECT,INSERT,UPDATE ON TABLE public.clusters TO millrace_app;
GRANT SELECT,INSERT,UPDATE ON TABLE public.clusters TO millrace_api;
GRANT SELECT,INSERT,UPDATE ON TABLE public.clusters TO millrace_worker;
GRANT SELECT ON TABLE public.clusters TO millrace_admin;

GRANT SELECT,INSERT ON TABLE public.demo_mark TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.demo_mark TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.demo_mark TO millrace_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.device_codes TO millrace_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.device_codes TO millrace_api;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.device_codes TO millrace_admin;

GRANT SELECT,INSERT ON TABLE public.entitlements TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.entitlements TO millrace_api;

GRANT UPDATE(revoked_at) ON TABLE public.entitlements TO millrace_app;
GRANT UPDATE(revoked_at) ON TABLE public.entitlements TO millrace_api;

GRANT SELECT,INSERT,UPDATE ON TABLE public.event_heads TO millrace_app;
GRANT SELECT ON TABLE public.event_heads TO millrace_api;
GRANT SELECT,INSERT,UPDATE ON TABLE public.event_heads TO millrace_worker;

GRANT SELECT,INSERT,DELETE ON TABLE public.events TO millrace_app;
GRANT SELECT ON TABLE public.events TO millrace_api;
GRANT SELECT,INSERT,DELETE ON TABLE public.events TO millrace_worker;

GRANT UPDATE(published_at) ON TABLE public.events TO millrace_app;
GRANT UPDATE(published_at) ON TABLE public.events TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.fabrics TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.fabrics TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.gpus TO millrace_app;
GRANT SELECT ON TABLE public.gpus TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.gpus TO millrace_worker;
GRANT SELECT ON TABLE public.gpus TO millrace_admin;

GRANT UPDATE(device_uuid) ON TABLE public.gpus TO millrace_app;
GRANT UPDATE(device_uuid) ON TABLE public.gpus TO millrace_api;
GRANT UPDATE(device_uuid) ON TABLE public.gpus TO millrace_worker;

GRANT UPDATE(model) ON TABLE public.gpus TO millrace_app;
GRANT UPDATE(model) ON TABLE public.gpus TO millrace_api;
GRANT UPDATE(model) ON TABLE public.gpus TO millrace_worker;

GRANT UPDATE(gpu_type) ON TABLE public.gpus TO millrace_app;
GRANT UPDATE(gpu_type) ON TABLE public.gpus TO millrace_api;
GRANT UPDATE(gpu_type) ON TABLE public.gpus TO millrace_worker;

GRANT UPDATE(ram_mb) ON TABLE public.gpus TO millrace_app;
GRANT UPDATE(ram_mb) ON TABLE public.gpus TO millrace_api;
GRANT UPDATE(ram_mb) ON TABLE public.gpus TO millrace_worker;

GRANT UPDATE(numa_node) ON TABLE public.gpus TO millrace_app;
GRANT UPDATE(numa_node) ON TABLE public.gpus TO millrace_api;
GRANT UPDATE(numa_node) ON TABLE public.gpus TO millrace_worker;

GRANT UPDATE(state) ON TABLE public.gpus TO millrace_app;
GRANT UPDATE(state) ON TABLE public.gpus TO millrace_api;
GRANT UPDATE(state) ON TABLE public.gpus TO millrace_worker;

GRANT UPDATE(state_reason) ON TABLE public.gpus TO millrace_app;
GRANT UPDATE(state_reason) ON TABLE public.gpus TO millrace_api;
GRANT UPDATE(state_reason) ON TABLE public.gpus TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.id_blocks TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.id_blocks TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.id_blocks TO millrace_worker;
GRANT SELECT,INSERT ON TABLE public.id_blocks TO millrace_admin;

GRANT UPDATE(next_id) ON TABLE public.id_blocks TO millrace_app;
GRANT UPDATE(next_id) ON TABLE public.id_blocks TO millrace_api;
GRANT UPDATE(next_id) ON TABLE public.id_blocks TO millrace_worker;
GRANT UPDATE(next_id) ON TABLE public.id_blocks TO millrace_admin;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.idempotency_keys TO millrace_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.idempotency_keys TO millrace_api;
GRANT SELECT,DELETE,UPDATE ON TABLE public.idempotency_keys TO millrace_worker;

GRANT SELECT,INSERT,DELETE ON TABLE public.inference_checkpoints TO millrace_app;
GRANT SELECT,INSERT,DELETE ON TABLE public.inference_checkpoints TO millrace_worker;

GRANT UPDATE(amount_nano_usd) ON TABLE public.inference_checkpoints TO millrace_app;
GRANT UPDATE(amount_nano_usd) ON TABLE public.inference_checkpoints TO millrace_worker;

GRANT UPDATE(event) ON TABLE public.inference_checkpoints TO millrace_app;
GRANT UPDATE(event) ON TABLE public.inference_checkpoints TO millrace_worker;

GRANT UPDATE(recorded_at) ON TABLE public.inference_checkpoints TO millrace_app;
GRANT UPDATE(recorded_at) ON TABLE public.inference_checkpoints TO millrace_worker;

GRANT SELECT,INSERT,DELETE ON TABLE public.inference_deployments TO millrace_app;
GRANT SELECT,INSERT,DELETE ON TABLE public.inference_deployments TO millrace_api;
GRANT SELECT ON TABLE public.inference_deployments TO millrace_worker;

GRANT UPDATE(address) ON TABLE public.inference_deployments TO millrace_app;
GRANT UPDATE(address) ON TABLE public.inference_deployments TO millrace_api;
GRANT UPDATE(address) ON TABLE public.inference_deployments TO millrace_worker;

GRANT UPDATE(upstream_model) ON TABLE public.inference_deployments TO millrace_app;
GRANT UPDATE(upstream_model) ON TABLE public.inference_deployments TO millrace_api;
GRANT UPDATE(upstream_model) ON TABLE public.inference_deployments TO millrace_worker;

GRANT UPDATE(sealed_api_key) ON TABLE public.inference_deployments TO millrace_app;
GRANT UPDATE(sealed_api_key) ON TABLE public.inference_deployments TO millrace_api;
GRANT UPDATE(sealed_api_key) ON TABLE public.inference_deployments TO millrace_worker;

GRANT UPDATE(region) ON TABLE public.inference_deployments TO millrace_app;
GRANT UPDATE(region) ON TABLE public.inference_deployments TO millrace_api;
GRANT UPDATE(region) ON TABLE public.inference_deployments TO millrace_worker;

GRANT UPDATE(weight) ON TABLE public.inference_deployments TO millrace_app;
GRANT UPDATE(weight) ON TABLE public.inference_deployments TO millrace_api;
GRANT UPDATE(weight) ON TABLE public.inference_deployments TO millrace_worker;

GRANT UPDATE(max_concurrency) ON TABLE public.inference_deployments TO millrace_app;
GRANT UPDATE(max_concurrency) ON TABLE public.inference_deployments TO millrace_api;
GRANT UPDATE(max_concurrency) ON TABLE public.inference_deployments TO millrace_worker;

GRANT UPDATE(enabled) ON TABLE public.inference_deployments TO millrace_app;
GRANT UPDATE(enabled) ON TABLE public.inference_deployments TO millrace_api;
GRANT UPDATE(enabled) ON TABLE public.inference_deployments TO millrace_worker;

GRANT UPDATE(health) ON TABLE public.inference_deployments TO millrace_app;
GRANT UPDATE(health) ON TABLE public.inference_deployments TO millrace_api;
GRANT UPDATE(health) ON TABLE public.inference_deployments TO millrace_worker;

GRANT UPDATE(health_since) ON TABLE public.inference_deployments TO millrace_app;
GRANT UPDATE(health_since) ON TABLE public.inference_deployments TO millrace_api;
GRANT UPDATE(health_since) ON TABLE public.inference_deployments TO millrace_worker;

GRANT UPDATE(updated_at) ON TABLE public.inference_deployments TO millrace_app;
GRANT UPDATE(updated_at) ON TABLE public.inference_deployments TO millrace_api;
GRANT UPDATE(updated_at) ON TABLE public.inference_deployments TO millrace_worker;

GRANT SELECT,INSERT,DELETE ON TABLE public.inference_model_names TO millrace_app;
GRANT SELECT,INSERT,DELETE ON TABLE public.inference_model_names TO millrace_api;
GRANT SELECT ON TABLE public.inference_model_names TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.inference_models TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.inference_models TO millrace_api;
GRANT SELECT ON TABLE public.inference_models TO millrace_worker;

GRANT UPDATE(modality) ON TABLE public.inference_models TO millrace_app;
GRANT UPDATE(modality) ON TABLE public.inference_models TO millrace_api;

GRANT UPDATE(input_modalities) ON TABLE public.inference_models TO millrace_app;
GRANT UPDATE(input_modalities) ON TABLE public.inference_models TO millrace_api;

GRANT UPDATE(context_length) ON TABLE public.inference_models TO millrace_app;
GRANT UPDATE(context_length) ON TABLE public.inference_models TO millrace_api;

GRANT UPDATE(max_output_tokens) ON TABLE public.inference_models TO millrace_app;
GRANT UPDATE(max_output_tokens) ON TABLE public.inference_models TO millrace_api;

GRANT UPDATE(owned_by) ON TABLE public.inference_models TO millrace_app;
GRANT UPDATE(owned_by) ON TABLE public.inference_models TO millrace_api;

GRANT UPDATE(enabled) ON TABLE public.inference_models TO millrace_app;
GRANT UPDATE(enabled) ON TABLE public.inference_models TO millrace_api;

GRANT UPDATE(visible_to) ON TABLE public.inference_models TO millrace_app;
GRANT UPDATE(visible_to) ON TABLE public.inference_models TO millrace_api;

GRANT UPDATE(fallbacks) ON TABLE public.inference_models TO millrace_app;
GRANT UPDATE(fallbacks) ON TABLE public.inference_models TO millrace_api;

GRANT UPDATE(requests_per_minute) ON TABLE public.inference_models TO millrace_app;
GRANT UPDATE(requests_per_minute) ON TABLE public.inference_models TO millrace_api;

GRANT UPDATE(updated_at) ON TABLE public.inference_models TO millrace_app;
GRANT UPDATE(updated_at) ON TABLE public.inference_models TO millrace_api;

GRANT SELECT,INSERT ON TABLE public.inference_requests TO millrace_app;
GRANT SELECT ON TABLE public.inference_requests TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.inference_requests TO millrace_worker;
GRANT SELECT ON TABLE public.inference_requests TO millrace_admin;

GRANT UPDATE(late_nano_usd) ON TABLE public.inference_requests TO millrace_app;
GRANT UPDATE(late_nano_usd) ON TABLE public.inference_requests TO millrace_worker;

GRANT UPDATE(late_at) ON TABLE public.inference_requests TO millrace_app;
GRANT UPDATE(late_at) ON TABLE public.inference_requests TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.instances TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.instances TO millrace_api;
GRANT SELECT ON TABLE public.instances TO millrace_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.invitations TO millrace_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.invitations TO millrace_api;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.invitations TO millrace_admin;

GRANT SELECT ON TABLE public.invoice_counter TO millrace_app;
GRANT SELECT ON TABLE public.invoice_counter TO millrace_worker;
GRANT SELECT ON TABLE public.invoice_counter TO millrace_admin;

GRANT UPDATE(last_number) ON TABLE public.invoice_counter TO millrace_app;
GRANT UPDATE(last_number) ON TABLE public.invoice_counter TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.invoice_gaps TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.invoice_gaps TO millrace_worker;
GRANT SELECT ON TABLE public.invoice_gaps TO millrace_admin;

GRANT SELECT,INSERT,UPDATE ON TABLE public.invoice_months TO millrace_app;
GRANT SELECT,INSERT,UPDATE ON TABLE public.invoice_months TO millrace_worker;
GRANT SELECT ON TABLE public.invoice_months TO millrace_admin;

GRANT SELECT,INSERT ON TABLE public.invoices TO millrace_app;
GRANT SELECT ON TABLE public.invoices TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.invoices TO millrace_worker;
GRANT SELECT ON TABLE public.invoices TO millrace_admin;

GRANT SELECT,INSERT ON TABLE public.ledger_accounts TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.ledger_accounts TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.ledger_accounts TO millrace_worker;
GRANT SELECT ON TABLE public.ledger_accounts TO millrace_admin;

GRANT UPDATE(balance_nano_usd) ON TABLE public.ledger_accounts TO millrace_app;
GRANT UPDATE(balance_nano_usd) ON TABLE public.ledger_accounts TO millrace_api;
GRANT UPDATE(balance_nano_usd) ON TABLE public.ledger_accounts TO millrace_worker;

GRANT UPDATE(held_nano_usd) ON TABLE public.ledger_accounts TO millrace_app;
GRANT UPDATE(held_nano_usd) ON TABLE public.ledger_accounts TO millrace_api;
GRANT UPDATE(held_nano_usd) ON TABLE public.ledger_accounts TO millrace_worker;

GRANT UPDATE(floor_nano_usd) ON TABLE public.ledger_accounts TO millrace_app;
GRANT UPDATE(floor_nano_usd) ON TABLE public.ledger_accounts TO millrace_api;
GRANT UPDATE(floor_nano_usd) ON TABLE public.ledger_accounts TO millrace_worker;

GRANT UPDATE(entry_count) ON TABLE public.ledger_accounts TO millrace_app;
GRANT UPDATE(entry_count) ON TABLE public.ledger_accounts TO millrace_api;
GRANT UPDATE(entry_count) ON TABLE public.ledger_accounts TO millrace_worker;

GRANT UPDATE(frozen_at) ON TABLE public.ledger_accounts TO millrace_app;
GRANT UPDATE(frozen_at) ON TABLE public.ledger_accounts TO millrace_api;
GRANT UPDATE(frozen_at) ON TABLE public.ledger_accounts TO millrace_worker;

GRANT UPDATE(has_companions) ON TABLE public.ledger_accounts TO millrace_app;
GRANT UPDATE(has_companions) ON TABLE public.ledger_accounts TO millrace_api;
GRANT UPDATE(has_companions) ON TABLE public.ledger_accounts TO millrace_worker;

GRANT UPDATE(owed_nano_usd) ON TABLE public.ledger_accounts TO millrace_app;
GRANT UPDATE(owed_nano_usd) ON TABLE public.ledger_accounts TO millrace_api;
GRANT UPDATE(owed_nano_usd) ON TABLE public.ledger_accounts TO millrace_worker;

GRANT UPDATE(written_off_nano_usd) ON TABLE public.ledger_accounts TO millrace_app;
GRANT UPDATE(written_off_nano_usd) ON TABLE public.ledger_accounts TO millrace_api;
GRANT UPDATE(written_off_nano_usd) ON TABLE public.ledger_accounts TO millrace_worker;

GRANT SELECT ON TABLE public.ledger_archived_keys TO millrace_app;
GRANT SELECT ON TABLE public.ledger_archived_keys TO millrace_api;
GRANT SELECT ON TABLE public.ledger_archived_keys TO millrace_worker;

GRANT SELECT ON TABLE public.ledger_archived_totals TO millrace_app;
GRANT SELECT ON TABLE public.ledger_archived_totals TO millrace_worker;
GRANT SELECT ON TABLE public.ledger_archived_totals TO millrace_admin;

GRANT SELECT ON TABLE public.ledger_archives TO millrace_app;
GRANT SELECT ON TABLE public.ledger_archives TO millrace_worker;
GRANT SELECT ON TABLE public.ledger_archives TO millrace_admin;

GRANT SELECT,INSERT ON TABLE public.ledger_hold_parts TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.ledger_hold_parts TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.ledger_hold_parts TO millrace_worker;
GRANT SELECT ON TABLE public.ledger_hold_parts TO millrace_admin;

GRANT UPDATE(held_nano_usd) ON TABLE public.ledger_hold_parts TO millrace_app;
GRANT UPDATE(held_nano_usd) ON TABLE public.ledger_hold_parts TO millrace_api;
GRANT UPDATE(held_nano_usd) ON TABLE public.ledger_hold_parts TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.ledger_holds TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.ledger_holds TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.ledger_holds TO millrace_worker;
GRANT SELECT ON TABLE public.ledger_holds TO millrace_admin;

GRANT UPDATE(held_nano_usd) ON TABLE public.ledger_holds TO millrace_app;
GRANT UPDATE(held_nano_usd) ON TABLE public.ledger_holds TO millrace_api;
GRANT UPDATE(held_nano_usd) ON TABLE public.ledger_holds TO millrace_worker;

GRANT UPDATE(posted_nano_usd) ON TABLE public.ledger_holds TO millrace_app;
GRANT UPDATE(posted_nano_usd) ON TABLE public.ledger_holds TO millrace_api;
GRANT UPDATE(posted_nano_usd) ON TABLE public.ledger_holds TO millrace_worker;

GRANT UPDATE(closed_at) ON TABLE public.ledger_holds TO millrace_app;
GRANT UPDATE(closed_at) ON TABLE public.ledger_holds TO millrace_api;
GRANT UPDATE(closed_at) ON TABLE public.ledger_holds TO millrace_worker;

GRANT SELECT ON TABLE public.ledger_opening_balances TO millrace_app;
GRANT SELECT ON TABLE public.ledger_opening_balances TO millrace_worker;
GRANT SELECT ON TABLE public.ledger_opening_balances TO millrace_admin;

GRANT SELECT,DELETE ON TABLE public.listing_changes TO millrace_app;
GRANT SELECT,DELETE ON TABLE public.listing_changes TO millrace_api;
GRANT SELECT ON TABLE public.listing_changes TO millrace_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.loop_items TO millrace_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.loop_items TO millrace_api;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.loop_items TO millrace_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.mail_refusals TO millrace_app;
GRANT SELECT,INSERT,DELETE ON TABLE public.mail_refusals TO millrace_api;

GRANT SELECT,INSERT ON TABLE public.maintenance_nodes TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.maintenance_nodes TO millrace_api;
GRANT SELECT ON TABLE public.maintenance_nodes TO millrace_worker;
GRANT SELECT ON TABLE public.maintenance_nodes TO millrace_admin;

GRANT UPDATE(hold) ON TABLE public.maintenance_nodes TO millrace_app;
GRANT UPDATE(hold) ON TABLE public.maintenance_nodes TO millrace_api;
GRANT UPDATE(hold) ON TABLE public.maintenance_nodes TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.maintenance_notices TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.maintenance_notices TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.maintenance_notices TO millrace_worker;

GRANT UPDATE(told) ON TABLE public.maintenance_notices TO millrace_app;
GRANT UPDATE(told) ON TABLE public.maintenance_notices TO millrace_api;
GRANT UPDATE(told) ON TABLE public.maintenance_notices TO millrace_worker;

GRANT UPDATE(told_at) ON TABLE public.maintenance_notices TO millrace_app;
GRANT UPDATE(told_at) ON TABLE public.maintenance_notices TO millrace_api;
GRANT UPDATE(told_at) ON TABLE public.maintenance_notices TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.maintenance_windows TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.maintenance_windows TO millrace_api;
GRANT SELECT ON TABLE public.maintenance_windows TO millrace_worker;
GRANT SELECT ON TABLE public.maintenance_windows TO millrace_admin;

GRANT UPDATE(status) ON TABLE public.maintenance_windows TO millrace_app;
GRANT UPDATE(status) ON TABLE public.maintenance_windows TO millrace_api;
GRANT UPDATE(status) ON TABLE public.maintenance_windows TO millrace_worker;

GRANT UPDATE(ended_at) ON TABLE public.maintenance_windows TO millrace_app;
GRANT UPDATE(ended_at) ON TABLE public.maintenance_windows TO millrace_api;
GRANT UPDATE(ended_at) ON TABLE public.maintenance_windows TO millrace_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.members TO millrace_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.members TO millrace_api;
GRANT SELECT,UPDATE ON TABLE public.members TO millrace_worker;
GRANT SELECT,INSERT,UPDATE ON TABLE public.members TO millrace_admin;

GRANT SELECT,UPDATE ON TABLE public.meter_shards TO millrace_app;
GRANT SELECT,UPDATE ON TABLE public.meter_shards TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.meter_transitions TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.meter_transitions TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.meter_transitions TO millrace_worker;
GRANT SELECT ON TABLE public.meter_transitions TO millrace_admin;

GRANT SELECT,INSERT ON TABLE public.rentals TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.rentals TO millrace_api;
GRANT SELECT ON TABLE public.rentals TO millrace_worker;
GRANT SELECT ON TABLE public.rentals TO millrace_admin;

GRANT UPDATE(provider_id) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(provider_id) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(provider_id) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(name) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(name) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(name) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(label) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(label) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(label) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(tags) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(tags) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(tags) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(user_data) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(user_data) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(user_data) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(monitoring) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(monitoring) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(monitoring) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(convert_on_expiry) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(convert_on_expiry) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(convert_on_expiry) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(status) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(status) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(status) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(status_reason) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(status_reason) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(status_reason) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(status_since) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(status_since) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(status_since) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(task) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(task) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(task) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(task_options) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(task_options) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(task_options) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(task_deadline_at) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(task_deadline_at) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(task_deadline_at) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(power) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(power) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(power) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(gpu_held) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(gpu_held) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(gpu_held) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(attempt) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(attempt) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(attempt) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(first_attempt) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(first_attempt) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(first_attempt) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(allocation_id) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(allocation_id) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(allocation_id) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(trouble_since) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(trouble_since) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(trouble_since) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(billing_paused_at) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(billing_paused_at) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(billing_paused_at) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(updated_at) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(updated_at) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(updated_at) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(started_at) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(started_at) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(started_at) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(end_accepted_at) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(end_accepted_at) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(end_accepted_at) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(ended_at) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(ended_at) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(ended_at) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(end_reason) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(end_reason) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(end_reason) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(expires_at) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(expires_at) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(expires_at) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(max_nano_usd) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(max_nano_usd) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(max_nano_usd) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(idle_after_seconds) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(idle_after_seconds) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(idle_after_seconds) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(idle_action) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(idle_action) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(idle_action) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(told_expiring_at) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(told_expiring_at) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(told_expiring_at) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(next_action_at) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(next_action_at) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(next_action_at) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(deadline_at) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(deadline_at) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(deadline_at) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(transitions) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(transitions) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(transitions) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(steps) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(steps) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(steps) ON TABLE public.rentals TO millrace_worker;

GRANT UPDATE(version) ON TABLE public.rentals TO millrace_app;
GRANT UPDATE(version) ON TABLE public.rentals TO millrace_api;
GRANT UPDATE(version) ON TABLE public.rentals TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.volumes TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.volumes TO millrace_api;
GRANT SELECT ON TABLE public.volumes TO millrace_worker;
GRANT SELECT ON TABLE public.volumes TO millrace_admin;

GRANT UPDATE(label) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(label) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(label) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(tags) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(tags) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(tags) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(size_gb) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(size_gb) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(size_gb) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(price) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(price) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(price) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(hold_id) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(hold_id) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(hold_id) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(grow_to_gb) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(grow_to_gb) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(grow_to_gb) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(grow_price) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(grow_price) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(grow_price) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(grow_hold_id) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(grow_hold_id) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(grow_hold_id) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(grow_by) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(grow_by) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(grow_by) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(phase) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(phase) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(phase) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(status) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(status) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(status) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(status_reason) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(status_reason) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(status_reason) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(status_since) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(status_since) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(status_since) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(end_reason) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(end_reason) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(end_reason) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(updated_at) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(updated_at) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(updated_at) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(started_at) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(started_at) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(started_at) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(end_accepted_at) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(end_accepted_at) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(end_accepted_at) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(purge_at) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(purge_at) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(purge_at) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(deleted_at) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(deleted_at) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(deleted_at) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(wish_seq) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(wish_seq) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(wish_seq) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(served_seq) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(served_seq) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(served_seq) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(served_clients) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(served_clients) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(served_clients) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(trouble_since) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(trouble_since) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(trouble_since) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(tries) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(tries) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(tries) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(last_error) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(last_error) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(last_error) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(next_action_at) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(next_action_at) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(next_action_at) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(transitions) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(transitions) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(transitions) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(version) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(version) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(version) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(restore_id) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(restore_id) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(restore_id) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(restore_snapshot_id) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(restore_snapshot_id) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(restore_snapshot_id) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(restore_volume_id) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(restore_volume_id) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(restore_volume_id) ON TABLE public.volumes TO millrace_worker;

GRANT UPDATE(restore_by) ON TABLE public.volumes TO millrace_app;
GRANT UPDATE(restore_by) ON TABLE public.volumes TO millrace_api;
GRANT UPDATE(restore_by) ON TABLE public.volumes TO millrace_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.metered_things TO millrace_app;
GRANT SELECT ON TABLE public.metered_things TO millrace_worker;
GRANT SELECT ON TABLE public.metered_things TO millrace_admin;

GRANT SELECT,INSERT ON TABLE public.meters TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.meters TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.meters TO millrace_worker;
GRANT SELECT ON TABLE public.meters TO millrace_admin;

GRANT UPDATE(supplier_posted_nano_usd) ON TABLE public.meters TO millrace_app;
GRANT UPDATE(supplier_posted_nano_usd) ON TABLE public.meters TO millrace_api;
GRANT UPDATE(supplier_posted_nano_usd) ON TABLE public.meters TO millrace_worker;

GRANT UPDATE(state) ON TABLE public.meters TO millrace_app;
GRANT UPDATE(state) ON TABLE public.meters TO millrace_api;
GRANT UPDATE(state) ON TABLE public.meters TO millrace_worker;

GRANT UPDATE(running_since) ON TABLE public.meters TO millrace_app;
GRANT UPDATE(running_since) ON TABLE public.meters TO millrace_api;
GRANT UPDATE(running_since) ON TABLE public.meters TO millrace_worker;

GRANT UPDATE(elapsed_before_ms) ON TABLE public.meters TO millrace_app;
GRANT UPDATE(elapsed_before_ms) ON TABLE public.meters TO millrace_api;
GRANT UPDATE(elapsed_before_ms) ON TABLE public.meters TO millrace_worker;

GRANT UPDATE(posted_ms) ON TABLE public.meters TO millrace_app;
GRANT UPDATE(posted_ms) ON TABLE public.meters TO millrace_api;
GRANT UPDATE(posted_ms) ON TABLE public.meters TO millrace_worker;

GRANT UPDATE(posted_nano_usd) ON TABLE public.meters TO millrace_app;
GRANT UPDATE(posted_nano_usd) ON TABLE public.meters TO millrace_api;
GRANT UPDATE(posted_nano_usd) ON TABLE public.meters TO millrace_worker;

GRANT UPDATE(shortfall_nano_usd) ON TABLE public.meters TO millrace_app;
GRANT UPDATE(shortfall_nano_usd) ON TABLE public.meters TO millrace_api;
GRANT UPDATE(shortfall_nano_usd) ON TABLE public.meters TO millrace_worker;

GRANT UPDATE(rest_of_term_nano_usd) ON TABLE public.meters TO millrace_app;
GRANT UPDATE(rest_of_term_nano_usd) ON TABLE public.meters TO millrace_api;
GRANT UPDATE(rest_of_term_nano_usd) ON TABLE public.meters TO millrace_worker;

GRANT UPDATE(held_nano_usd) ON TABLE public.meters TO millrace_app;
GRANT UPDATE(held_nano_usd) ON TABLE public.meters TO millrace_api;
GRANT UPDATE(held_nano_usd) ON TABLE public.meters TO millrace_worker;

GRANT UPDATE(covered_until) ON TABLE public.meters TO millrace_app;
GRANT UPDATE(covered_until) ON TABLE public.meters TO millrace_api;
GRANT UPDATE(covered_until) ON TABLE public.meters TO millrace_worker;

GRANT UPDATE(next_post_at) ON TABLE public.meters TO millrace_app;
GRANT UPDATE(next_post_at) ON TABLE public.meters TO millrace_api;
GRANT UPDATE(next_post_at) ON TABLE public.meters TO millrace_worker;

GRANT UPDATE(postings) ON TABLE public.meters TO millrace_app;
GRANT UPDATE(postings) ON TABLE public.meters TO millrace_api;
GRANT UPDATE(postings) ON TABLE public.meters TO millrace_worker;

GRANT UPDATE(transitions) ON TABLE public.meters TO millrace_app;
GRANT UPDATE(transitions) ON TABLE public.meters TO millrace_api;
GRANT UPDATE(transitions) ON TABLE public.meters TO millrace_worker;

GRANT UPDATE(closed_at) ON TABLE public.meters TO millrace_app;
GRANT UPDATE(closed_at) ON TABLE public.meters TO millrace_api;
GRANT UPDATE(closed_at) ON TABLE public.meters TO millrace_worker;

GRANT SELECT,INSERT,DELETE ON TABLE public.mock_machines TO millrace_app;
GRANT SELECT,INSERT,DELETE ON TABLE public.mock_machines TO millrace_worker;
GRANT SELECT,INSERT,DELETE ON TABLE public.mock_machines TO millrace_admin;

GRANT UPDATE(machine) ON TABLE public.mock_machines TO millrace_app;
GRANT UPDATE(machine) ON TABLE public.mock_machines TO millrace_worker;
GRANT UPDATE(machine) ON TABLE public.mock_machines TO millrace_admin;

GRANT UPDATE(what) ON TABLE public.mock_machines TO millrace_app;
GRANT UPDATE(what) ON TABLE public.mock_machines TO millrace_worker;
GRANT UPDATE(what) ON TABLE public.mock_machines TO millrace_admin;

GRANT UPDATE(change_seq) ON TABLE public.mock_machines TO millrace_app;
GRANT UPDATE(change_seq) ON TABLE public.mock_machines TO millrace_worker;
GRANT UPDATE(change_seq) ON TABLE public.mock_machines TO millrace_admin;

GRANT UPDATE(changed_at) ON TABLE public.mock_machines TO millrace_app;
GRANT UPDATE(changed_at) ON TABLE public.mock_machines TO millrace_worker;
GRANT UPDATE(changed_at) ON TABLE public.mock_machines TO millrace_admin;

GRANT SELECT,USAGE ON SEQUENCE public.mock_machine_changes TO millrace_app;
GRANT SELECT,USAGE ON SEQUENCE public.mock_machine_changes TO millrace_api;
GRANT SELECT,USAGE ON SEQUENCE public.mock_machine_changes TO millrace_worker;
GRANT SELECT,USAGE ON SEQUENCE public.mock_machine_changes TO millrace_admin;

GRANT SELECT ON TABLE public.node_capacity TO millrace_app;
GRANT SELECT ON TABLE public.node_capacity TO millrace_api;
GRANT SELECT ON TABLE public.node_capacity TO millrace_worker;
GRANT SELECT ON TABLE public.node_capacity TO millrace_admin;

GRANT INSERT(node_id) ON TABLE public.node_capacity TO millrace_app;
GRANT INSERT(node_id) ON TABLE public.node_capacity TO millrace_worker;

GRANT INSERT(mode) ON TABLE public.node_capacity TO millrace_app;
GRANT INSERT(mode) ON TABLE public.node_capacity TO millrace_worker;

GRANT INSERT(offer) ON TABLE public.node_capacity TO millrace_app;
GRANT INSERT(offer) ON TABLE public.node_capacity TO millrace_worker;

GRANT INSERT(provider_id) ON TABLE public.node_capacity TO millrace_app;
GRANT INSERT(provider_id) ON TABLE public.node_capacity TO millrace_worker;

GRANT INSERT(region) ON TABLE public.node_capacity TO millrace_app;
GRANT INSERT(region) ON TABLE public.node_capacity TO millrace_worker;

GRANT INSERT(cluster_id) ON TABLE public.node_capacity TO millrace_app;
GRANT INSERT(cluster_id) ON TABLE public.node_capacity TO millrace_worker;

GRANT INSERT(fabric_id),UPDATE(fabric_id) ON TABLE public.node_capacity TO millrace_app;
GRANT UPDATE(fabric_id) ON TABLE public.node_capacity TO millrace_api;
GRANT INSERT(fabric_id),UPDATE(fabric_id) ON TABLE public.node_capacity TO millrace_worker;

GRANT INSERT(gpu_type),UPDATE(gpu_type) ON TABLE public.node_capacity TO millrace_app;
GRANT UPDATE(gpu_type) ON TABLE public.node_capacity TO millrace_api;
GRANT INSERT(gpu_type),UPDATE(gpu_type) ON TABLE public.node_capacity TO millrace_worker;

GRANT INSERT(connection_type),UPDATE(connection_type) ON TABLE public.node_capacity TO millrace_app;
GRANT UPDATE(connection_type) ON TABLE public.node_capacity TO millrace_api;
GRANT INSERT(connection_type),UPDATE(connection_type) ON TABLE public.node_capacity TO millrace_worker;

GRANT INSERT(cuda),UPDATE(cuda) ON TABLE public.node_capacity TO millrace_app;
GRANT UPDATE(cuda) ON TABLE public.node_capacity TO millrace_api;
GRANT INSERT(cuda),UPDATE(cuda) ON TABLE public.node_capacity TO millrace_worker;

GRANT INSERT(ready),UPDATE(ready) ON TABLE public.node_capacity TO millrace_app;
GRANT UPDATE(ready) ON TABLE public.node_capacity TO millrace_api;
GRANT INSERT(ready),UPDATE(ready) ON TABLE public.node_capacity TO millrace_worker;

GRANT INSERT(open),UPDATE(open) ON TABLE public.node_capacity TO millrace_app;
GRANT UPDATE(open) ON TABLE public.node_capacity TO millrace_api;
GRANT INSERT(open),UPDATE(open) ON TABLE public.node_capacity TO millrace_worker;

GRANT INSERT(spread),UPDATE(spread) ON TABLE public.node_capacity TO millrace_app;
GRANT UPDATE(spread) ON TABLE public.node_capacity TO millrace_api;
GRANT INSERT(spread),UPDATE(spread) ON TABLE public.node_capacity TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.node_faults TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.node_faults TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.node_faults TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.node_transitions TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.node_transitions TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.node_transitions TO millrace_worker;

GRANT SELECT,INSERT,UPDATE ON TABLE public.nodes TO millrace_app;
GRANT SELECT,UPDATE ON TABLE public.nodes TO millrace_api;
GRANT SELECT,INSERT,UPDATE ON TABLE public.nodes TO millrace_worker;
GRANT SELECT ON TABLE public.nodes TO millrace_admin;

GRANT SELECT,INSERT ON TABLE public.notice_mails TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.notice_mails TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.notice_mails TO millrace_worker;

GRANT UPDATE(state) ON TABLE public.notice_mails TO millrace_app;
GRANT UPDATE(state) ON TABLE public.notice_mails TO millrace_api;
GRANT UPDATE(state) ON TABLE public.notice_mails TO millrace_worker;

GRANT UPDATE(attempts) ON TABLE public.notice_mails TO millrace_app;
GRANT UPDATE(attempts) ON TABLE public.notice_mails TO millrace_api;
GRANT UPDATE(attempts) ON TABLE public.notice_mails TO millrace_worker;

GRANT UPDATE(next_attempt_at) ON TABLE public.notice_mails TO millrace_app;
GRANT UPDATE(next_attempt_at) ON TABLE public.notice_mails TO millrace_api;
GRANT UPDATE(next_attempt_at) ON TABLE public.notice_mails TO millrace_worker;

GRANT UPDATE(claim) ON TABLE public.notice_mails TO millrace_app;
GRANT UPDATE(claim) ON TABLE public.notice_mails TO millrace_api;
GRANT UPDATE(claim) ON TABLE public.notice_mails TO millrace_worker;

GRANT UPDATE(claimed_until) ON TABLE public.notice_mails TO millrace_app;
GRANT UPDATE(claimed_until) ON TABLE public.notice_mails TO millrace_api;
GRANT UPDATE(claimed_until) ON TABLE public.notice_mails TO millrace_worker;

GRANT UPDATE(last_error) ON TABLE public.notice_mails TO millrace_app;
GRANT UPDATE(last_error) ON TABLE public.notice_mails TO millrace_api;
GRANT UPDATE(last_error) ON TABLE public.notice_mails TO millrace_worker;

GRANT UPDATE(done_at) ON TABLE public.notice_mails TO millrace_app;
GRANT UPDATE(done_at) ON TABLE public.notice_mails TO millrace_api;
GRANT UPDATE(done_at) ON TABLE public.notice_mails TO millrace_worker;

GRANT SELECT,INSERT,DELETE ON TABLE public.notice_preferences TO millrace_app;
GRANT SELECT,INSERT,DELETE ON TABLE public.notice_preferences TO millrace_api;
GRANT SELECT ON TABLE public.notice_preferences TO millrace_worker;

GRANT UPDATE(wanted) ON TABLE public.notice_preferences TO millrace_app;
GRANT UPDATE(wanted) ON TABLE public.notice_preferences TO millrace_api;

GRANT UPDATE(updated_at) ON TABLE public.notice_preferences TO millrace_app;
GRANT UPDATE(updated_at) ON TABLE public.notice_preferences TO millrace_api;

GRANT SELECT,INSERT,DELETE ON TABLE public.notices TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.notices TO millrace_api;
GRANT SELECT,INSERT,DELETE ON TABLE public.notices TO millrace_worker;

GRANT UPDATE(addressed_at) ON TABLE public.notices TO millrace_app;
GRANT UPDATE(addressed_at) ON TABLE public.notices TO millrace_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.organisations TO millrace_app;
GRANT SELECT,INSERT,UPDATE ON TABLE public.organisations TO millrace_api;
GRANT SELECT,UPDATE ON TABLE public.organisations TO millrace_worker;
GRANT SELECT,INSERT,UPDATE ON TABLE public.organisations TO millrace_admin;

GRANT SELECT,INSERT,DELETE ON TABLE public.outbox TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.outbox TO millrace_api;
GRANT SELECT,INSERT,DELETE ON TABLE public.outbox TO millrace_worker;
GRANT SELECT,INSERT ON TABLE public.outbox TO millrace_admin;

GRANT UPDATE(attempts) ON TABLE public.outbox TO millrace_app;
GRANT UPDATE(attempts) ON TABLE public.outbox TO millrace_worker;

GRANT UPDATE(next_attempt_at) ON TABLE public.outbox TO millrace_app;
GRANT UPDATE(next_attempt_at) ON TABLE public.outbox TO millrace_worker;

GRANT UPDATE(last_error) ON TABLE public.outbox TO millrace_app;
GRANT UPDATE(last_error) ON TABLE public.outbox TO millrace_worker;

GRANT UPDATE(parked_at) ON TABLE public.outbox TO millrace_app;
GRANT UPDATE(parked_at) ON TABLE public.outbox TO millrace_worker;

GRANT SELECT,USAGE ON SEQUENCE public.outbox_seq_seq TO millrace_app;
GRANT SELECT,USAGE ON SEQUENCE public.outbox_seq_seq TO millrace_api;
GRANT SELECT,USAGE ON SEQUENCE public.outbox_seq_seq TO millrace_worker;
GRANT SELECT,USAGE ON SEQUENCE public.outbox_seq_seq TO millrace_admin;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.passkeys TO millrace_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.passkeys TO millrace_api;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.passkeys TO millrace_admin;

GRANT SELECT,INSERT ON TABLE public.payment_disputes TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.payment_disputes TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.payment_disputes TO millrace_worker;

GRANT UPDATE(amount_nano_usd) ON TABLE public.payment_disputes TO millrace_app;
GRANT UPDATE(amount_nano_usd) ON TABLE public.payment_disputes TO millrace_api;
GRANT UPDATE(amount_nano_usd) ON TABLE public.payment_disputes TO millrace_worker;

GRANT UPDATE(standing) ON TABLE public.payment_disputes TO millrace_app;
GRANT UPDATE(standing) ON TABLE public.payment_disputes TO millrace_api;
GRANT UPDATE(standing) ON TABLE public.payment_disputes TO millrace_worker;

GRANT UPDATE(told_at) ON TABLE public.payment_disputes TO millrace_app;
GRANT UPDATE(told_at) ON TABLE public.payment_disputes TO millrace_api;
GRANT UPDATE(told_at) ON TABLE public.payment_disputes TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.payment_events TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.payment_events TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.payment_events TO millrace_worker;

GRANT UPDATE(payment_id) ON TABLE public.payment_events TO millrace_app;
GRANT UPDATE(payment_id) ON TABLE public.payment_events TO millrace_api;
GRANT UPDATE(payment_id) ON TABLE public.payment_events TO millrace_worker;

GRANT UPDATE(outcome) ON TABLE public.payment_events TO millrace_app;
GRANT UPDATE(outcome) ON TABLE public.payment_events TO millrace_api;
GRANT UPDATE(outcome) ON TABLE public.payment_events TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.payments TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.payments TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.payments TO millrace_worker;
GRANT SELECT ON TABLE public.payments TO millrace_admin;

GRANT UPDATE(provider_ref) ON TABLE public.payments TO millrace_app;
GRANT UPDATE(provider_ref) ON TABLE public.payments TO millrace_api;
GRANT UPDATE(provider_ref) ON TABLE public.payments TO millrace_worker;

GRANT UPDATE(provider_intent) ON TABLE public.payments TO millrace_app;
GRANT UPDATE(provider_intent) ON TABLE public.payments TO millrace_api;
GRANT UPDATE(provider_intent) ON TABLE public.payments TO millrace_worker;

GRANT UPDATE(state) ON TABLE public.payments TO millrace_app;
GRANT UPDATE(state) ON TABLE public.payments TO millrace_api;
GRANT UPDATE(state) ON TABLE public.payments TO millrace_worker;

GRANT UPDATE(checkout_url) ON TABLE public.payments TO millrace_app;
GRANT UPDATE(checkout_url) ON TABLE public.payments TO millrace_api;
GRANT UPDATE(checkout_url) ON TABLE public.payments TO millrace_worker;

GRANT UPDATE(credited_nano_usd) ON TABLE public.payments TO millrace_app;
GRANT UPDATE(credited_nano_usd) ON TABLE public.payments TO millrace_api;
GRANT UPDATE(credited_nano_usd) ON TABLE public.payments TO millrace_worker;

GRANT UPDATE(refunded_nano_usd) ON TABLE public.payments TO millrace_app;
GRANT UPDATE(refunded_nano_usd) ON TABLE public.payments TO millrace_api;
GRANT UPDATE(refunded_nano_usd) ON TABLE public.payments TO millrace_worker;

GRANT UPDATE(clawed_back_nano_usd) ON TABLE public.payments TO millrace_app;
GRANT UPDATE(clawed_back_nano_usd) ON TABLE public.payments TO millrace_api;
GRANT UPDATE(clawed_back_nano_usd) ON TABLE public.payments TO millrace_worker;

GRANT UPDATE(shortfall_nano_usd) ON TABLE public.payments TO millrace_app;
GRANT UPDATE(shortfall_nano_usd) ON TABLE public.payments TO millrace_api;
GRANT UPDATE(shortfall_nano_usd) ON TABLE public.payments TO millrace_worker;

GRANT UPDATE(clawback_transfers) ON TABLE public.payments TO millrace_app;
GRANT UPDATE(clawback_transfers) ON TABLE public.payments TO millrace_api;
GRANT UPDATE(clawback_transfers) ON TABLE public.payments TO millrace_worker;

GRANT UPDATE(money_steps) ON TABLE public.payments TO millrace_app;
GRANT UPDATE(money_steps) ON TABLE public.payments TO millrace_api;
GRANT UPDATE(money_steps) ON TABLE public.payments TO millrace_worker;

GRANT UPDATE(paid_at) ON TABLE public.payments TO millrace_app;
GRANT UPDATE(paid_at) ON TABLE public.payments TO millrace_api;
GRANT UPDATE(paid_at) ON TABLE public.payments TO millrace_worker;

GRANT UPDATE(next_check_at) ON TABLE public.payments TO millrace_app;
GRANT UPDATE(next_check_at) ON TABLE public.payments TO millrace_api;
GRANT UPDATE(next_check_at) ON TABLE public.payments TO millrace_worker;

GRANT UPDATE(checks) ON TABLE public.payments TO millrace_app;
GRANT UPDATE(checks) ON TABLE public.payments TO millrace_api;
GRANT UPDATE(checks) ON TABLE public.payments TO millrace_worker;

GRANT UPDATE(refund_total_nano_usd) ON TABLE public.payments TO millrace_app;
GRANT UPDATE(refund_total_nano_usd) ON TABLE public.payments TO millrace_api;
GRANT UPDATE(refund_total_nano_usd) ON TABLE public.payments TO millrace_worker;

GRANT UPDATE(refund_told_at) ON TABLE public.payments TO millrace_app;
GRANT UPDATE(refund_told_at) ON TABLE public.payments TO millrace_api;
GRANT UPDATE(refund_told_at) ON TABLE public.payments TO millrace_worker;

GRANT UPDATE(failed_refunds) ON TABLE public.payments TO millrace_app;
GRANT UPDATE(failed_refunds) ON TABLE public.payments TO millrace_api;
GRANT UPDATE(failed_refunds) ON TABLE public.payments TO millrace_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.platform_roles TO millrace_app;
GRANT SELECT ON TABLE public.platform_roles TO millrace_api;
GRANT SELECT ON TABLE public.platform_roles TO millrace_worker;
GRANT SELECT,INSERT,UPDATE ON TABLE public.platform_roles TO millrace_admin;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.pot_gateways TO millrace_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.pot_gateways TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.pot_lease_budgets TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.pot_lease_budgets TO millrace_worker;
GRANT SELECT ON TABLE public.pot_lease_budgets TO millrace_admin;

GRANT UPDATE(granted_nano_usd) ON TABLE public.pot_lease_budgets TO millrace_app;
GRANT UPDATE(granted_nano_usd) ON TABLE public.pot_lease_budgets TO millrace_worker;

GRANT UPDATE(recalled_nano_usd) ON TABLE public.pot_lease_budgets TO millrace_app;
GRANT UPDATE(recalled_nano_usd) ON TABLE public.pot_lease_budgets TO millrace_worker;

GRANT UPDATE(settled_nano_usd) ON TABLE public.pot_lease_budgets TO millrace_app;
GRANT UPDATE(settled_nano_usd) ON TABLE public.pot_lease_budgets TO millrace_worker;

GRANT UPDATE(changes) ON TABLE public.pot_lease_budgets TO millrace_app;
GRANT UPDATE(changes) ON TABLE public.pot_lease_budgets TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.pot_lease_gateways TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.pot_lease_gateways TO millrace_worker;

GRANT UPDATE(declared_dead_at) ON TABLE public.pot_lease_gateways TO millrace_app;
GRANT UPDATE(declared_dead_at) ON TABLE public.pot_lease_gateways TO millrace_worker;

GRANT UPDATE(ended_stream) ON TABLE public.pot_lease_gateways TO millrace_app;
GRANT UPDATE(ended_stream) ON TABLE public.pot_lease_gateways TO millrace_worker;

GRANT UPDATE(ended_at_seq) ON TABLE public.pot_lease_gateways TO millrace_app;
GRANT UPDATE(ended_at_seq) ON TABLE public.pot_lease_gateways TO millrace_worker;

GRANT UPDATE(settled_at) ON TABLE public.pot_lease_gateways TO millrace_app;
GRANT UPDATE(settled_at) ON TABLE public.pot_lease_gateways TO millrace_worker;

GRANT UPDATE(given_back_at) ON TABLE public.pot_lease_gateways TO millrace_app;
GRANT UPDATE(given_back_at) ON TABLE public.pot_lease_gateways TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.pot_leases TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.pot_leases TO millrace_worker;
GRANT SELECT ON TABLE public.pot_leases TO millrace_admin;

GRANT UPDATE(granted_nano_usd) ON TABLE public.pot_leases TO millrace_app;
GRANT UPDATE(granted_nano_usd) ON TABLE public.pot_leases TO millrace_worker;

GRANT UPDATE(recalled_nano_usd) ON TABLE public.pot_leases TO millrace_app;
GRANT UPDATE(recalled_nano_usd) ON TABLE public.pot_leases TO millrace_worker;

GRANT UPDATE(settled_nano_usd) ON TABLE public.pot_leases TO millrace_app;
GRANT UPDATE(settled_nano_usd) ON TABLE public.pot_leases TO millrace_worker;

GRANT UPDATE(changes) ON TABLE public.pot_leases TO millrace_app;
GRANT UPDATE(changes) ON TABLE public.pot_leases TO millrace_worker;

GRANT UPDATE(used_nano_usd) ON TABLE public.pot_leases TO millrace_app;
GRANT UPDATE(used_nano_usd) ON TABLE public.pot_leases TO millrace_worker;

GRANT UPDATE(used_at) ON TABLE public.pot_leases TO millrace_app;
GRANT UPDATE(used_at) ON TABLE public.pot_leases TO millrace_worker;

GRANT UPDATE(state) ON TABLE public.pot_leases TO millrace_app;
GRANT UPDATE(state) ON TABLE public.pot_leases TO millrace_worker;

GRANT UPDATE(expires_at) ON TABLE public.pot_leases TO millrace_app;
GRANT UPDATE(expires_at) ON TABLE public.pot_leases TO millrace_worker;

GRANT UPDATE(closing_at) ON TABLE public.pot_leases TO millrace_app;
GRANT UPDATE(closing_at) ON TABLE public.pot_leases TO millrace_worker;

GRANT UPDATE(closed_at) ON TABLE public.pot_leases TO millrace_app;
GRANT UPDATE(closed_at) ON TABLE public.pot_leases TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.pot_servers TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.pot_servers TO millrace_worker;

GRANT UPDATE(generation) ON TABLE public.pot_servers TO millrace_app;
GRANT UPDATE(generation) ON TABLE public.pot_servers TO millrace_worker;

GRANT UPDATE(incarnation) ON TABLE public.pot_servers TO millrace_app;
GRANT UPDATE(incarnation) ON TABLE public.pot_servers TO millrace_worker;

GRANT UPDATE(initialised_at) ON TABLE public.pot_servers TO millrace_app;
GRANT UPDATE(initialised_at) ON TABLE public.pot_servers TO millrace_worker;

GRANT UPDATE(epoch_floor) ON TABLE public.pot_servers TO millrace_app;
GRANT UPDATE(epoch_floor) ON TABLE public.pot_servers TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.pots TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.pots TO millrace_worker;

GRANT UPDATE(last_epoch) ON TABLE public.pots TO millrace_app;
GRANT UPDATE(last_epoch) ON TABLE public.pots TO millrace_worker;

GRANT UPDATE(calm_until) ON TABLE public.pots TO millrace_app;
GRANT UPDATE(calm_until) ON TABLE public.pots TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.prices TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.prices TO millrace_api;
GRANT SELECT ON TABLE public.prices TO millrace_worker;
GRANT SELECT ON TABLE public.prices TO millrace_admin;

GRANT UPDATE(valid_until) ON TABLE public.prices TO millrace_app;
GRANT UPDATE(valid_until) ON TABLE public.prices TO millrace_api;

GRANT SELECT,INSERT,UPDATE ON TABLE public.provider_regions TO millrace_app;
GRANT SELECT,UPDATE ON TABLE public.provider_regions TO millrace_api;
GRANT SELECT,INSERT,UPDATE ON TABLE public.provider_regions TO millrace_worker;

GRANT SELECT,INSERT,UPDATE ON TABLE public.providers TO millrace_app;
GRANT SELECT,UPDATE ON TABLE public.providers TO millrace_api;
GRANT SELECT,INSERT,UPDATE ON TABLE public.providers TO millrace_worker;
GRANT SELECT ON TABLE public.providers TO millrace_admin;

GRANT SELECT,INSERT,UPDATE ON TABLE public.relay_leases TO millrace_app;
GRANT SELECT,INSERT,UPDATE ON TABLE public.relay_leases TO millrace_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.relays TO millrace_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.relays TO millrace_worker;

GRANT SELECT,INSERT,DELETE ON TABLE public.rental_consoles TO millrace_app;
GRANT SELECT ON TABLE public.rental_consoles TO millrace_api;
GRANT SELECT,INSERT,DELETE ON TABLE public.rental_consoles TO millrace_worker;

GRANT UPDATE(output) ON TABLE public.rental_consoles TO millrace_app;
GRANT UPDATE(output) ON TABLE public.rental_consoles TO millrace_worker;

GRANT UPDATE(dropped) ON TABLE public.rental_consoles TO millrace_app;
GRANT UPDATE(dropped) ON TABLE public.rental_consoles TO millrace_worker;

GRANT UPDATE(read_at) ON TABLE public.rental_consoles TO millrace_app;
GRANT UPDATE(read_at) ON TABLE public.rental_consoles TO millrace_worker;

GRANT UPDATE(reading_until) ON TABLE public.rental_consoles TO millrace_app;
GRANT UPDATE(reading_until) ON TABLE public.rental_consoles TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.rental_idleness TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.rental_idleness TO millrace_worker;

GRANT UPDATE(sampled_at) ON TABLE public.rental_idleness TO millrace_app;
GRANT UPDATE(sampled_at) ON TABLE public.rental_idleness TO millrace_worker;

GRANT UPDATE(idle_since) ON TABLE public.rental_idleness TO millrace_app;
GRANT UPDATE(idle_since) ON TABLE public.rental_idleness TO millrace_worker;

GRANT UPDATE(counters) ON TABLE public.rental_idleness TO millrace_app;
GRANT UPDATE(counters) ON TABLE public.rental_idleness TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.rental_machines TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.rental_machines TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.rental_machines TO millrace_worker;
GRANT SELECT ON TABLE public.rental_machines TO millrace_admin;

GRANT UPDATE(allocation_id) ON TABLE public.rental_machines TO millrace_app;
GRANT UPDATE(allocation_id) ON TABLE public.rental_machines TO millrace_api;
GRANT UPDATE(allocation_id) ON TABLE public.rental_machines TO millrace_worker;

GRANT UPDATE(gpu_addresses) ON TABLE public.rental_machines TO millrace_app;
GRANT UPDATE(gpu_addresses) ON TABLE public.rental_machines TO millrace_api;
GRANT UPDATE(gpu_addresses) ON TABLE public.rental_machines TO millrace_worker;

GRANT UPDATE(ports) ON TABLE public.rental_machines TO millrace_app;
GRANT UPDATE(ports) ON TABLE public.rental_machines TO millrace_api;
GRANT UPDATE(ports) ON TABLE public.rental_machines TO millrace_worker;

GRANT UPDATE(state) ON TABLE public.rental_machines TO millrace_app;
GRANT UPDATE(state) ON TABLE public.rental_machines TO millrace_api;
GRANT UPDATE(state) ON TABLE public.rental_machines TO millrace_worker;

GRANT UPDATE(proof_key) ON TABLE public.rental_machines TO millrace_app;
GRANT UPDATE(proof_key) ON TABLE public.rental_machines TO millrace_api;
GRANT UPDATE(proof_key) ON TABLE public.rental_machines TO millrace_worker;

GRANT UPDATE(address) ON TABLE public.rental_machines TO millrace_app;
GRANT UPDATE(address) ON TABLE public.rental_machines TO millrace_api;
GRANT UPDATE(address) ON TABLE public.rental_machines TO millrace_worker;

GRANT UPDATE(private_ip) ON TABLE public.rental_machines TO millrace_app;
GRANT UPDATE(private_ip) ON TABLE public.rental_machines TO millrace_api;
GRANT UPDATE(private_ip) ON TABLE public.rental_machines TO millrace_worker;

GRANT UPDATE(ssh_user) ON TABLE public.rental_machines TO millrace_app;
GRANT UPDATE(ssh_user) ON TABLE public.rental_machines TO millrace_api;
GRANT UPDATE(ssh_user) ON TABLE public.rental_machines TO millrace_worker;

GRANT UPDATE(host_key) ON TABLE public.rental_machines TO millrace_app;
GRANT UPDATE(host_key) ON TABLE public.rental_machines TO millrace_api;
GRANT UPDATE(host_key) ON TABLE public.rental_machines TO millrace_worker;

GRANT UPDATE(starting) ON TABLE public.rental_machines TO millrace_app;
GRANT UPDATE(starting) ON TABLE public.rental_machines TO millrace_api;
GRANT UPDATE(starting) ON TABLE public.rental_machines TO millrace_worker;

GRANT UPDATE(cut_at) ON TABLE public.rental_machines TO millrace_app;
GRANT UPDATE(cut_at) ON TABLE public.rental_machines TO millrace_api;
GRANT UPDATE(cut_at) ON TABLE public.rental_machines TO millrace_worker;

GRANT UPDATE(absent_seen) ON TABLE public.rental_machines TO millrace_app;
GRANT UPDATE(absent_seen) ON TABLE public.rental_machines TO millrace_api;
GRANT UPDATE(absent_seen) ON TABLE public.rental_machines TO millrace_worker;

GRANT UPDATE(gone_at) ON TABLE public.rental_machines TO millrace_app;
GRANT UPDATE(gone_at) ON TABLE public.rental_machines TO millrace_api;
GRANT UPDATE(gone_at) ON TABLE public.rental_machines TO millrace_worker;

GRANT UPDATE(tries) ON TABLE public.rental_machines TO millrace_app;
GRANT UPDATE(tries) ON TABLE public.rental_machines TO millrace_api;
GRANT UPDATE(tries) ON TABLE public.rental_machines TO millrace_worker;

GRANT UPDATE(next_try_at) ON TABLE public.rental_machines TO millrace_app;
GRANT UPDATE(next_try_at) ON TABLE public.rental_machines TO millrace_api;
GRANT UPDATE(next_try_at) ON TABLE public.rental_machines TO millrace_worker;

GRANT UPDATE(doomed_at) ON TABLE public.rental_machines TO millrace_app;
GRANT UPDATE(doomed_at) ON TABLE public.rental_machines TO millrace_api;
GRANT UPDATE(doomed_at) ON TABLE public.rental_machines TO millrace_worker;

GRANT UPDATE(last_error) ON TABLE public.rental_machines TO millrace_app;
GRANT UPDATE(last_error) ON TABLE public.rental_machines TO millrace_api;
GRANT UPDATE(last_error) ON TABLE public.rental_machines TO millrace_worker;

GRANT SELECT,INSERT,DELETE ON TABLE public.rental_samples TO millrace_app;
GRANT SELECT ON TABLE public.rental_samples TO millrace_api;
GRANT SELECT,INSERT,DELETE ON TABLE public.rental_samples TO millrace_worker;

GRANT SELECT,INSERT,TRUNCATE ON TABLE public.rental_samples_0 TO millrace_app;
GRANT TRUNCATE ON TABLE public.rental_samples_0 TO millrace_worker;

GRANT SELECT,INSERT,TRUNCATE ON TABLE public.rental_samples_1 TO millrace_app;
GRANT TRUNCATE ON TABLE public.rental_samples_1 TO millrace_worker;

GRANT SELECT,INSERT,TRUNCATE ON TABLE public.rental_samples_2 TO millrace_app;
GRANT TRUNCATE ON TABLE public.rental_samples_2 TO millrace_worker;

GRANT SELECT,INSERT,TRUNCATE ON TABLE public.rental_samples_3 TO millrace_app;
GRANT TRUNCATE ON TABLE public.rental_samples_3 TO millrace_worker;

GRANT SELECT,INSERT,TRUNCATE ON TABLE public.rental_samples_4 TO millrace_app;
GRANT TRUNCATE ON TABLE public.rental_samples_4 TO millrace_worker;

GRANT SELECT,INSERT,TRUNCATE ON TABLE public.rental_samples_5 TO millrace_app;
GRANT TRUNCATE ON TABLE public.rental_samples_5 TO millrace_worker;

GRANT SELECT,INSERT,TRUNCATE ON TABLE public.rental_samples_6 TO millrace_app;
GRANT TRUNCATE ON TABLE public.rental_samples_6 TO millrace_worker;

GRANT SELECT,INSERT,TRUNCATE ON TABLE public.rental_samples_7 TO millrace_app;
GRANT TRUNCATE ON TABLE public.rental_samples_7 TO millrace_worker;

GRANT SELECT,INSERT,TRUNCATE ON TABLE public.rental_samples_8 TO millrace_app;
GRANT TRUNCATE ON TABLE public.rental_samples_8 TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.rental_steps TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.rental_steps TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.rental_steps TO millrace_worker;

GRANT UPDATE(status) ON TABLE public.rental_steps TO millrace_app;
GRANT UPDATE(status) ON TABLE public.rental_steps TO millrace_api;
GRANT UPDATE(status) ON TABLE public.rental_steps TO millrace_worker;

GRANT UPDATE(ended_at) ON TABLE public.rental_steps TO millrace_app;
GRANT UPDATE(ended_at) ON TABLE public.rental_steps TO millrace_api;
GRANT UPDATE(ended_at) ON TABLE public.rental_steps TO millrace_worker;

GRANT UPDATE(message) ON TABLE public.rental_steps TO millrace_app;
GRANT UPDATE(message) ON TABLE public.rental_steps TO millrace_api;
GRANT UPDATE(message) ON TABLE public.rental_steps TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.rental_terms TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.rental_terms TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.rental_terms TO millrace_worker;
GRANT SELECT ON TABLE public.rental_terms TO millrace_admin;

GRANT UPDATE(hold_id) ON TABLE public.rental_terms TO millrace_app;
GRANT UPDATE(hold_id) ON TABLE public.rental_terms TO millrace_api;
GRANT UPDATE(hold_id) ON TABLE public.rental_terms TO millrace_worker;

GRANT UPDATE(effective_at) ON TABLE public.rental_terms TO millrace_app;
GRANT UPDATE(effective_at) ON TABLE public.rental_terms TO millrace_api;
GRANT UPDATE(effective_at) ON TABLE public.rental_terms TO millrace_worker;

GRANT UPDATE(ends_at) ON TABLE public.rental_terms TO millrace_app;
GRANT UPDATE(ends_at) ON TABLE public.rental_terms TO millrace_api;
GRANT UPDATE(ends_at) ON TABLE public.rental_terms TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.rental_transitions TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.rental_transitions TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.rental_transitions TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.required_actions TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.required_actions TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.required_actions TO millrace_worker;

GRANT UPDATE(due_at) ON TABLE public.required_actions TO millrace_app;
GRANT UPDATE(due_at) ON TABLE public.required_actions TO millrace_api;
GRANT UPDATE(due_at) ON TABLE public.required_actions TO millrace_worker;

GRANT UPDATE(state) ON TABLE public.required_actions TO millrace_app;
GRANT UPDATE(state) ON TABLE public.required_actions TO millrace_api;
GRANT UPDATE(state) ON TABLE public.required_actions TO millrace_worker;

GRANT UPDATE(claimed_until) ON TABLE public.required_actions TO millrace_app;
GRANT UPDATE(claimed_until) ON TABLE public.required_actions TO millrace_api;
GRANT UPDATE(claimed_until) ON TABLE public.required_actions TO millrace_worker;

GRANT UPDATE(attempts) ON TABLE public.required_actions TO millrace_app;
GRANT UPDATE(attempts) ON TABLE public.required_actions TO millrace_api;
GRANT UPDATE(attempts) ON TABLE public.required_actions TO millrace_worker;

GRANT UPDATE(done_at) ON TABLE public.required_actions TO millrace_app;
GRANT UPDATE(done_at) ON TABLE public.required_actions TO millrace_api;
GRANT UPDATE(done_at) ON TABLE public.required_actions TO millrace_worker;

GRANT SELECT,USAGE ON SEQUENCE public.required_actions_id_seq TO millrace_app;
GRANT SELECT,USAGE ON SEQUENCE public.required_actions_id_seq TO millrace_api;
GRANT SELECT,USAGE ON SEQUENCE public.required_actions_id_seq TO millrace_worker;
GRANT SELECT,USAGE ON SEQUENCE public.required_actions_id_seq TO millrace_admin;

GRANT SELECT,INSERT ON TABLE public.reservation_requests TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.reservation_requests TO millrace_api;

GRANT SELECT,INSERT ON TABLE public.reserve_options TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.reserve_options TO millrace_api;

GRANT SELECT,UPDATE ON TABLE public.restore_state TO millrace_app;
GRANT SELECT,UPDATE ON TABLE public.restore_state TO millrace_worker;
GRANT SELECT,UPDATE ON TABLE public.restore_state TO millrace_admin;

GRANT SELECT,UPDATE ON TABLE public.sample_shards TO millrace_app;
GRANT SELECT,UPDATE ON TABLE public.sample_shards TO millrace_worker;

GRANT SELECT ON TABLE public.schema_migrations TO millrace_app;
GRANT SELECT ON TABLE public.schema_migrations TO millrace_api;
GRANT SELECT ON TABLE public.schema_migrations TO millrace_worker;
GRANT SELECT ON TABLE public.schema_migrations TO millrace_admin;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.sessions TO millrace_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.sessions TO millrace_api;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.sessions TO millrace_admin;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.ssh_public_keys TO millrace_app;
GRANT SELECT,INSERT,DELETE ON TABLE public.ssh_public_keys TO millrace_api;
GRANT SELECT,DELETE,UPDATE ON TABLE public.ssh_public_keys TO millrace_admin;

GRANT SELECT,INSERT,DELETE ON TABLE public.storage_addresses TO millrace_app;
GRANT SELECT,INSERT,DELETE ON TABLE public.storage_addresses TO millrace_api;
GRANT SELECT,INSERT,DELETE ON TABLE public.storage_addresses TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.storage_nodes TO millrace_app;
GRANT SELECT ON TABLE public.storage_nodes TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.storage_nodes TO millrace_worker;

GRANT UPDATE(endpoint) ON TABLE public.storage_nodes TO millrace_app;
GRANT UPDATE(endpoint) ON TABLE public.storage_nodes TO millrace_api;
GRANT UPDATE(endpoint) ON TABLE public.storage_nodes TO millrace_worker;

GRANT UPDATE(credential_ref) ON TABLE public.storage_nodes TO millrace_app;
GRANT UPDATE(credential_ref) ON TABLE public.storage_nodes TO millrace_api;
GRANT UPDATE(credential_ref) ON TABLE public.storage_nodes TO millrace_worker;

GRANT UPDATE(settings) ON TABLE public.storage_nodes TO millrace_app;
GRANT UPDATE(settings) ON TABLE public.storage_nodes TO millrace_api;
GRANT UPDATE(settings) ON TABLE public.storage_nodes TO millrace_worker;

GRANT UPDATE(vip_first) ON TABLE public.storage_nodes TO millrace_app;
GRANT UPDATE(vip_first) ON TABLE public.storage_nodes TO millrace_api;
GRANT UPDATE(vip_first) ON TABLE public.storage_nodes TO millrace_worker;

GRANT UPDATE(vip_last) ON TABLE public.storage_nodes TO millrace_app;
GRANT UPDATE(vip_last) ON TABLE public.storage_nodes TO millrace_api;
GRANT UPDATE(vip_last) ON TABLE public.storage_nodes TO millrace_worker;

GRANT UPDATE(capacity_gb) ON TABLE public.storage_nodes TO millrace_app;
GRANT UPDATE(capacity_gb) ON TABLE public.storage_nodes TO millrace_api;
GRANT UPDATE(capacity_gb) ON TABLE public.storage_nodes TO millrace_worker;

GRANT UPDATE(configured) ON TABLE public.storage_nodes TO millrace_app;
GRANT UPDATE(configured) ON TABLE public.storage_nodes TO millrace_api;
GRANT UPDATE(configured) ON TABLE public.storage_nodes TO millrace_worker;

GRANT UPDATE(status) ON TABLE public.storage_nodes TO millrace_app;
GRANT UPDATE(status) ON TABLE public.storage_nodes TO millrace_api;
GRANT UPDATE(status) ON TABLE public.storage_nodes TO millrace_worker;

GRANT UPDATE(status_reason) ON TABLE public.storage_nodes TO millrace_app;
GRANT UPDATE(status_reason) ON TABLE public.storage_nodes TO millrace_api;
GRANT UPDATE(status_reason) ON TABLE public.storage_nodes TO millrace_worker;

GRANT UPDATE(status_since) ON TABLE public.storage_nodes TO millrace_app;
GRANT UPDATE(status_since) ON TABLE public.storage_nodes TO millrace_api;
GRANT UPDATE(status_since) ON TABLE public.storage_nodes TO millrace_worker;

GRANT UPDATE(beat_at) ON TABLE public.storage_nodes TO millrace_app;
GRANT UPDATE(beat_at) ON TABLE public.storage_nodes TO millrace_api;
GRANT UPDATE(beat_at) ON TABLE public.storage_nodes TO millrace_worker;

GRANT UPDATE(watch_since) ON TABLE public.storage_nodes TO millrace_app;
GRANT UPDATE(watch_since) ON TABLE public.storage_nodes TO millrace_api;
GRANT UPDATE(watch_since) ON TABLE public.storage_nodes TO millrace_worker;

GRANT UPDATE(seen_at) ON TABLE public.storage_nodes TO millrace_app;
GRANT UPDATE(seen_at) ON TABLE public.storage_nodes TO millrace_api;
GRANT UPDATE(seen_at) ON TABLE public.storage_nodes TO millrace_worker;

GRANT UPDATE(next_look_at) ON TABLE public.storage_nodes TO millrace_app;
GRANT UPDATE(next_look_at) ON TABLE public.storage_nodes TO millrace_api;
GRANT UPDATE(next_look_at) ON TABLE public.storage_nodes TO millrace_worker;

GRANT SELECT,INSERT,DELETE ON TABLE public.stray_machines TO millrace_app;
GRANT SELECT,INSERT,DELETE ON TABLE public.stray_machines TO millrace_worker;
GRANT SELECT ON TABLE public.stray_machines TO millrace_admin;

GRANT UPDATE(node_name) ON TABLE public.stray_machines TO millrace_app;
GRANT UPDATE(node_name) ON TABLE public.stray_machines TO millrace_worker;

GRANT UPDATE(reap_begun_at) ON TABLE public.stray_machines TO millrace_app;
GRANT UPDATE(reap_begun_at) ON TABLE public.stray_machines TO millrace_worker;

GRANT UPDATE(last_error) ON TABLE public.stray_machines TO millrace_app;
GRANT UPDATE(last_error) ON TABLE public.stray_machines TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.supplier_join_tokens TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.supplier_join_tokens TO millrace_api;
GRANT SELECT ON TABLE public.supplier_join_tokens TO millrace_worker;

GRANT UPDATE(used_machines) ON TABLE public.supplier_join_tokens TO millrace_app;
GRANT UPDATE(used_machines) ON TABLE public.supplier_join_tokens TO millrace_api;

GRANT UPDATE(revoked_at) ON TABLE public.supplier_join_tokens TO millrace_app;
GRANT UPDATE(revoked_at) ON TABLE public.supplier_join_tokens TO millrace_api;

GRANT SELECT,INSERT,DELETE ON TABLE public.supplier_machine_days TO millrace_app;
GRANT SELECT ON TABLE public.supplier_machine_days TO millrace_api;
GRANT SELECT,INSERT,DELETE ON TABLE public.supplier_machine_days TO millrace_worker;

GRANT UPDATE(watched_ms) ON TABLE public.supplier_machine_days TO millrace_app;
GRANT UPDATE(watched_ms) ON TABLE public.supplier_machine_days TO millrace_worker;

GRANT UPDATE(up_ms) ON TABLE public.supplier_machine_days TO millrace_app;
GRANT UPDATE(up_ms) ON TABLE public.supplier_machine_days TO millrace_worker;

GRANT UPDATE(starts) ON TABLE public.supplier_machine_days TO millrace_app;
GRANT UPDATE(starts) ON TABLE public.supplier_machine_days TO millrace_worker;

GRANT UPDATE(failed_starts) ON TABLE public.supplier_machine_days TO millrace_app;
GRANT UPDATE(failed_starts) ON TABLE public.supplier_machine_days TO millrace_worker;

GRANT UPDATE(losses) ON TABLE public.supplier_machine_days TO millrace_app;
GRANT UPDATE(losses) ON TABLE public.supplier_machine_days TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.supplier_machine_trust TO millrace_app;
GRANT SELECT ON TABLE public.supplier_machine_trust TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.supplier_machine_trust TO millrace_worker;

GRANT UPDATE(measured_until) ON TABLE public.supplier_machine_trust TO millrace_app;
GRANT UPDATE(measured_until) ON TABLE public.supplier_machine_trust TO millrace_worker;

GRANT UPDATE(score_ppm) ON TABLE public.supplier_machine_trust TO millrace_app;
GRANT UPDATE(score_ppm) ON TABLE public.supplier_machine_trust TO millrace_worker;

GRANT UPDATE(uptime_ppm) ON TABLE public.supplier_machine_trust TO millrace_app;
GRANT UPDATE(uptime_ppm) ON TABLE public.supplier_machine_trust TO millrace_worker;

GRANT UPDATE(starting_ppm) ON TABLE public.supplier_machine_trust TO millrace_app;
GRANT UPDATE(starting_ppm) ON TABLE public.supplier_machine_trust TO millrace_worker;

GRANT UPDATE(quarantines) ON TABLE public.supplier_machine_trust TO millrace_app;
GRANT UPDATE(quarantines) ON TABLE public.supplier_machine_trust TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.supplier_machines TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.supplier_machines TO millrace_api;
GRANT SELECT ON TABLE public.supplier_machines TO millrace_worker;

GRANT UPDATE(cluster_id) ON TABLE public.supplier_machines TO millrace_app;
GRANT UPDATE(cluster_id) ON TABLE public.supplier_machines TO millrace_api;
GRANT UPDATE(cluster_id) ON TABLE public.supplier_machines TO millrace_worker;

GRANT UPDATE(node_id) ON TABLE public.supplier_machines TO millrace_app;
GRANT UPDATE(node_id) ON TABLE public.supplier_machines TO millrace_api;
GRANT UPDATE(node_id) ON TABLE public.supplier_machines TO millrace_worker;

GRANT UPDATE(endpoint) ON TABLE public.supplier_machines TO millrace_app;
GRANT UPDATE(endpoint) ON TABLE public.supplier_machines TO millrace_api;
GRANT UPDATE(endpoint) ON TABLE public.supplier_machines TO millrace_worker;

GRANT UPDATE(server_certificate) ON TABLE public.supplier_machines TO millrace_app;
GRANT UPDATE(server_certificate) ON TABLE public.supplier_machines TO millrace_api;
GRANT UPDATE(server_certificate) ON TABLE public.supplier_machines TO millrace_worker;

GRANT UPDATE(server_fingerprint) ON TABLE public.supplier_machines TO millrace_app;
GRANT UPDATE(server_fingerprint) ON TABLE public.supplier_machines TO millrace_api;
GRANT UPDATE(server_fingerprint) ON TABLE public.supplier_machines TO millrace_worker;

GRANT UPDATE(trust_token) ON TABLE public.supplier_machines TO millrace_app;
GRANT UPDATE(trust_token) ON TABLE public.supplier_machines TO millrace_api;
GRANT UPDATE(trust_token) ON TABLE public.supplier_machines TO millrace_worker;

GRANT UPDATE(stage) ON TABLE public.supplier_machines TO millrace_app;
GRANT UPDATE(stage) ON TABLE public.supplier_machines TO millrace_api;
GRANT UPDATE(stage) ON TABLE public.supplier_machines TO millrace_worker;

GRANT UPDATE(problem) ON TABLE public.supplier_machines TO millrace_app;
GRANT UPDATE(problem) ON TABLE public.supplier_machines TO millrace_api;
GRANT UPDATE(problem) ON TABLE public.supplier_machines TO millrace_worker;

GRANT UPDATE(tries) ON TABLE public.supplier_machines TO millrace_app;
GRANT UPDATE(tries) ON TABLE public.supplier_machines TO millrace_api;
GRANT UPDATE(tries) ON TABLE public.supplier_machines TO millrace_worker;

GRANT UPDATE(next_try_at) ON TABLE public.supplier_machines TO millrace_app;
GRANT UPDATE(next_try_at) ON TABLE public.supplier_machines TO millrace_api;
GRANT UPDATE(next_try_at) ON TABLE public.supplier_machines TO millrace_worker;

GRANT UPDATE(deadline_at) ON TABLE public.supplier_machines TO millrace_app;
GRANT UPDATE(deadline_at) ON TABLE public.supplier_machines TO millrace_api;
GRANT UPDATE(deadline_at) ON TABLE public.supplier_machines TO millrace_worker;

GRANT UPDATE(tests) ON TABLE public.supplier_machines TO millrace_app;
GRANT UPDATE(tests) ON TABLE public.supplier_machines TO millrace_api;
GRANT UPDATE(tests) ON TABLE public.supplier_machines TO millrace_worker;

GRANT UPDATE(tested_at) ON TABLE public.supplier_machines TO millrace_app;
GRANT UPDATE(tested_at) ON TABLE public.supplier_machines TO millrace_api;
GRANT UPDATE(tested_at) ON TABLE public.supplier_machines TO millrace_worker;

GRANT UPDATE(approval) ON TABLE public.supplier_machines TO millrace_app;
GRANT UPDATE(approval) ON TABLE public.supplier_machines TO millrace_api;
GRANT UPDATE(approval) ON TABLE public.supplier_machines TO millrace_worker;

GRANT UPDATE(approval_reason) ON TABLE public.supplier_machines TO millrace_app;
GRANT UPDATE(approval_reason) ON TABLE public.supplier_machines TO millrace_api;
GRANT UPDATE(approval_reason) ON TABLE public.supplier_machines TO millrace_worker;

GRANT UPDATE(listed) ON TABLE public.supplier_machines TO millrace_app;
GRANT UPDATE(listed) ON TABLE public.supplier_machines TO millrace_api;
GRANT UPDATE(listed) ON TABLE public.supplier_machines TO millrace_worker;

GRANT UPDATE(drained_at) ON TABLE public.supplier_machines TO millrace_app;
GRANT UPDATE(drained_at) ON TABLE public.supplier_machines TO millrace_api;
GRANT UPDATE(drained_at) ON TABLE public.supplier_machines TO millrace_worker;

GRANT UPDATE(price_nano_usd_per_gpu_hour) ON TABLE public.supplier_machines TO millrace_app;
GRANT UPDATE(price_nano_usd_per_gpu_hour) ON TABLE public.supplier_machines TO millrace_api;
GRANT UPDATE(price_nano_usd_per_gpu_hour) ON TABLE public.supplier_machines TO millrace_worker;

GRANT UPDATE(recent_price_nano_usd_per_gpu_hour) ON TABLE public.supplier_machines TO millrace_app;
GRANT UPDATE(recent_price_nano_usd_per_gpu_hour) ON TABLE public.supplier_machines TO millrace_api;
GRANT UPDATE(recent_price_nano_usd_per_gpu_hour) ON TABLE public.supplier_machines TO millrace_worker;

GRANT UPDATE(recent_price_until) ON TABLE public.supplier_machines TO millrace_app;
GRANT UPDATE(recent_price_until) ON TABLE public.supplier_machines TO millrace_api;
GRANT UPDATE(recent_price_until) ON TABLE public.supplier_machines TO millrace_worker;

GRANT UPDATE(enrolled_at) ON TABLE public.supplier_machines TO millrace_app;
GRANT UPDATE(enrolled_at) ON TABLE public.supplier_machines TO millrace_api;
GRANT UPDATE(enrolled_at) ON TABLE public.supplier_machines TO millrace_worker;

GRANT UPDATE(withdrawn_at) ON TABLE public.supplier_machines TO millrace_app;
GRANT UPDATE(withdrawn_at) ON TABLE public.supplier_machines TO millrace_api;
GRANT UPDATE(withdrawn_at) ON TABLE public.supplier_machines TO millrace_worker;

GRANT UPDATE(version) ON TABLE public.supplier_machines TO millrace_app;
GRANT UPDATE(version) ON TABLE public.supplier_machines TO millrace_api;
GRANT UPDATE(version) ON TABLE public.supplier_machines TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.supplier_payouts TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.supplier_payouts TO millrace_api;
GRANT SELECT ON TABLE public.supplier_payouts TO millrace_worker;
GRANT SELECT ON TABLE public.supplier_payouts TO millrace_admin;

GRANT UPDATE(status) ON TABLE public.supplier_payouts TO millrace_app;
GRANT UPDATE(status) ON TABLE public.supplier_payouts TO millrace_api;

GRANT UPDATE(reference) ON TABLE public.supplier_payouts TO millrace_app;
GRANT UPDATE(reference) ON TABLE public.supplier_payouts TO millrace_api;

GRANT UPDATE(reason) ON TABLE public.supplier_payouts TO millrace_app;
GRANT UPDATE(reason) ON TABLE public.supplier_payouts TO millrace_api;

GRANT UPDATE(transfer_id) ON TABLE public.supplier_payouts TO millrace_app;
GRANT UPDATE(transfer_id) ON TABLE public.supplier_payouts TO millrace_api;

GRANT UPDATE(settled_at) ON TABLE public.supplier_payouts TO millrace_app;
GRANT UPDATE(settled_at) ON TABLE public.supplier_payouts TO millrace_api;

GRANT SELECT,INSERT ON TABLE public.supplier_statements TO millrace_app;
GRANT SELECT ON TABLE public.supplier_statements TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.supplier_statements TO millrace_worker;
GRANT SELECT ON TABLE public.supplier_statements TO millrace_admin;

GRANT SELECT,INSERT ON TABLE public.suppliers TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.suppliers TO millrace_api;
GRANT SELECT ON TABLE public.suppliers TO millrace_worker;
GRANT SELECT ON TABLE public.suppliers TO millrace_admin;

GRANT UPDATE(name) ON TABLE public.suppliers TO millrace_app;
GRANT UPDATE(name) ON TABLE public.suppliers TO millrace_api;

GRANT UPDATE(about) ON TABLE public.suppliers TO millrace_app;
GRANT UPDATE(about) ON TABLE public.suppliers TO millrace_api;

GRANT UPDATE(status) ON TABLE public.suppliers TO millrace_app;
GRANT UPDATE(status) ON TABLE public.suppliers TO millrace_api;

GRANT UPDATE(status_reason) ON TABLE public.suppliers TO millrace_app;
GRANT UPDATE(status_reason) ON TABLE public.suppliers TO millrace_api;

GRANT UPDATE(fee_ppm) ON TABLE public.suppliers TO millrace_app;
GRANT UPDATE(fee_ppm) ON TABLE public.suppliers TO millrace_api;

GRANT UPDATE(applied_at) ON TABLE public.suppliers TO millrace_app;
GRANT UPDATE(applied_at) ON TABLE public.suppliers TO millrace_api;

GRANT UPDATE(approved_at) ON TABLE public.suppliers TO millrace_app;
GRANT UPDATE(approved_at) ON TABLE public.suppliers TO millrace_api;

GRANT UPDATE(updated_at) ON TABLE public.suppliers TO millrace_app;
GRANT UPDATE(updated_at) ON TABLE public.suppliers TO millrace_api;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.two_factors TO millrace_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.two_factors TO millrace_api;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.two_factors TO millrace_admin;

GRANT SELECT ON TABLE public.usage_archive_guard TO millrace_app;

GRANT SELECT ON TABLE public.usage_archives TO millrace_app;
GRANT SELECT ON TABLE public.usage_archives TO millrace_worker;
GRANT SELECT ON TABLE public.usage_archives TO millrace_admin;

GRANT SELECT,INSERT ON TABLE public.usage_charges TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.usage_charges TO millrace_worker;
GRANT SELECT ON TABLE public.usage_charges TO millrace_admin;

GRANT SELECT,INSERT,DELETE ON TABLE public.usage_deferred TO millrace_app;
GRANT SELECT,INSERT,DELETE ON TABLE public.usage_deferred TO millrace_worker;

GRANT UPDATE(attempts) ON TABLE public.usage_deferred TO millrace_app;
GRANT UPDATE(attempts) ON TABLE public.usage_deferred TO millrace_worker;

GRANT SELECT ON TABLE public.usage_months TO millrace_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.usage_sinks TO millrace_app;
GRANT SELECT,INSERT,UPDATE ON TABLE public.usage_sinks TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.usage_unreadable TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.usage_unreadable TO millrace_worker;
GRANT SELECT ON TABLE public.usage_unreadable TO millrace_admin;

GRANT SELECT,INSERT,UPDATE ON TABLE public.usage_watermarks TO millrace_app;
GRANT SELECT,INSERT,UPDATE ON TABLE public.usage_watermarks TO millrace_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.users TO millrace_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.users TO millrace_api;
GRANT SELECT ON TABLE public.users TO millrace_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.users TO millrace_admin;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.verifications TO millrace_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.verifications TO millrace_api;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.verifications TO millrace_admin;

GRANT SELECT,INSERT ON TABLE public.volume_attachments TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.volume_attachments TO millrace_api;
GRANT SELECT ON TABLE public.volume_attachments TO millrace_worker;

GRANT UPDATE(detached_at) ON TABLE public.volume_attachments TO millrace_app;
GRANT UPDATE(detached_at) ON TABLE public.volume_attachments TO millrace_api;
GRANT UPDATE(detached_at) ON TABLE public.volume_attachments TO millrace_worker;

GRANT SELECT,USAGE ON SEQUENCE public.volume_attachments_id_seq TO millrace_app;
GRANT SELECT,USAGE ON SEQUENCE public.volume_attachments_id_seq TO millrace_api;
GRANT SELECT,USAGE ON SEQUENCE public.volume_attachments_id_seq TO millrace_worker;
GRANT SELECT,USAGE ON SEQUENCE public.volume_attachments_id_seq TO millrace_admin;

GRANT SELECT,INSERT ON TABLE public.volume_snapshots TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.volume_snapshots TO millrace_api;
GRANT SELECT ON TABLE public.volume_snapshots TO millrace_worker;
GRANT SELECT ON TABLE public.volume_snapshots TO millrace_admin;

GRANT UPDATE(size_gb) ON TABLE public.volume_snapshots TO millrace_app;
GRANT UPDATE(size_gb) ON TABLE public.volume_snapshots TO millrace_api;
GRANT UPDATE(size_gb) ON TABLE public.volume_snapshots TO millrace_worker;

GRANT UPDATE(price) ON TABLE public.volume_snapshots TO millrace_app;
GRANT UPDATE(price) ON TABLE public.volume_snapshots TO millrace_api;
GRANT UPDATE(price) ON TABLE public.volume_snapshots TO millrace_worker;

GRANT UPDATE(hold_id) ON TABLE public.volume_snapshots TO millrace_app;
GRANT UPDATE(hold_id) ON TABLE public.volume_snapshots TO millrace_api;
GRANT UPDATE(hold_id) ON TABLE public.volume_snapshots TO millrace_worker;

GRANT UPDATE(status) ON TABLE public.volume_snapshots TO millrace_app;
GRANT UPDATE(status) ON TABLE public.volume_snapshots TO millrace_api;
GRANT UPDATE(status) ON TABLE public.volume_snapshots TO millrace_worker;

GRANT UPDATE(ready_at) ON TABLE public.volume_snapshots TO millrace_app;
GRANT UPDATE(ready_at) ON TABLE public.volume_snapshots TO millrace_api;
GRANT UPDATE(ready_at) ON TABLE public.volume_snapshots TO millrace_worker;

GRANT UPDATE(ended_at) ON TABLE public.volume_snapshots TO millrace_app;
GRANT UPDATE(ended_at) ON TABLE public.volume_snapshots TO millrace_api;
GRANT UPDATE(ended_at) ON TABLE public.volume_snapshots TO millrace_worker;

GRANT UPDATE(tries) ON TABLE public.volume_snapshots TO millrace_app;
GRANT UPDATE(tries) ON TABLE public.volume_snapshots TO millrace_api;
GRANT UPDATE(tries) ON TABLE public.volume_snapshots TO millrace_worker;

GRANT UPDATE(last_error) ON TABLE public.volume_snapshots TO millrace_app;
GRANT UPDATE(last_error) ON TABLE public.volume_snapshots TO millrace_api;
GRANT UPDATE(last_error) ON TABLE public.volume_snapshots TO millrace_worker;

GRANT UPDATE(volume_gb) ON TABLE public.volume_snapshots TO millrace_app;
GRANT UPDATE(volume_gb) ON TABLE public.volume_snapshots TO millrace_api;
GRANT UPDATE(volume_gb) ON TABLE public.volume_snapshots TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.volume_transitions TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.volume_transitions TO millrace_api;
GRANT SELECT,INSERT ON TABLE public.volume_transitions TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.wallet_ladders TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.wallet_ladders TO millrace_worker;

GRANT UPDATE(step) ON TABLE public.wallet_ladders TO millrace_app;
GRANT UPDATE(step) ON TABLE public.wallet_ladders TO millrace_worker;

GRANT UPDATE(since) ON TABLE public.wallet_ladders TO millrace_app;
GRANT UPDATE(since) ON TABLE public.wallet_ladders TO millrace_worker;

GRANT SELECT,INSERT,DELETE ON TABLE public.webhook_deliveries TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.webhook_deliveries TO millrace_api;
GRANT SELECT,INSERT,DELETE ON TABLE public.webhook_deliveries TO millrace_worker;

GRANT UPDATE(status) ON TABLE public.webhook_deliveries TO millrace_app;
GRANT UPDATE(status) ON TABLE public.webhook_deliveries TO millrace_api;
GRANT UPDATE(status) ON TABLE public.webhook_deliveries TO millrace_worker;

GRANT UPDATE(failures) ON TABLE public.webhook_deliveries TO millrace_app;
GRANT UPDATE(failures) ON TABLE public.webhook_deliveries TO millrace_api;
GRANT UPDATE(failures) ON TABLE public.webhook_deliveries TO millrace_worker;

GRANT UPDATE(attempts) ON TABLE public.webhook_deliveries TO millrace_app;
GRANT UPDATE(attempts) ON TABLE public.webhook_deliveries TO millrace_api;
GRANT UPDATE(attempts) ON TABLE public.webhook_deliveries TO millrace_worker;

GRANT UPDATE(next_attempt_at) ON TABLE public.webhook_deliveries TO millrace_app;
GRANT UPDATE(next_attempt_at) ON TABLE public.webhook_deliveries TO millrace_api;
GRANT UPDATE(next_attempt_at) ON TABLE public.webhook_deliveries TO millrace_worker;

GRANT SELECT,INSERT,DELETE ON TABLE public.webhook_queues TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.webhook_queues TO millrace_api;
GRANT SELECT,DELETE ON TABLE public.webhook_queues TO millrace_worker;

GRANT UPDATE(next_due_at) ON TABLE public.webhook_queues TO millrace_app;
GRANT UPDATE(next_due_at) ON TABLE public.webhook_queues TO millrace_api;
GRANT UPDATE(next_due_at) ON TABLE public.webhook_queues TO millrace_worker;

GRANT UPDATE(wakes) ON TABLE public.webhook_queues TO millrace_app;
GRANT UPDATE(wakes) ON TABLE public.webhook_queues TO millrace_api;
GRANT UPDATE(wakes) ON TABLE public.webhook_queues TO millrace_worker;

GRANT UPDATE(failing) ON TABLE public.webhook_queues TO millrace_app;
GRANT UPDATE(failing) ON TABLE public.webhook_queues TO millrace_api;
GRANT UPDATE(failing) ON TABLE public.webhook_queues TO millrace_worker;

GRANT UPDATE(holder) ON TABLE public.webhook_queues TO millrace_app;
GRANT UPDATE(holder) ON TABLE public.webhook_queues TO millrace_api;
GRANT UPDATE(holder) ON TABLE public.webhook_queues TO millrace_worker;

GRANT UPDATE(fence) ON TABLE public.webhook_queues TO millrace_app;
GRANT UPDATE(fence) ON TABLE public.webhook_queues TO millrace_api;
GRANT UPDATE(fence) ON TABLE public.webhook_queues TO millrace_worker;

GRANT UPDATE(lease_until) ON TABLE public.webhook_queues TO millrace_app;
GRANT UPDATE(lease_until) ON TABLE public.webhook_queues TO millrace_api;
GRANT UPDATE(lease_until) ON TABLE public.webhook_queues TO millrace_worker;

GRANT SELECT,INSERT,DELETE ON TABLE public.webhooks TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.webhooks TO millrace_api;
GRANT SELECT,DELETE ON TABLE public.webhooks TO millrace_worker;

GRANT UPDATE(url) ON TABLE public.webhooks TO millrace_app;
GRANT UPDATE(url) ON TABLE public.webhooks TO millrace_api;
GRANT UPDATE(url) ON TABLE public.webhooks TO millrace_worker;

GRANT UPDATE(description) ON TABLE public.webhooks TO millrace_app;
GRANT UPDATE(description) ON TABLE public.webhooks TO millrace_api;
GRANT UPDATE(description) ON TABLE public.webhooks TO millrace_worker;

GRANT UPDATE(event_types) ON TABLE public.webhooks TO millrace_app;
GRANT UPDATE(event_types) ON TABLE public.webhooks TO millrace_api;
GRANT UPDATE(event_types) ON TABLE public.webhooks TO millrace_worker;

GRANT UPDATE(status) ON TABLE public.webhooks TO millrace_app;
GRANT UPDATE(status) ON TABLE public.webhooks TO millrace_api;
GRANT UPDATE(status) ON TABLE public.webhooks TO millrace_worker;

GRANT UPDATE(disabled_by) ON TABLE public.webhooks TO millrace_app;
GRANT UPDATE(disabled_by) ON TABLE public.webhooks TO millrace_api;
GRANT UPDATE(disabled_by) ON TABLE public.webhooks TO millrace_worker;

GRANT UPDATE(disabled_reason) ON TABLE public.webhooks TO millrace_app;
GRANT UPDATE(disabled_reason) ON TABLE public.webhooks TO millrace_api;
GRANT UPDATE(disabled_reason) ON TABLE public.webhooks TO millrace_worker;

GRANT UPDATE(disabled_at) ON TABLE public.webhooks TO millrace_app;
GRANT UPDATE(disabled_at) ON TABLE public.webhooks TO millrace_api;
GRANT UPDATE(disabled_at) ON TABLE public.webhooks TO millrace_worker;

GRANT UPDATE(secret_sealed) ON TABLE public.webhooks TO millrace_app;
GRANT UPDATE(secret_sealed) ON TABLE public.webhooks TO millrace_api;
GRANT UPDATE(secret_sealed) ON TABLE public.webhooks TO millrace_worker;

GRANT UPDATE(previous_secret_sealed) ON TABLE public.webhooks TO millrace_app;
GRANT UPDATE(previous_secret_sealed) ON TABLE public.webhooks TO millrace_api;
GRANT UPDATE(previous_secret_sealed) ON TABLE public.webhooks TO millrace_worker;

GRANT UPDATE(previous_secret_until) ON TABLE public.webhooks TO millrace_app;
GRANT UPDATE(previous_secret_until) ON TABLE public.webhooks TO millrace_api;
GRANT UPDATE(previous_secret_until) ON TABLE public.webhooks TO millrace_worker;

GRANT UPDATE(updated_at) ON TABLE public.webhooks TO millrace_app;
GRANT UPDATE(updated_at) ON TABLE public.webhooks TO millrace_api;
GRANT UPDATE(updated_at) ON TABLE public.webhooks TO millrace_worker;

GRANT UPDATE(last_succeeded_at) ON TABLE public.webhooks TO millrace_app;
GRANT UPDATE(last_succeeded_at) ON TABLE public.webhooks TO millrace_api;
GRANT UPDATE(last_succeeded_at) ON TABLE public.webhooks TO millrace_worker;

GRANT UPDATE(failing_since) ON TABLE public.webhooks TO millrace_app;
GRANT UPDATE(failing_since) ON TABLE public.webhooks TO millrace_api;
GRANT UPDATE(failing_since) ON TABLE public.webhooks TO millrace_worker;

GRANT UPDATE(last_error) ON TABLE public.webhooks TO millrace_app;
GRANT UPDATE(last_error) ON TABLE public.webhooks TO millrace_api;
GRANT UPDATE(last_error) ON TABLE public.webhooks TO millrace_worker;

GRANT UPDATE(deleted_at) ON TABLE public.webhooks TO millrace_app;
GRANT UPDATE(deleted_at) ON TABLE public.webhooks TO millrace_api;
GRANT UPDATE(deleted_at) ON TABLE public.webhooks TO millrace_worker;

GRANT SELECT ON TABLE public.written_off_clawbacks TO millrace_app;
GRANT SELECT ON TABLE public.written_off_clawbacks TO millrace_api;
GRANT SELECT ON TABLE public.written_off_clawbacks TO millrace_worker;

GRANT SELECT,INSERT ON TABLE public.written_off_machines TO millrace_app;
GRANT SELECT,INSERT ON TABLE public.written_off_machines TO millrace_api;
GRANT SELECT ON TABLE public.written_off_machines TO millrace_worker;
GRANT SELECT ON TABLE public.written_off_machines TO millrace_admin;

GRANT UPDATE(absent_at) ON TABLE public.written_off_machines TO millrace_app;
GRANT UPDATE(absent_at) ON TABLE public.written_off_machines TO millrace_worker;

ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT,USAGE ON SEQUENCES  TO millrace_app;

ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT,INSERT,DELETE,UPDATE ON TABLES  TO millrace_app;
