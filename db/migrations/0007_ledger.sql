-- The ledger: accounts with kept balances, transfers in double entry, holds, and budgets as limit accounts.
--
-- One sign for all: an entry is what the account's balance changes by, and the entries of a transfer sum to zero.
-- An organisation's money is positive; where money came from (payments, grants) is negative; revenue is positive.

create table ledger_accounts (
  id uuid primary key,
  kind text not null check (kind in (
    'credit', 'promo', 'supplier_payable', 'limit',
    'revenue', 'platform_fee', 'payments_clearing', 'grants', 'adjustments', 'shortfall', 'limit_contra')),
  org_id uuid references organisations (id) on delete restrict,
  mode text not null check (mode in ('live', 'test')),
  product text check (product in ('rental', 'volume', 'inference', 'instance')),
  shard smallint check (shard between 0 and 15),
  balance_nano_usd bigint not null default 0,
  held_nano_usd bigint not null default 0,
  floor_nano_usd bigint,
  entry_count bigint not null default 0,
  priority smallint not null default 100 check (priority between 0 and 1000),
  expires_at timestamptz,
  frozen_at timestamptz,
  has_companions boolean not null default false,
  created_at timestamptz not null default now(),
  constraint ledger_accounts_owner check (
    (org_id is not null) = (kind in ('credit', 'promo', 'supplier_payable', 'limit'))
    and (shard is not null) = (org_id is null)
    and (product is not null) = (kind = 'revenue')),
  constraint ledger_accounts_keep_their_floor check (
    floor_nano_usd is null or balance_nano_usd - held_nano_usd >= floor_nano_usd),
  constraint ledger_accounts_spendable_has_a_floor check (
    kind not in ('credit', 'promo', 'supplier_payable') or floor_nano_usd is not null),
  constraint ledger_accounts_holds_are_not_negative check (held_nano_usd >= 0),
  constraint ledger_accounts_only_owned_money_is_held check (held_nano_usd = 0 or org_id is not null),
  constraint ledger_accounts_only_promo_expires check (expires_at is null or kind = 'promo'),
  constraint ledger_accounts_only_credit_freezes check (frozen_at is null or kind = 'credit')
) with (fillfactor = 50);
create unique index ledger_accounts_one_credit_idx on ledger_accounts (org_id, mode, kind)
  where kind in ('credit', 'supplier_payable');
create index ledger_accounts_org_idx on ledger_accounts (org_id, mode) where org_id is not null;
create unique index ledger_accounts_system_idx on ledger_accounts (kind, product, mode, shard) nulls not distinct
  where org_id is null;
create index ledger_accounts_expiring_idx on ledger_accounts (expires_at) where expires_at is not null;
revoke update, delete on ledger_accounts from millrace_app;
grant update (balance_nano_usd, held_nano_usd, entry_count, floor_nano_usd, frozen_at, has_companions) on ledger_accounts to millrace_app;
comment on table ledger_accounts is 'Who owns or owes what. The balance is kept, not summed; a trigger on the entries refuses one that disagrees with them.';
comment on column ledger_accounts.kind is 'credit and promo are an organisation''s to spend; supplier_payable is what a supplier has earned; limit counts a budget down; the others belong to the operator and are sharded.';
comment on column ledger_accounts.mode is 'live or test: the two never meet in one transfer.';
comment on column ledger_accounts.product is 'Revenue only: what was sold.';
comment on column ledger_accounts.shard is 'Operator''s accounts only: one of 16 rows that together are the account, so that no two batches need wait for one row.';
comment on column ledger_accounts.held_nano_usd is 'The part of the balance that open holds have set aside: the pending side of the account.';
comment on column ledger_accounts.floor_nano_usd is 'balance less held never goes below this; null means no floor. Minus the overdraft that the operator allows.';
comment on column ledger_accounts.entry_count is 'How many entries there are; the newest entry has this number.';
comment on column ledger_accounts.priority is 'Lower is spent first; then what expires first; then the older.';
comment on column ledger_accounts.expires_at is 'Promotional credit only: not spendable from this instant on. What is held by then may still be posted.';
comment on column ledger_accounts.has_companions is 'Credit only: promotional credit or a budget was ever opened beside it. Most organisations have neither, and a batch need not look for them.';
comment on column ledger_accounts.frozen_at is 'A disputed payment: nothing new is admitted until the operator lifts it.';

