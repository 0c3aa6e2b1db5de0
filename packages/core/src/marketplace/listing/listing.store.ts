import type { MachineState } from '@millrace/contract';
import { defineStatement, runStatement, type Reader, type Tx } from '@millrace/platform/db';
import { fromUuid, toUuid, type NodeId } from '@millrace/platform/ids';
import { sql } from 'kysely';
import { nodeFactsText } from '../../fleet/index.ts';
import { occupantText } from '../../rentals/index.ts';
import { selfTestsText } from '../../suppliers/index.ts';
import { instanceStateOf } from './instance-state.ts';
import type { GpuGroup, MachineFacts, SelfTestMeasurements, Occupant } from './machine-record.ts';

/** SQL of the listing. It reads data of all suppliers and tenants, but only what is public. */

/** A position in listing_changes: a PostgreSQL snapshot as text. */
export interface ListingPosition {
  readonly snapshot: string;
  /** After a failover to another timeline, transactions of the snapshot might not exist. */
  readonly timeline: string;
}

export interface ListingChanges {
  readonly place: ListingPosition;
  /** Nodes that changed after `since`; null if the position is of another timeline. */
  readonly nodeIds: readonly NodeId[] | null;
}

interface ChangesRow {
  snapshot: string;
  timeline: string;
  is_behind: boolean;
  node_ids: string[];
}

/**
 * One statement has one snapshot: the next read finds what this one does not see. Because it compares visibility
 * instead of numbers, the order of transactions does not matter.
 */
const changesStatement = defineStatement(
  'listing-changes',
  `
  select pg_current_snapshot()::text as snapshot,
         substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) as timeline,
         pg_snapshot_xmax(pg_current_snapshot()) < pg_snapshot_xmax(coalesce($1::pg_snapshot, pg_current_snapshot())) as is_behind,
         array(select distinct node_id::text from listing_changes
                where xid >= pg_snapshot_xmin($1::pg_snapshot)
                  and not pg_visible_in_snapshot(xid, $1::pg_snapshot)) as node_ids`,
);

export async function readListingChanges(
  reader: Reader,
  since: ListingPosition | null,
): Promise<ListingChanges> {
  const [row] = await runStatement<ChangesRow>(reader, changesStatement, [since?.snapshot ?? null]);
  if (row === undefined) throw new Error('PostgreSQL has no snapshot.');
  const isContinued = since === null || (since.timeline === row.timeline && !row.is_behind);
  return {
    place: { snapshot: row.snapshot, timeline: row.timeline },
    nodeIds: isContinued ? row.node_ids.map((id) => fromUuid('nod', id)) : null,
  };
}

/** Deletes changes visible at a position so old that all current readers have seen them. */
export async function deleteSeenChanges(tx: Tx, seen: ListingPosition): Promise<void> {
  await sql`
    delete from listing_changes
     where xid < pg_snapshot_xmax(${seen.snapshot}::pg_snapshot)
       and pg_visible_in_snapshot(xid, ${seen.snapshot}::pg_snapshot)
  `.execute(tx.kysely);
}

interface FactsRow {
  id: string;
  status: MachineState;
  address: string | null;
  cpu_model: string | null;
  cpu_count: number | null;
  ram_mb: number | null;
  storage_gb: number | null;
  gpu_form_factor: string | null;
  open: boolean;
  gpus_total: number;
  gpus_free: number;
  connection_type: string;
  ports: number;
  ports_used: number;
  tests: unknown;
  gpus: string[];
  occupants: string[];
}

const factsStatement = defineStatement(
  'listing-facts',
  nodeFactsText({ occupant: occupantText, selfTests: selfTestsText }),
);

/** Nodes with mixed GPU types are not sold and have no facts. */
export async function readMachineFacts(
  reader: Reader,
  nodeIds: readonly NodeId[],
): Promise<readonly MachineFacts[]> {
  if (nodeIds.length === 0) return [];
  const rows = await runStatement<FactsRow>(reader, factsStatement, [nodeIds.map(toUuid)]);
  return rows.map(fromRow);
}

function fromRow(row: FactsRow): MachineFacts {
  return {
    nodeId: fromUuid('nod', row.id),
    status: row.status,
    isOpen: row.open,
    address: row.address,
    cpuModel: row.cpu_model ?? '',
    cpuCount: row.cpu_count ?? 0,
    ramMb: row.ram_mb ?? 0,
    storageGb: row.storage_gb ?? 0,
    formFactor: row.gpu_form_factor,
    gpus: row.gpus.map(toGroup),
    gpusTotal: row.gpus_total,
    gpusFree: row.gpus_free,
    connectionType: row.connection_type,
    portsFree: Math.max(0, row.ports - row.ports_used),
    measured: parseMeasurements(row.tests),
    occupants: toOccupants(row.occupants),
  };
}

/** Numbers come first, because a model name may contain spaces. */
function toGroup(line: string): GpuGroup {
  const [, count = '0', ramMb = '0', model = ''] = /^(\d+) (\d+) ?(.*)/s.exec(line) ?? [];
  return { model, ramMb: Number(ramMb), count: Number(count) };
}

function toOccupants(lines: readonly string[]): readonly Occupant[] {
  const occupants = new Map<string, Occupant & { readonly gpus: GpuGroup[] }>();
  for (const line of lines) {
    const [, id = '', status = '', state = '', group = ''] = /^(\S+) (\S+) (\S+) (.*)$/s.exec(line) ?? [];
    const known = occupants.get(id) ?? {
      rentalId: fromUuid('rnt', id),
      // The check constraints of the columns allow only these values.
      status: instanceStateOf({ status, machines: [{ state }] } as Parameters<typeof instanceStateOf>[0]),
      gpus: [],
    };
    known.gpus.push(toGroup(group));
    occupants.set(id, known);
  }
  return [...occupants.values()];
}

/** The supplier's machine produced these values, so only numbers are accepted. */
function parseMeasurements(tests: unknown): SelfTestMeasurements | null {
  if (typeof tests !== 'object' || tests === null) return null;
  const network = objectAt(tests, 'network');
  const gpu = objectAt(tests, 'gpu');
  return {
    downMbps: positiveNumberAt(network, 'downMbps'),
    upMbps: positiveNumberAt(network, 'upMbps'),
    gpuClockMhz: positiveNumberAt(gpu, 'clockMhz'),
    gpuTflops: positiveNumberAt(gpu, 'tflops'),
  };
}

function objectAt(from: object, name: string): object {
  const found: unknown = Object.hasOwn(from, name) ? from[name as keyof typeof from] : null;
  return typeof found === 'object' && found !== null ? found : {};
}

function positiveNumberAt(from: object, name: string): number | null {
  const found: unknown = Object.hasOwn(from, name) ? from[name as keyof typeof from] : null;
  return typeof found === 'number' && Number.isFinite(found) && found >= 0 ? found : null;
}
