-- A demo sells mock machines to live keys for play money. The database records that it belongs to a demo, and never becomes a real
-- installation: play money cannot be told apart from real money in its ledger.

create table demo_mark (
  is_only boolean primary key default true,
  marked_at timestamp with time zone not null,
  constraint demo_mark_is_only_check check (is_only)
);
revoke update, delete on demo_mark from millrace_app;

comment on table demo_mark is
  'One row if this database belongs to a demo, which sells mock machines for play money. The row is permanent.';
comment on column demo_mark.marked_at is 'When a process with MILLRACE_DEMO first used this database.';

-- A payment and a mark that commit at the same time must not miss each other, so both lock the same key.
create function lock_demo_mark() returns boolean language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(hashtextextended('demo_mark', 0));
  return exists (select from public.demo_mark);
end;
$$;
comment on function lock_demo_mark() is 'Whether this is a demo. The answer stays true until the end of the transaction.';

create function refuse_demo_with_money() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('demo_mark', 0));
  if exists (select from public.ledger_transfers) or exists (select from public.payments where provider_live) then
    raise exception 'a database with money in its ledger cannot become a demo' using errcode = 'check_violation';
  end if;
  return new;
end;
$$;
comment on function refuse_demo_with_money() is 'Refuses to mark a database as a demo if its ledger has transfers.';
create trigger demo_mark_before_money before insert on demo_mark
  for each row execute function refuse_demo_with_money();

create function refuse_real_money_in_demo() returns trigger language plpgsql as $$
begin
  if public.lock_demo_mark() then
    raise exception 'a demo takes no real payments' using errcode = 'check_violation';
  end if;
  return new;
end;
$$;
comment on function refuse_real_money_in_demo() is 'Refuses real payments in a demo.';
create trigger payments_without_real_money_in_demo before insert or update of provider_live on payments
  for each row when (new.provider_live) execute function refuse_real_money_in_demo();

create function refuse_mock_storage_for_live_keys() returns trigger language plpgsql as $$
begin
  if not exists (select from public.demo_mark) then
    raise exception 'only a demo sells mock storage to live keys' using errcode = 'check_violation';
  end if;
  return new;
end;
$$;
comment on function refuse_mock_storage_for_live_keys() is 'Refuses mock storage in live mode, except in a demo.';
create trigger storage_nodes_mock_for_live_keys before insert or update of kind, mode on storage_nodes
  for each row when (new.kind = 'mock' and new.mode = 'live') execute function refuse_mock_storage_for_live_keys();

alter table storage_nodes drop constraint storage_nodes_mock_is_for_test_keys;
alter table storage_nodes
  add constraint storage_nodes_test_keys_use_mock check (mode = 'live' or kind = 'mock') not valid;
alter table storage_nodes validate constraint storage_nodes_test_keys_use_mock;

comment on column providers.mode is
  'test for the mock provider, the only one that test keys reach; live for all others. Only a demo has live providers with the driver mock.';
comment on column mock_machines.mode is 'live or test. Live keys reach the mock only in a demo.';
