-- Billing: the first deposits of an organisation, and budgets that are limits of API keys.

alter table organisations add column funded_at timestamptz;
comment on column organisations.funded_at is 'When its deposits first reached the sum that lifts its rate limit; null before. Never taken back.';

-- A limit that was put on a key must hold against the key itself: such a budget cannot be changed or deleted while one
-- of its keys is in use.
alter table budgets add column is_key_limit boolean not null default false;
grant update (is_key_limit) on budgets to millrace_app;
comment on column budgets.is_key_limit is 'Made from limits.budget of an API key: not to be changed or deleted while one of its keys is in use.';

-- The budget of a key may be for an hour.
alter table budgets drop constraint budgets_period_check,
  add constraint budgets_period_check check (period in ('hour', 'day', 'week', 'month', 'total'));

-- Deposits are few among millions of charges, and asked for by themselves.
create index ledger_transfers_deposits_idx on ledger_transfers (org_id, mode, id) where kind in ('top_up', 'grant');