-- The operator's accounts exist from the start, with ids that a process can compute. They sort behind all others, so
-- that a transaction takes these contended rows last and keeps them shortest.
insert into ledger_accounts (id, kind, mode, product, shard)
select format('ffffffff-ffff-7fff-bf00-%s%s%s%s0000',
              lpad(to_hex(kind_code), 2, '0'), lpad(to_hex(product_code), 2, '0'),
              lpad(to_hex(mode_code), 2, '0'), lpad(to_hex(shard), 2, '0'))::uuid,
       kind, mode, product, shard
  from (values (1, 'revenue', 1, 'rental'), (1, 'revenue', 2, 'volume'), (1, 'revenue', 3, 'inference'),
               (1, 'revenue', 4, 'instance'), (2, 'platform_fee', 0, null), (3, 'payments_clearing', 0, null),
               (4, 'grants', 0, null), (5, 'adjustments', 0, null), (6, 'shortfall', 0, null),
               (7, 'limit_contra', 0, null)) as kinds (kind_code, kind, product_code, product)
 cross join (values (0, 'live'), (1, 'test')) as modes (mode_code, mode)
 cross join generate_series(0, 15) as shards (shard);

create table ledger_transfers (
  id uuid primary key,
  org_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  kind text not null check (kind in (
    'top_up', 'grant', 'adjustment', 'refund', 'reversal', 'charge', 'credit', 'payout', 'clawback', 'expiry', 'budget')),
  idempotency_key text collate "C" not null check (length(idempotency_key) <= 300),
  cause_kind text not null check (length(cause_kind) between 1 and 50 and position(':' in cause_kind) = 0),
  cause_id text not null check (length(cause_id) between 1 and 100),
  amount_nano_usd bigint not null,
  balance_after_nano_usd bigint not null,
  hold_id uuid,
  reverses uuid,
  key_id uuid,
  description text not null check (length(description) <= 500),
  usage jsonb check (jsonb_typeof(usage) = 'object'),
  occurred_at timestamptz not null,
  constraint ledger_transfers_once unique (org_id, idempotency_key),
  constraint ledger_transfers_key_names_the_cause check (
    starts_with(idempotency_key, cause_kind || ':' || cause_id || ':')),
  constraint ledger_transfers_reverses_something check (
    (reverses is not null) = (kind in ('reversal', 'refund')))
);
-- By mode first, although the organisation tells more: a look-up by organisation and key must find no second index that
-- begins with the organisation, or it may be answered by reading all of the organisation's transfers.
create index ledger_transfers_org_idx on ledger_transfers (mode, org_id, id);
create index ledger_transfers_reverses_idx on ledger_transfers (reverses) where reverses is not null;
revoke update, delete on ledger_transfers from millrace_app;
comment on table ledger_transfers is 'Every movement of money, with its cause. Append-only.';
comment on column ledger_transfers.org_id is 'Whose ledger shows it. No foreign key here and below: its check would lock a row of another table for each posting; the auditor looks instead.';
comment on column ledger_transfers.idempotency_key is 'Begins with its cause (kind:id:step), so the unique index also finds everything that a cause was charged.';
comment on column ledger_transfers.amount_nano_usd is 'What the organisation''s own money (credit and promotional credit) changed by; for a payout, what its earnings changed by.';
comment on column ledger_transfers.balance_after_nano_usd is 'The organisation''s own money after it.';
comment on column ledger_transfers.hold_id is 'The hold it was paid from, if any.';
comment on column ledger_transfers.reverses is 'Refunds and reversals: the transfer they undo, in part or whole.';
comment on column ledger_transfers.key_id is 'The API key whose work is charged, where one key is the cause.';
comment on column ledger_transfers.usage is 'What was used for the money, in whole units: {"gpuMs": …} or {"requests": …, "promptTokens": …}.';
comment on column ledger_transfers.occurred_at is 'By the clock of the process that posted it.';

create table ledger_entries (
  transfer_id uuid not null,
  account_id uuid not null,
  amount_nano_usd bigint not null check (amount_nano_usd <> 0),
  account_seq bigint not null check (account_seq > 0),
  balance_after_nano_usd bigint not null,
  primary key (transfer_id, account_id)
);
revoke update, delete on ledger_entries from millrace_app;
comment on table ledger_entries is 'The legs of the transfers: one account each, summing to zero. Append-only.';
comment on column ledger_entries.account_seq is 'Counts the entries of the account from 1 without holes, so that a missing one shows.';
comment on column ledger_entries.balance_after_nano_usd is 'The balance of the account after this entry: the entries of an account are a chain.';

-- Both rules are looked at once for each statement, not for each row. A store writes all legs of its transfers, and the
-- balances they lead to, in one statement; another way of writing them is refused here.
create function check_ledger_entries() returns trigger language plpgsql as $$
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
comment on function check_ledger_entries() is 'Refuses entries that do not sum to zero for each transfer, or that disagree with the kept balance.';
create trigger ledger_entries_are_sound after insert on ledger_entries
  referencing new table as written for each statement execute function check_ledger_entries();

