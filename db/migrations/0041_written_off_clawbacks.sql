-- Clawbacks from before debts were kept: the operator bore for good what they could not take. Undoing such a clawback returns it to the
-- operator; undoing any other returns what its organisation repaid. Clawbacks are found by the index of rare transfers, and
-- nothing is locked meanwhile; the rows that are changed and the foreign key are locked for a moment at the end.

alter table ledger_accounts validate constraint ledger_accounts_only_credit_owes;
alter table ledger_accounts validate constraint ledger_accounts_debts_are_not_negative;
alter table ledger_accounts validate constraint ledger_accounts_repay_before_spending;

create table written_off_clawbacks (
  transfer_id uuid primary key
);
revoke insert, update, delete on written_off_clawbacks from millrace_app;
comment on table written_off_clawbacks is 'Clawbacks whose missing part the operator does not claim: those from before debts were kept.';

insert into written_off_clawbacks (transfer_id)
select distinct taken.id
  from ledger_accounts as shortfall
  join ledger_entries as entry on entry.account_id = shortfall.id
  join ledger_transfers as taken on taken.id = entry.transfer_id
 where shortfall.kind = 'shortfall' and taken.kind = 'clawback' and taken.cause_kind <> 'clawback_debt'
   and entry.amount_nano_usd < 0;

update ledger_accounts as account
   set written_off_nano_usd = borne.amount
  from (select moved.org_id, moved.mode, -sum(entry.amount_nano_usd) as amount
          from (select transfer_id as id from written_off_clawbacks
                union all
                select undo.id from written_off_clawbacks as taken
                  join ledger_transfers as undo on undo.reverses = taken.transfer_id) as written_off
          join ledger_transfers as moved on moved.id = written_off.id
          join ledger_entries as entry on entry.transfer_id = moved.id
          join ledger_accounts as shortfall on shortfall.id = entry.account_id and shortfall.kind = 'shortfall'
         group by moved.org_id, moved.mode) as borne
 where account.kind = 'credit' and (account.org_id, account.mode) = (borne.org_id, borne.mode) and borne.amount > 0;

-- Last, because it keeps transfers from being written until the end of this transaction.
alter table written_off_clawbacks add foreign key (transfer_id) references ledger_transfers (id) on delete restrict;
