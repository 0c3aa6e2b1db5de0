import { defineStatement, runStatement, type Tables, type Tx } from '@millrace/platform/db';
import type { Selectable } from 'kysely';
import { scopedKey, type Hold, type WorkingSet } from './working-set.ts';
import { plainArray, texts } from './sql-arrays.ts';

type TransferRow = Omit<
  Selectable<Tables['ledger_transfers']>,
  'cause_kind' | 'cause_id' | 'reverses' | 'key_id' | 'description' | 'usage' | 'occurred_at'
> & { readonly shortfall: bigint };

// Only debits have a shortfall. Amounts that return to the shortfall account are not reported to the tenant.
const transfersStatement = defineStatement(
  'ledger read transfers',
  `select known.id, known.org_id, known.mode, known.idempotency_key, known.kind, known.amount_nano_usd,
          known.balance_after_nano_usd, known.hold_id,
          coalesce((select -sum(entry.amount_nano_usd)::bigint
                      from all_ledger_entries entry
                      join ledger_accounts account on account.id = entry.account_id
                     where entry.transfer_id = known.id and account.kind = 'shortfall'
                       and known.amount_nano_usd <= 0 and known.kind <> 'reversal'), 0) as shortfall
     from all_ledger_transfers known
    where known.id = any($1::uuid[])`,
);

/** Transfers are immutable, so ids that were found before the locks are still current. */
export async function fillTransfers(tx: Tx, slice: WorkingSet, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const rows = await runStatement<TransferRow>(tx, transfersStatement, [plainArray(ids)]);
  for (const row of rows) {
    slice.transfersByKey.set(scopedKey(row.org_id, row.idempotency_key), {
      id: row.id,
      mode: row.mode,
      kind: row.kind,
      amount: row.amount_nano_usd,
      balanceAfter: row.balance_after_nano_usd,
      holdId: row.hold_id,
      shortfall: row.shortfall,
    });
  }
}

const anyKnownStatement = defineStatement(
  'ledger look for keys',
  `select exists (select 1 from unnest($1::uuid[], $2::text[]) as wish (org_id, key)
                    join ledger_transfers known on known.org_id = wish.org_id and known.idempotency_key = wish.key)
       or exists (select 1 from unnest($1::uuid[], $2::text[]) as wish (org_id, key)
                    join ledger_archived_keys known on known.key_hash = ledger_key_hash(wish.org_id, wish.key))
       or exists (select 1 from unnest($1::uuid[], $2::text[]) as wish (org_id, key)
                    join ledger_holds known on known.org_id = wish.org_id and known.idempotency_key = wish.key)
       as is_known`,
);

export async function isAnyKeyRecorded(
  tx: Tx,
  keys: readonly { readonly orgId: string; readonly key: string }[],
): Promise<boolean> {
  if (keys.length === 0) return false;
  const [row] = await runStatement<{ is_known: boolean }>(tx, anyKnownStatement, [
    plainArray(keys.map(({ orgId }) => orgId)),
    texts(keys.map(({ key }) => key)),
  ]);
  return row?.is_known === true;
}

interface HoldRow extends Omit<Selectable<Tables['ledger_holds']>, 'created_at'> {
  part_accounts: string[];
  part_amounts: bigint[];
}

const holdsStatement = defineStatement(
  'ledger read holds',
  `select hold.id, hold.org_id, hold.mode, hold.idempotency_key, hold.cause_kind, hold.cause_id, hold.key_id,
          hold.held_nano_usd, hold.posted_nano_usd, hold.closed_at,
          parts.accounts as part_accounts, parts.amounts as part_amounts
     from ledger_holds hold
    cross join lateral (
          select coalesce(array_agg(part.account_id::text), '{}') as accounts,
                 coalesce(array_agg(part.held_nano_usd), '{}') as amounts
            from ledger_hold_parts part where part.hold_id = hold.id) as parts
    where hold.id = any($1::uuid[])`,
);

/** Holds are mutable, so they are read after the organisation's credit account is locked. */
export async function fillHolds(tx: Tx, slice: WorkingSet, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const rows = await runStatement<HoldRow>(tx, holdsStatement, [plainArray(ids)]);
  for (const row of rows) {
    const hold: Hold = {
      id: row.id,
      orgId: row.org_id,
      mode: row.mode,
      key: row.idempotency_key,
      causeKind: row.cause_kind,
      causeId: row.cause_id,
      keyId: row.key_id,
      isNew: false,
      amounts: new Map(row.part_accounts.map((id, index) => [id, row.part_amounts[index] ?? 0n])),
      held: row.held_nano_usd,
      posted: row.posted_nano_usd,
      closedAtMs: row.closed_at?.getTime() ?? null,
      touched: false,
    };
    slice.holds.set(hold.id, hold);
    slice.holdsByKey.set(scopedKey(hold.orgId, hold.key), hold);
  }
}
