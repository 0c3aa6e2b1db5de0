-- The price book, the terms that can be reserved, and the discounts that organisations are entitled to.
--
-- All three only grow. What was sold keeps the price that was frozen on it, whatever is written here afterwards.

create table prices (
  id uuid primary key,
  org_id uuid references organisations (id) on delete restrict,
  mode text not null default 'live' check (mode = 'live'),
  subject_kind text not null check (subject_kind in ('gpu', 'volume', 'disk', 'model')),
  gpu_type text check (length(gpu_type) between 1 and 64),
  machine_type text check (machine_type in ('virtual-machine', 'bare-metal')),
  region text check (length(region) between 1 and 64),
  network_type text check (network_type in ('infiniband', 'ethernet')),
  model text check (length(model) between 1 and 200),
  model_unit text check (model_unit in (
    'prompt_token', 'cached_prompt_token', 'completion_token', 'image', 'character')),
  unit text not null check (unit in ('gpu_hour', 'gb_hour', 'token', 'million_tokens', 'image', 'character')),
  price_nano_usd bigint not null check (price_nano_usd between 0 and 1000000000000000),
  valid_from timestamptz not null,
  valid_until timestamptz,
  created_at timestamptz not null,
  constraint prices_subject_is_whole check (
    (gpu_type is not null) = (subject_kind = 'gpu')
    and (machine_type is not null) = (subject_kind = 'gpu')
    and (network_type is null or subject_kind = 'gpu')
    and (region is null or subject_kind in ('gpu', 'volume', 'disk'))
    and (model is not null) = (subject_kind = 'model')
    and (model_unit is not null) = (subject_kind = 'model')),
  constraint prices_unit_fits_the_subject check (
    case
      when subject_kind = 'gpu' then unit = 'gpu_hour'
      when subject_kind in ('volume', 'disk') then unit = 'gb_hour'
      when model_unit in ('image', 'character') then unit = model_unit
      else unit in ('token', 'million_tokens')
    end),
  constraint prices_of_single_tokens_are_small check (unit <> 'token' or price_nano_usd <= 1000000000),
  constraint prices_end_after_they_begin check (valid_until >= valid_from)
);
create unique index prices_one_from_an_instant_idx on prices (
  subject_kind, gpu_type, machine_type, model, model_unit, region, network_type, org_id, valid_from) nulls not distinct
  where valid_until is null or valid_until > valid_from;
create index prices_org_idx on prices (org_id) where org_id is not null;
revoke update, delete on prices from millrace_app;
grant update (valid_until) on prices to millrace_app;
comment on table prices is 'The price book, every version of every price. Which one counts at an instant: the most specific subject, and of its versions the one that began last and has not ended.';
comment on column prices.org_id is 'A contract price for this organisation alone, which beats every list price; null is a list price.';
comment on column prices.mode is 'Always live: test mode is free, so nothing is priced there.';
comment on column prices.subject_kind is 'gpu: a GPU of a running rental; volume: a storage volume; disk: the local disk of a stopped rental; model: inference.';
comment on column prices.region is 'Null: every region that has no price of its own.';
comment on column prices.network_type is 'Null: every network that has no price of its own.';
comment on column prices.price_nano_usd is 'For one unit; at most a million dollars, and a dollar for one token, so that a slip of the keyboard is refused.';
comment on column prices.valid_until is 'Nothing new is sold by it from this instant on; null has no end. Ended before it began, it never counts.';
comment on index prices_one_from_an_instant_idx is 'Two prices for the same thing from the same instant: the second is refused, so that which one counts is never a matter of luck.';

create function keep_price() returns trigger language plpgsql as $$
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
comment on function keep_price() is 'Keeps the price book append-only for everyone, the owner included: a price never changes and, once ended, never comes back.';
create trigger prices_append_only before update or delete on prices for each row execute function keep_price();
create trigger prices_no_truncate before truncate on prices for each statement execute function keep_price();

create table reserve_options (
  id uuid primary key,
  machine_type text not null check (machine_type in ('virtual-machine', 'bare-metal')),
  gpu_type text not null check (length(gpu_type) between 1 and 64),
  region text check (length(region) between 1 and 64),
  term_period_days integer not null check (term_period_days between 1 and 3650),
  discount_ppm integer not null check (discount_ppm between 0 and 1000000),
  refund_ppm integer not null check (refund_ppm between 0 and 1000000),
  created_at timestamptz not null
);
create index reserve_options_subject_idx on reserve_options (machine_type, gpu_type, term_period_days, id);
revoke update, delete on reserve_options from millrace_app;
comment on table reserve_options is 'The terms that can be reserved. Append-only: of several for the same machine, GPU, region and term, the newest is on offer.';
comment on column reserve_options.region is 'Null: every region that has no option of its own for the term.';
comment on column reserve_options.discount_ppm is 'Off the on-demand price, in parts per million: 10000 is one percent.';
comment on column reserve_options.refund_ppm is 'What is given back of the rest of the term when it is ended early, in parts per million.';

create table entitlements (
  id uuid primary key,
  org_id uuid not null references organisations (id) on delete restrict,
  mode text not null default 'live' check (mode = 'live'),
  max_discount_ppm integer not null check (max_discount_ppm between 0 and 1000000),
  gpu_type text check (length(gpu_type) between 1 and 64),
  contract_reference text check (length(contract_reference) <= 100),
  valid_from timestamptz not null,
  valid_until timestamptz,
  revoked_at timestamptz,
  created_at timestamptz not null,
  constraint entitlements_end_after_they_begin check (valid_until > valid_from)
);
create index entitlements_org_idx on entitlements (org_id, id) where revoked_at is null;
revoke update, delete on entitlements from millrace_app;
grant update (revoked_at) on entitlements to millrace_app;
comment on table entitlements is 'The discounts an organisation may claim. A claim beyond the greatest that applies is refused.';
comment on column entitlements.mode is 'Always live: test mode is free, so there is nothing to discount.';
comment on column entitlements.max_discount_ppm is 'In parts per million: 10000 is one percent.';
comment on column entitlements.gpu_type is 'Null: every GPU type.';
comment on column entitlements.revoked_at is 'Withdrawn by the operator. What was sold before keeps its frozen price.';
