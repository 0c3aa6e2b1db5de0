-- A clawback takes what is free and the operator's shortfall account advances the rest. That rest is a debt of the
-- organisation: credit that becomes free later, by a released hold or a deposit, repays it before it can be spent.

alter table ledger_accounts
  add column owed_nano_usd bigint not null default 0,
  add column written_off_nano_usd bigint not null default 0;

grant update (owed_nano_usd, written_off_nano_usd) on ledger_accounts to millrace_app;

comment on column ledger_accounts.owed_nano_usd is
  'Credit only: what clawbacks could not take. Free credit repays it first.';
comment on column ledger_accounts.written_off_nano_usd is
  'Credit only: what clawbacks could not take and the operator does not claim: all of it from before debts were kept.';

-- What the operator bore before is noted by a later migration, and these are validated there: this one holds a lock that all requests
-- about money wait for, so it reads no row.
alter table ledger_accounts
  add constraint ledger_accounts_only_credit_owes
    check ((owed_nano_usd = 0 and written_off_nano_usd = 0) or kind = 'credit') not valid,
  add constraint ledger_accounts_debts_are_not_negative
    check (owed_nano_usd >= 0 and written_off_nano_usd >= 0) not valid,
  add constraint ledger_accounts_repay_before_spending
    check (owed_nano_usd = 0 or balance_nano_usd <= held_nano_usd) not valid;
