import type { Reader, Tx } from '@millrace/platform/db';
import { idsOfBlock } from '@millrace/platform/wire-ids';
import { sql } from 'kysely';
import type { Counters, RestoreMark, MarkCopy } from './restore-mark.ts';
import type { RestoreReport } from './restore-report.ts';

export type RestoreStatus = 'normal' | 'restored' | 'confirming';

export interface RestoreState extends RestoreMark {
  readonly installation: string;
  /** In a restored database: about the point that it was restored to. */
  readonly markedAt: Date;
  readonly status: RestoreStatus;
  readonly foundAt: Date | null;
  readonly outside: MarkCopy | null;
  readonly report: RestoreReport | null;
  readonly reportedAt: Date | null;
  readonly confirmedAt: Date | null;
  /** The earliest point that the database was restored to. */
  readonly lostFrom: Date | null;
}

interface StateRow {
  installation: string;
  generation: bigint;
  mark: bigint;
  marked_at: Date;
  state: RestoreStatus;
  found_at: Date | null;
  outside: MarkCopy | null;
  report: RestoreReport | null;
  reported_at: Date | null;
  confirmed_at: Date | null;
  lost_from: Date | null;
}

function toRestoreState(row: StateRow): RestoreState {
  return {
    installation: row.installation,
    generation: Number(row.generation),
    mark: Number(row.mark),
    markedAt: row.marked_at,
    status: row.state,
    foundAt: row.found_at,
    outside: row.outside,
    report: row.report,
    reportedAt: row.reported_at,
    confirmedAt: row.confirmed_at,
    lostFrom: row.lost_from,
  };
}

function requireStateRow(rows: readonly StateRow[]): RestoreState {
  const [row] = rows;
  if (row === undefined) throw new Error('The table restore_state has lost its row.');
  return toRestoreState(row);
}

export async function readRestoreState(reader: Reader): Promise<RestoreState> {
  const { rows } = await sql<StateRow>`select * from restore_state`.execute(reader.kysely);
  return requireStateRow(rows);
}

/** The part that every lease asks for. */
export async function readRestoreMark(reader: Reader): Promise<RestoreMark & Pick<RestoreState, 'status'>> {
  const { rows } = await sql<{ generation: bigint; mark: bigint; state: RestoreStatus }>`
    select generation, mark, state from restore_state
  `.execute(reader.kysely);
  const [row] = rows;
  if (row === undefined) throw new Error('The table restore_state has lost its row.');
  return { generation: Number(row.generation), mark: Number(row.mark), status: row.state };
}

export async function lockRestoreState(tx: Tx): Promise<RestoreState> {
  const { rows } = await sql<StateRow>`select * from restore_state for update`.execute(tx.kysely);
  return requireStateRow(rows);
}

/** Null if the database was put back since `present` was read, or is blocked. */
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
    select (select last_number from invoice_counter) as invoices,
           (select jsonb_object_agg(kind || '/' || block, next_id) from id_blocks) as wire_ids
  `.execute(reader.kysely);
  return { invoices: Number(rows[0]?.invoices ?? 0n), wireIds: rows[0]?.wire_ids ?? {} };
}

/**
 * False when another worker was first. Apis serve requests also before the confirmation, so wire ids of the lost time are
 * passed at once.
 */
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

/** The point of a restore where workers have advanced the mark since. A later time changes nothing. */
export async function lowerMarkedAt(tx: Tx, at: Date): Promise<void> {
  await sql`update restore_state set marked_at = least(marked_at, ${at})`.execute(tx.kysely);
}

export async function saveRestoreReport(tx: Tx, report: RestoreReport): Promise<void> {
  await sql`
    update restore_state set report = ${JSON.stringify(report)}::jsonb, reported_at = clock_timestamp()
     where state = 'restored'
  `.execute(tx.kysely);
}

/** False when it was confirmed before, or when there is nothing to confirm. */
export async function beginConfirming(tx: Tx): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update restore_state set state = 'confirming' where state = 'restored' and report is not null
  `.execute(tx.kysely);
  return numAffectedRows === 1n;
}

/** The database counts as the newest state again, above everything that was found outside. */
export async function endConfirming(tx: Tx, next: RestoreMark): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update restore_state
       set state = 'normal', generation = ${next.generation}, mark = ${next.mark}, lost_from = least(lost_from, marked_at),
           marked_at = clock_timestamp(), confirmed_at = clock_timestamp()
     where state = 'confirming'
  `.execute(tx.kysely);
  return numAffectedRows === 1n;
}

/** The copy of a counter may be a second old; ids are cheap and gaps harmless. */
const WIRE_ID_SLACK = 10_000;

/** Wire ids up to these were given after the point of the restore. */
async function raiseWireIds(tx: Tx, wireIds: Counters['wireIds']): Promise<void> {
  for (const [name, next] of Object.entries(wireIds)) {
    const [kind, block] = name.split('/');
    const end = idsOfBlock(Number(block)).last + 1;
    await sql`
      insert into id_blocks (kind, block, cell, next_id)
      values (${kind}, ${Number(block)}, ${Number(block)}::int % 64, ${Math.min(end, next + WIRE_ID_SLACK)})
      on conflict (kind, block) do update set next_id = greatest(id_blocks.next_id, excluded.next_id)
    `.execute(tx.kysely);
  }
}

/** Invoices up to this number were sent. Their numbers are recorded as a gap and are not given again. */
export async function skipInvoices(tx: Tx, through: number): Promise<void> {
  const { rows } = await sql<{
    last_number: bigint;
  }>`select last_number from invoice_counter for update`.execute(tx.kysely);
  const last = Number(rows[0]?.last_number ?? 0n);
  if (through <= last) return;
  await sql`
    insert into invoice_gaps (first_number, last_number, noted_at) values (${last + 1}, ${through}, clock_timestamp())
  `.execute(tx.kysely);
  await sql`update invoice_counter set last_number = ${through}`.execute(tx.kysely);
}
