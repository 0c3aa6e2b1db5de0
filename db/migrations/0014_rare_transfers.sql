-- Charges and what is credited for them are nearly all of the transfers, and each says so by its kind. The others are few,
-- made by people or by their payments, and asked for by themselves: by an organisation, and by operators for all.

drop index ledger_transfers_deposits_idx;
create index ledger_transfers_rare_idx on ledger_transfers (org_id, mode, id)
  where kind not in ('charge', 'credit', 'budget');
create index ledger_transfers_rare_kind_idx on ledger_transfers (kind, id)
  where kind not in ('charge', 'credit', 'budget');
