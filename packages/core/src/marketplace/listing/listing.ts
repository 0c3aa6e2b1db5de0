import type { Clock } from '@millrace/platform/clock';
import type { Db, Reader } from '@millrace/platform/db';
import type { NodeId } from '@millrace/platform/ids';
import { startLoop, type Loop } from '@millrace/platform/lifecycle';
import type { Logger } from '@millrace/platform/log';
import { gauge } from '@millrace/platform/telemetry';
import { listMarketplaceNodeIds } from '../../fleet/index.ts';
import { readListedMachines } from '../../suppliers/index.ts';
import { encodeList, type EncodedList } from './list-response.ts';
import {
  deleteSeenChanges,
  readListingChanges,
  readMachineFacts,
  type ListingPosition,
} from './listing.store.ts';
import { toListedRecord, type ListedRecord } from './machine-record.ts';
import { MachineTable } from './machine-table.ts';

/** Older data is not served. */
export const LISTING_MAX_AGE_MS = 5_000;

export interface ListingTuning {
  readonly lookEveryMs: number;
  /** Machines per page; small, so that requests do not wait long for the processor. */
  readonly pageSize: number;
  /** Interval of the full comparison with the database, which repairs missed changes. */
  readonly compareEveryMs: number;
  /** Minimum retention of changes. After half of it without a read, the process compares everything. */
  readonly keepChangesMs: number;
  /** Maximum time of compression before it yields the processor. */
  readonly packForMs: number;
}

export const defaultListingTuning: ListingTuning = {
  lookEveryMs: 250,
  pageSize: 250,
  compareEveryMs: 3_600_000,
  keepChangesMs: 600_000,
  packForMs: 5,
};

export interface ListingOptions {
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  readonly tuning?: Partial<ListingTuning>;
}

/** Contains everything committed before `asOfMs` on the monotonic clock. */
export interface TableAsOf {
  readonly asOfMs: number;
  readonly table: MachineTable;
}

export interface EncodedListAsOf {
  readonly asOfMs: number;
  readonly digest: string;
  readonly snapshot: EncodedList;
}

export interface Listing {
  /** For queries; null until all machines have been read once. */
  table(): TableAsOf | null;
  /** The whole list, encoded; null until all machines have been read once. */
  snapshot(): EncodedListAsOf | null;
  /** Reads changes once, and one page of a full comparison; returns `busy` until the comparison is complete. */
  step(): Promise<'busy' | 'idle'>;
  start(): Loop;
}

const machinesListed = gauge('millrace_listing_machines');

/** Both clocks, because the monotonic clock may stop while the host is suspended. */
interface ClockReading {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** Keeps all marketplace machines in memory, so requests need no database. One statement per interval reads changes. */
export function createListing(options: ListingOptions): Listing {
  const { db, clock, log } = options;
  const tuning = { ...defaultListingTuning, ...options.tuning };
  const table = new MachineTable();
  let place: ListingPosition | null = null;
  let looked: ClockReading = readClocks(clock);
  /** Position of the full comparison in progress. */
  let walk: { after: NodeId | null } | null = null;
  let comparedMs = clock.monotonicMs();
  let known: TableAsOf | null = null;
  let published: EncodedListAsOf | null = null;
  /** Older than the retention: all readers have seen the changes before it. */
  let oldPlace: { readonly place: ListingPosition; readonly atMs: number } | null = null;

  async function take(nodeIds: readonly NodeId[]): Promise<number> {
    let changed = 0;
    for (let first = 0; first < nodeIds.length; first += tuning.pageSize) {
      changed += await refreshMachines(table, db, nodeIds.slice(first, first + tuning.pageSize));
    }
    return changed;
  }

  /** Compares one page. Machines in the table within the page's id range that are not in the page were removed. */
  async function walkOn(at: { readonly after: NodeId | null }): Promise<number> {
    const page = await listMarketplaceNodeIds(db, { after: at.after, limit: tuning.pageSize });
    const isLast = page.length < tuning.pageSize;
    const until = isLast ? null : (page.at(-1) ?? null);
    const changed = await take([...new Set([...page, ...table.idsBetween(at.after, until)])]);
    walk = isLast ? null : { after: until };
    if (isLast) comparedMs = clock.monotonicMs();
    return changed;
  }

  async function publish(asOfMs: number): Promise<void> {
    const packing = table.live.pack();
    let packed = packing.next();
    for (let until = clock.monotonicMs() + tuning.packForMs; packed.done !== true; packed = packing.next()) {
      if (clock.monotonicMs() < until) continue;
      await clock.sleep(0);
      until = clock.monotonicMs() + tuning.packForMs;
    }
    published = { asOfMs, digest: table.digest, snapshot: encodeList(packed.value, table.live.all()) };
    machinesListed.record(table.size);
  }

  async function deleteOldChanges(): Promise<void> {
    const nowMs = clock.monotonicMs();
    if (oldPlace !== null && nowMs - oldPlace.atMs < tuning.keepChangesMs) return;
    const seen = oldPlace?.place;
    if (place !== null) oldPlace = { place, atMs: nowMs };
    if (seen === undefined) return;
    await db.transaction({ name: 'forget changes of the listing', isolation: 'read committed' }, (tx) =>
      deleteSeenChanges(tx, seen),
    );
  }

  async function step(): Promise<'busy' | 'idle'> {
    const now = readClocks(clock);
    if (elapsedMs(looked, now) > tuning.keepChangesMs * 0.5) place = null;
    const changes = await readListingChanges(db, place);
    if (place === null || changes.nodeIds === null) walk = { after: null };
    else if (now.monotonicMs - comparedMs >= tuning.compareEveryMs) walk ??= { after: null };
    let changed = await take(changes.nodeIds ?? []);
    ({ place } = changes);
    looked = now;
    if (walk !== null) changed += await walkOn(walk);
    const isWhole = known !== null || walk === null;
    if (isWhole) {
      if (known === null) log.info({ machines: table.size }, 'marketplace listing is loaded');
      known = { asOfMs: now.monotonicMs, table };
      if (changed > 0 || published === null) await publish(now.monotonicMs);
      else published = { ...published, asOfMs: now.monotonicMs };
    }
    await deleteOldChanges();
    return walk === null ? 'idle' : 'busy';
  }

  return {
    table: () => known,
    snapshot: () => published,
    step,
    start: () => startLoop({ name: 'follow the listing', clock, log, idleMs: tuning.lookEveryMs }, step),
  };
}

async function refreshMachines(
  table: MachineTable,
  reader: Reader,
  nodeIds: readonly NodeId[],
): Promise<number> {
  const records = await readListedRecords(reader, nodeIds);
  return table.apply(nodeIds.map((id) => [id, records.get(id) ?? null] as const));
}

export async function readListedRecords(
  reader: Reader,
  nodeIds: readonly NodeId[],
): Promise<ReadonlyMap<NodeId, ListedRecord>> {
  const listed = await readListedMachines(reader, nodeIds);
  const facts = await readMachineFacts(reader, [...listed.keys()]);
  const records = new Map<NodeId, ListedRecord>();
  for (const each of facts) {
    const offer = listed.get(each.nodeId);
    const record = offer === undefined ? null : toListedRecord(each, offer);
    if (record !== null) records.set(each.nodeId, record);
  }
  return records;
}

function readClocks(clock: Clock): ClockReading {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.nowMs() };
}

function elapsedMs(from: ClockReading, until: ClockReading): number {
  return Math.max(until.monotonicMs - from.monotonicMs, until.wallMs - from.wallMs);
}