create function refuse_ledger_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only: % refused', tg_table_name, tg_op using errcode = 'restrict_violation';
end;
$$;
comment on function refuse_ledger_change() is 'Keeps the books append-only for everyone, the owner included.';
create trigger ledger_transfers_append_only before update or delete on ledger_transfers
  for each row execute function refuse_ledger_change();
create trigger ledger_transfers_no_truncate before truncate on ledger_transfers
  for each statement execute function refuse_ledger_change();
create trigger ledger_entries_append_only before update or delete on ledger_entries
  for each row execute function refuse_ledger_change();
create trigger ledger_entries_no_truncate before truncate on ledger_entries
  for each statement execute function refuse_ledger_change();

create table ledger_holds (
  id uuid primary key,
  org_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  idempotency_key text collate "C" not null check (length(idempotency_key) <= 300),
  cause_kind text not null check (length(cause_kind) between 1 and 50 and position(':' in cause_kind) = 0),
  cause_id text not null check (length(cause_id) between 1 and 100),
  key_id uuid,
  held_nano_usd bigint not null check (held_nano_usd >= 0),
  posted_nano_usd bigint not null default 0 check (posted_nano_usd >= 0),
  created_at timestamptz not null,
  closed_at timestamptz,
  constraint ledger_holds_once unique (org_id, idempotency_key),
  constraint ledger_holds_key_names_the_cause check (
    starts_with(idempotency_key, cause_kind || ':' || cause_id || ':')),
  constraint ledger_holds_closed_holds_nothing check (closed_at is null or held_nano_usd = 0)
) with (fillfactor = 80);
revoke update, delete on ledger_holds from millrace_app;
grant update (held_nano_usd, posted_nano_usd, closed_at) on ledger_holds to millrace_app;
comment on table ledger_holds is 'Money set aside for something that will be charged. It never lapses by the clock: its owner posts from it, resizes it and closes it.';
comment on column ledger_holds.key_id is 'The API key it was taken for; its budgets hold the same amount.';
comment on column ledger_holds.held_nano_usd is 'What is set aside now.';
comment on column ledger_holds.posted_nano_usd is 'What the organisation was charged through it so far, also beyond what was held.';
comment on column ledger_holds.closed_at is 'From then on nothing can be posted from it.';

create table ledger_hold_parts (
  hold_id uuid not null,
  account_id uuid not null,
  held_nano_usd bigint not null check (held_nano_usd >= 0),
  primary key (hold_id, account_id)
) with (fillfactor = 80);
create index ledger_hold_parts_account_idx on ledger_hold_parts (account_id);
revoke update, delete on ledger_hold_parts from millrace_app;
grant update (held_nano_usd) on ledger_hold_parts to millrace_app;
comment on table ledger_hold_parts is 'From which accounts a hold has set money aside. Parts in credit and promo sum to the hold; a part in a limit account is as large as the hold.';

create table budgets (
  id uuid primary key references ledger_accounts (id) on delete restrict,
  org_id uuid not null references organisations (id) on delete restrict,
  mode text not null check (mode in ('live', 'test')),
  name text not null check (length(name) between 1 and 100),
  key_ids uuid[] check (cardinality(key_ids) > 0),
  period text not null check (period in ('day', 'week', 'month', 'total')),
  limit_nano_usd bigint not null check (limit_nano_usd > 0),
  period_start timestamptz not null,
  period_end timestamptz,
  thresholds_percent smallint[] not null,
  notified_percent smallint not null default 0 check (notified_percent between 0 and 100),
  on_exceeded text not null check (on_exceeded in ('notify', 'stop_new_work', 'stop_everything')),
  created_at timestamptz not null,
  deleted_at timestamptz,
  constraint budgets_total_has_no_end check ((period_end is null) = (period = 'total')),
  constraint budgets_period_in_order check (period_end > period_start)
) with (fillfactor = 80);
create index budgets_org_idx on budgets (org_id, mode, id) where deleted_at is null;
revoke update, delete on budgets from millrace_app;
grant update (name, key_ids, limit_nano_usd, period_start, period_end, thresholds_percent, notified_percent, on_exceeded,
              deleted_at) on budgets to millrace_app;
comment on table budgets is 'Limits on spending for a period. The limit account with the same id holds what is left of it.';
comment on column budgets.key_ids is 'The API keys it counts, a rotated key with its successors; null counts the whole organisation.';
comment on column budgets.period_start is 'Of the period that the limit account now counts; moved on by the first posting or hold after its end.';
comment on column budgets.notified_percent is 'The highest threshold announced in this period.';
comment on column budgets.on_exceeded is 'notify only tells; stop_new_work refuses new holds; stop_everything also refuses to prolong what runs.';
