import type { Reader, Tables, Tx } from '@millrace/platform/db';
import { nextWireIds, raiseWireIds } from '@millrace/platform/wire-ids';
import { sql, type Selectable } from 'kysely';
import { lastInvoiceNumber } from '../invoices/index.ts';
import type { Counters, RestoreMark, MarkCopy } from './restore-mark.ts';
import type { RestoreReport } from './restore-report.ts';

export type RestoreStatus = 'normal' | 'restored' | 'confirming';

export interface RestoreState extends RestoreMark {
  readonly installation: string;
  /** In a restored database: the approximate restore point. */
  readonly markedAt: Date;
  readonly status: RestoreStatus;
  readonly foundAt: Date | null;
  readonly outside: MarkCopy | null;
  readonly report: RestoreReport | null;
  readonly reportedAt: Date | null;
  readonly confirmedAt: Date | null;
  /** The earliest restore point. */
  readonly lostFrom: Date | null;
}

type StateRow = Selectable<Tables['restore_state']>;

function toRestoreState(row: StateRow): RestoreState {
  return {
    installation: row.installation,
    generation: Number(row.generation),
    mark: Number(row.mark),
    markedAt: row.marked_at,
    status: row.state,
    foundAt: row.found_at,
    // Only the functions below write these columns.
    outside: row.outside as MarkCopy | null,
    report: row.report as RestoreReport | null,
    reportedAt: row.reported_at,
    confirmedAt: row.confirmed_at,
    lostFrom: row.lost_from,
  };
}

function requireStateRow(rows: readonly StateRow[]): RestoreState {
  const [row] = rows;
  if (row === undefined) throw new Error('The table restore_state has no row.');
  return toRestoreState(row);
}

export async function readRestoreState(reader: Reader): Promise<RestoreState> {
  const { rows } = await sql<StateRow>`select * from restore_state`.execute(reader.kysely);
  return requireStateRow(rows);
}

export async function readRestoreMark(reader: Reader): Promise<RestoreMark & Pick<RestoreState, 'status'>> {
  const { generation, mark, state } = await reader.kysely
    .selectFrom('restore_state')
    .select(['generation', 'mark', 'state'])
    .executeTakeFirstOrThrow(() => new Error('The table restore_state has no row.'));
  return { generation: Number(generation), mark: Number(mark), status: state };
}

export async function lockRestoreState(tx: Tx): Promise<RestoreState> {
  const { rows } = await sql<StateRow>`select * from restore_state for update`.execute(tx.kysely);
  return requireStateRow(rows);
}

/** Null if the database was restored since `present` was read, or its state is not normal. */
export async function advanceMark(tx: Tx, present: RestoreMark): Promise<RestoreState | null> {
  const { rows } = await sql<StateRow>`
    update restore_state set mark = mark + 1, marked_at = clock_timestamp()
     where state = 'normal' and (generation, mark) >= (${present.generation}, ${present.mark}) returning *
  `.execute(tx.kysely);
  return rows[0] === undefined ? null : toRestoreState(rows[0]);
}

/** Read in the transaction that advances the mark, so that the copy is never ahead of its counters. */
export async function readCounters(reader: Reader): Promise<Counters> {
  const { rows } = await sql<{ invoices: bigint; wire_ids: Record<string, number> | null }>`
    select ${lastInvoiceNumber} as invoices, ${nextWireIds} as wire_ids
  `.execute(reader.kysely);
  return { invoices: Number(rows[0]?.invoices ?? 0n), wireIds: rows[0]?.wire_ids ?? {} };
}

/** False if another worker was first. Apis serve requests before the confirmation, so lost wire ids are skipped at once. */
export async function recordRestored(tx: Tx, outside: MarkCopy): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update restore_state set state = 'restored', found_at = clock_timestamp(), outside = ${JSON.stringify(outside)}::jsonb,
                             report = null, reported_at = null
     where state = 'normal'
  `.execute(tx.kysely);
  if (numAffectedRows !== 1n) return false;
  await raiseWireIds(tx, outside.counters.wireIds);
  return true;
}

/** Sets the restore point if workers have advanced the mark since. A later time changes nothing. */
export async function lowerMarkedAt(tx: Tx, at: Date): Promise<void> {
  await sql`update restore_state set marked_at = least(marked_at, ${at})`.execute(tx.kysely);
}

export async function saveRestoreReport(tx: Tx, report: RestoreReport): Promise<void> {
  await sql`
    update restore_state set report = ${JSON.stringify(report)}::jsonb, reported_at = clock_timestamp()
     where state = 'restored'
  `.execute(tx.kysely);
}

/** False if it was confirmed before, or if there is no reported restore. */
export async function beginConfirming(tx: Tx): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update restore_state set state = 'confirming' where state = 'restored' and report is not null
  `.execute(tx.kysely);
  return numAffectedRows === 1n;
}

/** Makes the database the newest state again, above all mark copies. */
export async function endConfirming(tx: Tx, next: RestoreMark): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update restore_state
       set state = 'normal', generation = ${next.generation}, mark = ${next.mark}, lost_from = least(lost_from, marked_at),
           marked_at = clock_timestamp(), confirmed_at = clock_timestamp()
     where state = 'confirming'
  `.execute(tx.kysely);
  return numAffectedRows === 1n;
}

/** Begins a generation in a new database that was filled with rows of another one: copies of marks before it no longer count. */
export async function startGeneration(tx: Tx): Promise<void> {
  await sql`update restore_state set generation = generation + 1, confirmed_at = ${tx.clock.now()}`.execute(
    tx.kysely,
  );
}
