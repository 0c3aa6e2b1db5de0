import type { Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { sql } from 'kysely';
import type { TransferKind } from '../model/ledger.ts';
import type { WorkingSet, UndoableTransfer } from './working-set.ts';
import { plainArray } from './sql-arrays.ts';

/**
 * Runs before the locks, since transfers are immutable. Budget counts are not undone, so their accounts are left out.
 */
export async function readUndoAccounts(tx: Tx, undoIds: readonly string[]): Promise<string[]> {
  if (undoIds.length === 0) return [];
  // Until this transaction ends, the archive moves no transfer, because it must not move one that is being undone.
  await sql`select pg_advisory_xact_lock_shared(hashtextextended('ledger_undo', 0))`.execute(tx.kysely);
  const { rows } = await sql<{ account_id: string }>`
    select distinct entry.account_id
      from ledger_entries entry
      join ledger_accounts account on account.id = entry.account_id
     where entry.transfer_id = any(${plainArray(undoIds)}::uuid[]) and account.kind not in ('limit', 'limit_contra')
  `.execute(tx.kysely);
  return rows.map((row) => row.account_id);
}

interface UndoRow {
  id: string;
  org_id: string;
  mode: Mode;
  kind: TransferKind;
  key_id: string | null;
  account_id: string;
  amount_nano_usd: bigint;
  undone: bigint;
  reversed: boolean;
  is_written_off: boolean;
}

/** Reads the transfers and the amounts already undone. Call it after their accounts are locked. */
export async function fillUndoable(tx: Tx, slice: WorkingSet, undoIds: readonly string[]): Promise<void> {
  if (undoIds.length === 0) return;
  const { rows } = await sql<UndoRow>`
    select source.id, source.org_id, source.mode, source.kind, source.key_id, entry.account_id, entry.amount_nano_usd,
           coalesce((select sum(back.amount_nano_usd)::bigint
                       from ledger_transfers undo
                       join ledger_entries back on back.transfer_id = undo.id
                      where undo.reverses = source.id and back.account_id = entry.account_id), 0) as undone,
           exists (select 1 from ledger_transfers undo
                    where undo.reverses = source.id and undo.kind = 'reversal') as reversed,
           exists (select 1 from written_off_clawbacks where transfer_id = source.id) as is_written_off
      from ledger_transfers source
      join ledger_entries entry on entry.transfer_id = source.id
      join ledger_accounts account on account.id = entry.account_id
     where source.id = any(${plainArray(undoIds)}::uuid[]) and account.kind not in ('limit', 'limit_contra')
     order by source.id, entry.account_id
  `.execute(tx.kysely);
  const entries = new Map<string, { accountId: string; amount: bigint }[]>();
  for (const row of rows) {
    const list = entries.get(row.id) ?? [];
    list.push({ accountId: row.account_id, amount: row.amount_nano_usd });
    entries.set(row.id, list);
    const source: UndoableTransfer = slice.undoable.get(row.id) ?? {
      id: row.id,
      orgId: row.org_id,
      mode: row.mode,
      kind: row.kind,
      keyId: row.key_id,
      entries: list,
      undone: new Map(),
      reversed: row.reversed,
      isWrittenOff: row.is_written_off,
    };
    if (row.undone !== 0n) source.undone.set(row.account_id, row.undone);
    slice.undoable.set(row.id, source);
  }
}
