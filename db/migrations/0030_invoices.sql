-- Invoices: what the ledger charged an organisation in a month, less what was given back, with a number and for ever.
--
-- The number, the lines and the total are one row, so that there is no moment between them. That numbers have no holes is
-- kept here: the counter goes up by one, an invoice has the number that the counter stands at, and a counter that went up
-- without an invoice does not commit.

create function invoice_lines_total(lines jsonb) returns numeric
  language sql immutable strict parallel safe
as $$
  select coalesce(sum((line ->> 'amountNanoUsd')::numeric), 0) from jsonb_array_elements(lines) as line
$$;
comment on function invoice_lines_total(jsonb) is 'What the lines of an invoice come to.';

create table invoices (
  id uuid primary key,
  org_id uuid not null references organisations (id) on delete restrict,
  mode text not null check (mode = 'live'),
  number bigint not null unique check (number > 0),
  period_start timestamptz not null,
  period_end timestamptz not null,
  total_nano_usd bigint not null,
  lines jsonb not null,
  billed_to text not null check (length(billed_to) between 1 and 200),
  issuer text not null check (length(issuer) between 1 and 1000),
  finalized_at timestamptz not null,
  constraint invoices_once_a_month unique (org_id, period_start),
  constraint invoices_period_is_a_month check (
    period_start at time zone 'UTC' = date_trunc('month', period_start at time zone 'UTC')
    and period_end at time zone 'UTC' = (period_start at time zone 'UTC') + interval '1 month'),
  constraint invoices_after_the_month check (finalized_at > period_end),
  constraint invoices_have_lines check (jsonb_typeof(lines) = 'array' and jsonb_array_length(lines) > 0),
  constraint invoices_add_up check (total_nano_usd = invoice_lines_total(lines))
);
create index invoices_org_idx on invoices (org_id, id);
revoke update, delete on invoices from millrace_app;
comment on table invoices is 'What the ledger charged in a month (UTC) less what was given back. Written once, when nothing is entered in the month any more, and never changed: also not by its owner.';
comment on column invoices.mode is 'Test mode is free, so there is nothing to put on an invoice.';
comment on column invoices.number is 'Counts from 1 without holes over all organisations, in the order in which invoices were made.';
comment on column invoices.lines is '[{"description": …, "cause": {"kind": …, "id": …} | null, "quantity": "…", "unit": …, "amountNanoUsd": "…"}].';
comment on column invoices.billed_to is 'The name of the organisation when the invoice was made.';
comment on column invoices.issuer is 'Who issued it, as the installation was configured then: a name, and an address in further lines.';

create table invoice_counter (
  is_only boolean primary key default true check (is_only),
  last_number bigint not null check (last_number >= 0)
);
insert into invoice_counter (last_number) values (0);
revoke insert, update, delete on invoice_counter from millrace_app;
grant update (last_number) on invoice_counter to millrace_app;
comment on table invoice_counter is 'The number of the newest invoice. Its one row is locked by whoever makes the next.';

create function check_invoice_counter() returns trigger language plpgsql as $$
begin
  if new.last_number <> old.last_number + 1 then
    raise exception 'invoices are numbered one by one: % cannot follow %', new.last_number, old.last_number
      using errcode = 'check_violation', constraint = 'invoice_counter_goes_by_one';
  end if;
  return new;
end;
$$;
comment on function check_invoice_counter() is 'Keeps the counter of invoices going up by one.';
create trigger invoice_counter_goes_by_one before update on invoice_counter
  for each row execute function check_invoice_counter();

create function check_invoice_number_used() returns trigger language plpgsql as $$
begin
  if not exists (select from invoices where number = new.last_number) then
    raise exception 'no invoice has the number %', new.last_number
      using errcode = 'check_violation', constraint = 'invoice_counter_leaves_no_hole';
  end if;
  return null;
end;
$$;
comment on function check_invoice_number_used() is 'Keeps a number from being taken without its invoice.';
create constraint trigger invoice_counter_leaves_no_hole after update on invoice_counter
  deferrable initially deferred for each row execute function check_invoice_number_used();

create function check_invoice_number() returns trigger language plpgsql as $$
begin
  if new.number <> (select last_number from invoice_counter) then
    raise exception 'invoice % is not the next', new.number
      using errcode = 'check_violation', constraint = 'invoices_have_the_next_number';
  end if;
  return new;
end;
$$;
comment on function check_invoice_number() is 'Gives an invoice no other number than the one the counter stands at.';
create trigger invoices_have_the_next_number before insert on invoices
  for each row execute function check_invoice_number();

create trigger invoices_are_final before update or delete on invoices
  for each row execute function refuse_ledger_change();
create trigger invoices_no_truncate before truncate on invoices
  for each statement execute function refuse_ledger_change();
create trigger invoice_counter_stays before delete on invoice_counter
  for each row execute function refuse_ledger_change();
create trigger invoice_counter_no_truncate before truncate on invoice_counter
  for each statement execute function refuse_ledger_change();

create table invoice_months (
  month timestamptz primary key,
  after_org uuid,
  has_failed boolean not null default false,
  finished_at timestamptz
);
revoke delete on invoice_months from millrace_app;
comment on table invoice_months is 'How far workers have walked through the organisations for the invoices of a month. What decides is whether an invoice is there; this only saves looking again.';
comment on column invoice_months.after_org is 'All organisations up to this one were looked at; null at the beginning.';
comment on column invoice_months.has_failed is 'Some invoice of this walk could not be made, so it begins anew at its end.';
