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

/** Nobody is shown what may have changed longer ago than this. */
export const LISTING_MAX_AGE_MS = 5_000;

export interface ListingTuning {
  /** How often changes are asked for. */
  readonly lookEveryMs: number;
  /** Machines that are read and taken over at once. Few, because others wait for the processor meanwhile. */
  readonly pageSize: number;
  /** How often all machines are compared with the database: the last resort. */
  readonly compareEveryMs: number;
  /** For how long changes are kept at least. Who has not looked for half of that compares everything. */
  readonly keepChangesMs: number;
  /** How long packing may keep others from the processor. */
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

/** What is known, and as of when: all that was committed before that moment, by the monotonic clock, is in it. */
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
  /** For queries; null until every machine was read once. */
  table(): TableAsOf | null;
  /** The whole list as it is sent; null until every machine was read once. */
  snapshot(): EncodedListAsOf | null;
  /** Looks for changes once, and reads one page while all machines are being compared: it is `busy` until that is done. */
  step(): Promise<'busy' | 'idle'>;
  start(): Loop;
}

const machinesListed = gauge(
  'millrace_listing_machines',
  'Machines in the marketplace listing of this process',
);

/** When something was last done, by both clocks: the monotonic one may stand still while a machine sleeps. */
interface ClockReading {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/**
 * Keeps all machines of the marketplace in memory, behind the database by one look. Requests are answered from here and
 * touch no database; however many there are, changes are asked for once in a while by one statement.
 */
export function createListing(options: ListingOptions): Listing {
  const { db, clock, log } = options;
  const tuning = { ...defaultListingTuning, ...options.tuning };
  const table = new MachineTable();
  let place: ListingPosition | null = null;
  let looked: ClockReading = readClocks(clock);
  /** While all machines are compared: those up to here are done. */
  let walk: { after: NodeId | null } | null = null;
  let comparedMs = clock.monotonicMs();
  let known: TableAsOf | null = null;
  let published: EncodedListAsOf | null = null;
  /** What was seen here everybody has seen by the time that it is forgotten. */
  let oldPlace: { readonly place: ListingPosition; readonly atMs: number } | null = null;

  async function take(nodeIds: readonly NodeId[]): Promise<number> {
    let changed = 0;
    for (let first = 0; first < nodeIds.length; first += tuning.pageSize) {
      changed += await refreshMachines(table, db, nodeIds.slice(first, first + tuning.pageSize));
    }
    return changed;
  }

  /** One page of all machines. What is listed here between two of its ids and not among them is gone. */
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
      if (known === null) log.info({ machines: table.size }, 'the listing of the marketplace is filled');
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

/** Reads these machines and takes over what is new of them. */
async function refreshMachines(
  table: MachineTable,
  reader: Reader,
  nodeIds: readonly NodeId[],
): Promise<number> {
  const records = await readListedRecords(reader, nodeIds);
  return table.apply(nodeIds.map((id) => [id, records.get(id) ?? null] as const));
}

/** What the listing says of these machines; those that it does not show are missing. */
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
