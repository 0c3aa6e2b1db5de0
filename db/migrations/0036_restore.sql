-- How the product finds that this database was restored to an earlier point: a mark that workers advance here first and
-- copy to NATS and Valkey afterwards. A copy that is ahead of the row proves a restore.

create table restore_state (
  is_only boolean primary key default true check (is_only),
  installation uuid not null default gen_random_uuid(),
  generation bigint not null default 1 check (generation > 0),
  mark bigint not null default 0 check (mark >= 0),
  marked_at timestamptz not null default clock_timestamp(),
  state text not null default 'normal' check (state in ('normal', 'restored', 'confirming')),
  found_at timestamptz,
  outside jsonb,
  report jsonb,
  reported_at timestamptz,
  confirmed_at timestamptz,
  constraint restore_state_says_what_was_found check (state = 'normal' or (found_at is not null and outside is not null))
) with (fillfactor = 50);
insert into restore_state default values;
revoke insert, delete on restore_state from millrace_app;
comment on table restore_state is 'Whether this database is the newest state of the installation. One row.';
comment on column restore_state.installation is 'Names the database in NATS and Valkey. A backup of it has the same name; a new database has another.';
comment on column restore_state.generation is 'Grows each time an operator confirms a restore. It counts before the mark.';
comment on column restore_state.mark is 'Advanced by workers about every second while the state is normal, and copied outside after the commit.';
comment on column restore_state.marked_at is 'When the mark was last advanced: in a restored database, about the point that it was restored to.';
comment on column restore_state.state is 'restored: a copy outside is ahead, so nothing is lent or removed. confirming: an operator has confirmed, and a worker is carrying it out.';
comment on column restore_state.outside is 'The newest mark that was found outside, with the counters that stood in the database then.';
comment on column restore_state.report is 'What workers have found outside that is newer than this database.';
comment on column restore_state.confirmed_at is 'When the last restore was confirmed. Machines without rows that were seen before wait for a person.';

alter table pot_servers add column epoch_floor bigint not null default 0 check (epoch_floor >= 0);
comment on column pot_servers.epoch_floor is 'New leases get epochs above this: a confirmed restore raises it above every epoch that was used before.';

create table invoice_gaps (
  first_number bigint primary key check (first_number > 0),
  last_number bigint not null check (last_number >= first_number),
  noted_at timestamptz not null
);
revoke update, delete on invoice_gaps from millrace_app;
comment on table invoice_gaps is 'Numbers of invoices that were made after the point that the database was restored to. They were handed out, so no other invoice gets them.';
create trigger invoice_gaps_are_final before update or delete on invoice_gaps
  for each row execute function refuse_ledger_change();

create or replace function check_invoice_counter() returns trigger language plpgsql as $$
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
comment on function check_invoice_counter() is 'Keeps the counter of invoices going up by one, or over a gap that a restore has left.';

create or replace function check_invoice_number_used() returns trigger language plpgsql as $$
begin
  if not exists (select from invoices where number = new.last_number)
     and not exists (select from invoice_gaps where last_number = new.last_number) then
    raise exception 'no invoice has the number %', new.last_number
      using errcode = 'check_violation', constraint = 'invoice_counter_leaves_no_hole';
  end if;
  return null;
end;
$$;
comment on function check_invoice_number_used() is 'Keeps a number from being taken without its invoice, or without the gap that a restore has left.';
