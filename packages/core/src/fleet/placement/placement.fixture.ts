import { isFault } from '@millrace/platform/fault';
import type { Db } from '@millrace/platform/db';
import type { GpuId, OrgId } from '@millrace/platform/ids';
import {
  createOrganisation,
  createTestDatabase,
  eventually,
  fleetInvariantViolations,
  insertFleet,
  uniqueId,
  type FleetOptions,
  type InsertedFleet,
  type TestDatabase,
} from '@millrace/testing';
import type { Placement, PlacementRequest } from './placement.ts';
import { place } from './placement.service.ts';
import { releaseAllocation } from './allocations.store.ts';
import { placementRequestFor } from '../placement-request.fixture.ts';

/** A separate region per test, with functions to seed it, place in it and release. */
export interface PlacementRegion {
  readonly region: string;
  seed(options: Omit<FleetOptions, 'region'>): Promise<InsertedFleet>;
  request(fields?: Partial<PlacementRequest>): PlacementRequest;
  place(fields?: Partial<PlacementRequest>): Promise<Placement>;
  release(placement: Placement, orgId?: OrgId): Promise<boolean>;
}

export interface PlacementHarness {
  readonly database: TestDatabase;
  readonly orgId: OrgId;
  newRegion(base?: Partial<PlacementRequest>): PlacementRegion;
  /** Violated fleet invariants; must be empty after every test. */
  violations(): Promise<readonly string[]>;
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** One attempt, so that a deadlock fails the test instead of being retried. */
export const placementTransaction = { name: 'place', isolation: 'read committed', maxAttempts: 1 } as const;

export async function openPlacementHarness(poolSize: number): Promise<PlacementHarness> {
  const database = await createTestDatabase({ poolSize });
  const orgId = await createOrganisation(database.db);
  const query = async <Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> => {
    return (await database.query<Row>(text, [...values])).rows;
  };
  return {
    database,
    orgId,
    query,
    newRegion: (base = {}) => placementRegionOf(database.db, orgId, base),
    async violations() {
      const client = await database.connect();
      try {
        return await fleetInvariantViolations(client);
      } finally {
        await client.end();
      }
    },
  };
}

function placementRegionOf(db: Db, orgId: OrgId, base: Partial<PlacementRequest>): PlacementRegion {
  const region = `region-${uniqueId()}`;
  const ports = [{ internalPort: 22, protocol: 'tcp' }] as const;
  const request = (fields: Partial<PlacementRequest> = {}): PlacementRequest =>
    placementRequestFor(orgId, region, { ports, ...base, ...fields });
  const placeOne = (fields: Partial<PlacementRequest> = {}): Promise<Placement> =>
    db.transaction(placementTransaction, (tx) => place(tx, request(fields)));
  return {
    region,
    request,
    place: placeOne,
    seed: (options) => insertFleet(db, { ...options, region }),
    release: (placement, by = orgId) =>
      db.transaction({ ...placementTransaction, name: 'release' }, (tx) =>
        releaseAllocation(tx, by, placement.allocationId),
      ),
  };
}

export interface PendingPlacement {
  readonly placed: Promise<Placement>;
  end(how: 'commit' | 'rollback'): Promise<void>;
}

/** Starts a transaction that places, then waits for `end`. */
export function holdPlacement({ database }: PlacementHarness, request: PlacementRequest): PendingPlacement {
  const ending = Promise.withResolvers<'commit' | 'rollback'>();
  const placed = Promise.withResolvers<Placement>();
  const done = database.db
    .transaction(placementTransaction, async (tx) => {
      placed.resolve(await place(tx, request));
      if ((await ending.promise) === 'rollback') throw new Error('rolled back on purpose');
    })
    .catch((error: unknown) => placed.reject(error));
  return {
    placed: placed.promise,
    end: async (how) => {
      ending.resolve(how);
      await done;
    },
  };
}

/** Waits until this many connections wait for a row lock or an advisory lock of the test. */
export async function waitUntilBlocked(ground: PlacementHarness, count: number): Promise<void> {
  await eventually({ what: `${count} connections to wait for a lock` }, async () => {
    const [row] = await ground.query<{ waiting: number }>(
      `select count(*)::int as waiting from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return row?.waiting === count;
  });
}

export const gpusOf = (placement: Placement): readonly GpuId[] =>
  placement.nodes.flatMap(({ gpus }) => gpus.map(({ gpuId }) => gpuId));

export interface Outcomes {
  readonly placed: readonly Placement[];
  /** Reasons of faults, or the full text of other errors. */
  readonly refusals: readonly string[];
}

export async function collectOutcomes(attempts: readonly Promise<Placement>[]): Promise<Outcomes> {
  const outcomes = await Promise.allSettled(attempts);
  return {
    placed: outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : [])),
    refusals: outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [reasonOf(outcome.reason)] : [],
    ),
  };
}

export function reasonOf(error: unknown): string {
  return isFault(error) ? error.reason : String(error);
}

/** The fault's reason, or `placed` if the work succeeds. */
export async function outcomeOf(work: Promise<unknown>): Promise<string> {
  return work.then(() => 'placed', reasonOf);
}
