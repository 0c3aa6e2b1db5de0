-- A worker does not wait for another that is making the partitions of the coming days: where that took longer than the lock timeout,
-- the waiting worker failed.

create or replace function make_usage_partitions(first_day date, days integer) returns integer language plpgsql security definer
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
