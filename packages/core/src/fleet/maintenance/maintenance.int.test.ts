import { createDb, type Db, type Tx } from '@millrace/platform/db';
import type { SimulatedClock } from '@millrace/platform/clock';
import { createIdSource, toUuid, type NodeId, type OrgId } from '@millrace/platform/ids';
import {
  createOrganisation,
  createTestDatabase,
  hybridClock,
  longDbTimeouts,
  insertFleet,
  testClock,
  testIds,
  testLog,
  uniqueId,
  failingLoop,
  poisonRows,
  type Poison,
} from '@millrace/testing';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { systemAuditContext } from '../../identity/index.ts';
import { applyNodeAction } from '../admin/fleet-admin.service.ts';
import {
  announceMaintenance,
  cancelMaintenance,
  sweepMaintenance,
  type MaintenanceRequest,
} from './maintenance.service.ts';
import { findWindow, listWindows, windowsAt } from './maintenance.store.ts';
import { transitionNode } from '../inventory/nodes.service.ts';
import { findNode } from '../inventory/nodes.store.ts';
import { place } from '../placement/placement.service.ts';
import { releaseAllocation } from '../placement/allocations.store.ts';
import { placementRequestFor } from '../placement-request.fixture.ts';

const HOUR_MS = 3_600_000;
const cause = systemAuditContext('test', 'live');
const isolation = 'read committed' as const;
const operator = { kind: 'operator', id: 'somebody' } as const;

let clock: SimulatedClock;
let db: Db;
let region: string;

const database = await createTestDatabase();
afterAll(() => database.drop());

beforeEach(() => {
  clock = testClock();
  const time = hybridClock(clock);
  const ids = createIdSource({ clock: time, cell: 1 });
  db = createDb({ ...longDbTimeouts, url: database.url, poolSize: 8, clock: time, ids, log: testLog() });
  region = `r-${uniqueId()}`;
  return async () => {
    // The sweeps of the next test, whose clock restarts, must not find open windows of this one.
    await database.db.kysely.updateTable('maintenance_nodes').set({ hold: 'left' }).execute();
    await database.db.kysely.updateTable('maintenance_notices').set({ told: 'ended' }).execute();
    await database.db.kysely
      .updateTable('maintenance_windows')
      .set((row) => ({ status: 'cancelled', ended_at: row.ref('ends_at') }))
      .execute();
    await db.close();
  };
});

const run = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
  db.transaction({ name: 'test', isolation }, work);
const hours = (count: number): Date => new Date(clock.nowMs() + count * HOUR_MS);
const sweep = () => sweepMaintenance(db, { log: testLog() });

async function insertNodes(nodes = 1): Promise<readonly NodeId[]> {
  return (await insertFleet(db, { nodes, region, watchedAt: clock.now() })).nodeIds;
}

async function announce(nodeIds: readonly NodeId[], fields: Partial<MaintenanceRequest> = {}) {
  const request = {
    nodeIds,
    startsAt: hours(48),
    endsAt: hours(50),
    summary: 'new firmware',
    drainBeforeMs: 24 * HOUR_MS,
    ...fields,
  };
  return run((tx) => announceMaintenance(tx, cause, request));
}

async function rent(orgId: OrgId) {
  // Without a recent heartbeat nothing of the cluster would be sold.
  await db.kysely
    .updateTable('clusters')
    .set({ beat_at: clock.now(), watching_since: clock.now() })
    .where('region', '=', region)
    .execute();
  return run((tx) => place(tx, placementRequestFor(orgId, region)));
}

const tenant = () => createOrganisation(db);

async function eventsOf(orgId: OrgId): Promise<readonly (readonly [string, unknown])[]> {
  const rows = await db.kysely
    .selectFrom('outbox')
    .select(['type', 'payload'])
    .where('org_id', '=', toUuid(orgId))
    .where('type', 'like', 'maintenance.%')
    .orderBy('id')
    .execute();
  return rows.map(({ type, payload }) => [type ?? '', (payload as { externalIds: unknown }).externalIds]);
}

const words = async (orgId: OrgId) => (await eventsOf(orgId)).map(([type]) => type);

async function statusOf(...nodeIds: readonly NodeId[]): Promise<readonly string[]> {
  return Promise.all(nodeIds.map(async (id) => (await findNode(db, id))?.status ?? 'none'));
}

async function only(nodeIds: readonly NodeId[]): Promise<NodeId> {
  const [id] = nodeIds;
  if (id === undefined || nodeIds.length !== 1) throw new Error('not one node');
  return id;
}

describe('a maintenance window', () => {
  it('drains its nodes, starts, ends, returns them to service and sends a notice at each step', async () => {
    const nodes = await insertNodes(2);
    const orgId = await tenant();
    const { externalId } = await rent(orgId);
    const outsider = await tenant();
    const window = await announce(nodes);
    expect(window).toMatchObject({ status: 'announced', notifiedAllocations: 1, nodeIds: nodes.toSorted() });
    expect(await eventsOf(orgId)).toEqual([['maintenance.announced', [externalId]]]);

    await sweep();
    expect(await statusOf(...nodes)).toEqual(['node_ready', 'node_ready']);
    await clock.advance(24 * HOUR_MS);
    await sweep();
    expect(await statusOf(...nodes)).toEqual(['node_draining', 'node_draining']);
    await expect(rent(outsider)).rejects.toMatchObject({ reason: 'INSUFFICIENT_CAPACITY' });

    await clock.advance(24 * HOUR_MS);
    await sweep();
    expect((await findWindow(db, window.id))?.status).toBe('in_progress');
    await clock.advance(2 * HOUR_MS);
    await sweep();
    expect(await findWindow(db, window.id)).toMatchObject({ status: 'completed', endedAt: window.endsAt });
    expect(await statusOf(...nodes)).toEqual(['node_ready', 'node_ready']);
    expect(await words(orgId)).toEqual(['maintenance.announced', 'maintenance.started', 'maintenance.ended']);
    expect(await words(outsider)).toEqual([]);
    await rent(outsider);
  });

  it('does each step once for any number of sweeps and workers', async () => {
    const nodes = await insertNodes(3);
    const orgId = await tenant();
    await rent(orgId);
    await announce(nodes);
    for (const step of [24, 24, 2]) {
      await clock.advance(step * HOUR_MS);
      await Promise.all([sweep(), sweep(), sweep()]);
      await sweep();
    }
    expect(await words(orgId)).toEqual(['maintenance.announced', 'maintenance.started', 'maintenance.ended']);
    const moves = await db.kysely
      .selectFrom('node_transitions')
      .select(['to_status', 'actor'])
      .where('node_id', 'in', nodes.map(toUuid))
      .where('seq', '>', 1)
      .orderBy('seq')
      .execute();
    expect(moves.map(({ to_status: to }) => to)).toEqual([
      ...Array.from({ length: 3 }, () => 'node_draining'),
      ...Array.from({ length: 3 }, () => 'node_ready'),
    ]);
    expect(new Set(moves.map(({ actor }) => actor))).toEqual(new Set(['system:maintenance']));
  });

  it('that passed while no worker ran is completed without draining nodes or sending a start notice', async () => {
    const nodes = await insertNodes();
    const orgId = await tenant();
    await rent(orgId);
    const window = await announce(nodes);
    await clock.advance(500 * HOUR_MS);
    await sweep();
    expect(await findWindow(db, window.id)).toMatchObject({ status: 'completed', endedAt: window.endsAt });
    expect(await statusOf(...nodes)).toEqual(['node_ready']);
    expect(await words(orgId)).toEqual(['maintenance.announced', 'maintenance.ended']);
  });

  it('drains at once and ends on time if workers return in the middle of it', async () => {
    const nodes = await insertNodes();
    await announce(nodes);
    await clock.advance(49 * HOUR_MS);
    await sweep();
    expect(await statusOf(...nodes)).toEqual(['node_draining']);
    await clock.advance(HOUR_MS);
    await sweep();
    expect(await statusOf(...nodes)).toEqual(['node_ready']);
  });

  it('notifies tenants that arrive after the announcement, and no longer those that have left', async () => {
    const nodes = await insertNodes();
    const leaving = await tenant();
    const late = await tenant();
    const { allocationId } = await rent(leaving);
    const window = await announce(nodes);
    const { externalId } = await rent(late);
    await sweep();
    expect(await eventsOf(late)).toEqual([['maintenance.announced', [externalId]]]);
    await run((tx) => releaseAllocation(tx, leaving, allocationId));
    await clock.advance(48 * HOUR_MS);
    await sweep();
    expect(await words(leaving)).toEqual(['maintenance.announced']);
    expect(await words(late)).toEqual(['maintenance.announced', 'maintenance.started']);
    expect((await findWindow(db, window.id))?.notifiedAllocations).toBe(2);
  });

  it('with many nodes and tenants is processed completely, in batches', async () => {
    const nodes = await insertNodes(60);
    const orgs = await Promise.all(Array.from({ length: 12 }, tenant));
    for (let round = 0; round < 18; round += 1) await Promise.all(orgs.map(rent));
    const window = await announce(nodes);
    await sweep();
    expect((await findWindow(db, window.id))?.notifiedAllocations).toBe(216);
    await clock.advance(48 * HOUR_MS);
    await sweep();
    expect(new Set(await statusOf(...nodes))).toEqual(new Set(['node_draining']));
    await clock.advance(2 * HOUR_MS);
    await sweep();
    expect(new Set(await statusOf(...nodes))).toEqual(new Set(['node_ready']));
    for (const orgId of orgs) expect((await words(orgId)).at(-1)).toBe('maintenance.ended');
  });

  describe(failingLoop('keep maintenance windows'), () => {
    it('a window that cannot be completed delays no other window', async () => {
      const [odd, sound] = await insertNodes(2);
      if (odd === undefined || sound === undefined) throw new Error('no nodes');
      await announce([odd]);
      const later = await announce([sound]);
      await clock.advance(24 * HOUR_MS);
      await sweep();
      // A node whose hardware was never read cannot become ready, so this window cannot return it to service.
      await database.db.kysely
        .updateTable('nodes')
        .set({ hardware_read_at: null })
        .where('id', '=', toUuid(odd))
        .execute();
      await clock.advance(48 * HOUR_MS);
      await sweep();
      expect(await statusOf(odd, sound)).toEqual(['node_draining', 'node_ready']);
      expect((await findWindow(db, later.id))?.status).toBe('completed');
    });

    it.each<Poison>(['throws', 'times out'])(
      'a window whose write %s delays no other window',
      async (how) => {
        const [odd, sound] = await insertNodes(2);
        if (odd === undefined || sound === undefined) throw new Error('no nodes');
        await announce([odd]);
        const later = await announce([sound]);
        await clock.advance(24 * HOUR_MS);
        await sweep();
        const when = `new.id = '${toUuid(odd)}' and new.status = 'node_ready'`;
        const removeFault = await poisonRows(database, { table: 'nodes', when, how });
        await clock.advance(48 * HOUR_MS);
        await sweep();
        expect(await statusOf(odd, sound)).toEqual(['node_draining', 'node_ready']);
        expect((await findWindow(db, later.id))?.status).toBe('completed');
        await removeFault();
        await clock.advance(HOUR_MS);
        await sweep();
        expect(await statusOf(odd)).toEqual(['node_ready']);
      },
    );
  });

  it.each([
    ['with a removed node', true],
    ['with an unknown node', false],
  ])('%s is rejected', async (_, exists) => {
    const id = await only(await insertNodes());
    if (exists) {
      await run((tx) => applyNodeAction(tx, cause, id, 'drain', { reason: 'old' }));
      await run((tx) => applyNodeAction(tx, cause, id, 'remove', { reason: 'old' }));
    }
    const named = exists ? id : testIds.next('nod');
    await expect(announce([named])).rejects.toMatchObject({ reason: 'NODE_NOT_FOUND' });
    expect(await listWindows(db, { nodeId: named }, { limit: 10, after: null })).toEqual([]);
  });

  it('stores a node once that is named twice', async () => {
    const id = await only(await insertNodes());
    expect((await announce([id, id])).nodeIds).toEqual([id]);
  });
});

describe('maintenance windows of the same node', () => {
  it('keep the node drained until the last overlapping window ends', async () => {
    const nodes = await insertNodes();
    await announce(nodes, { startsAt: hours(1), endsAt: hours(3) });
    await announce(nodes, { startsAt: hours(2), endsAt: hours(6) });
    await sweep();
    await clock.advance(3 * HOUR_MS);
    await sweep();
    expect(await statusOf(...nodes)).toEqual(['node_draining']);
    await clock.advance(3 * HOUR_MS);
    await sweep();
    expect(await statusOf(...nodes)).toEqual(['node_ready']);
  });

  it('do not make the node ready between two adjacent windows', async () => {
    const nodes = await insertNodes();
    await announce(nodes, { startsAt: hours(1), endsAt: hours(2), drainBeforeMs: 0 });
    await announce(nodes, { startsAt: hours(2), endsAt: hours(3), drainBeforeMs: 0 });
    for (const expected of ['node_draining', 'node_draining', 'node_ready']) {
      await clock.advance(HOUR_MS);
      await sweep();
      expect(await statusOf(...nodes)).toEqual([expected]);
    }
    const moves = await db.kysely
      .selectFrom('node_transitions')
      .select('to_status')
      .where('node_id', 'in', nodes.map(toUuid))
      .execute();
    expect(moves).toHaveLength(3);
  });

  it('keep the node drained for the other window when one is cancelled', async () => {
    const nodes = await insertNodes();
    const first = await announce(nodes, { startsAt: hours(1), endsAt: hours(3) });
    const second = await announce(nodes, { startsAt: hours(1), endsAt: hours(3) });
    await sweep();
    await run((tx) => cancelMaintenance(tx, cause, first.id, undefined));
    expect(await statusOf(...nodes)).toEqual(['node_draining']);
    await run((tx) => cancelMaintenance(tx, cause, second.id, undefined));
    expect(await statusOf(...nodes)).toEqual(['node_ready']);
  });
});

describe('other changes of a node in a maintenance window', () => {
  it.each(['before the window took it', 'while the window holds it'])(
    'an operator’s drain %s stays after the window ends',
    async (when) => {
      const id = await only(await insertNodes());
      await announce([id]);
      if (when.startsWith('while')) {
        await clock.advance(24 * HOUR_MS);
        await sweep();
      }
      await run((tx) => applyNodeAction(tx, cause, id, 'drain', { reason: 'to be sold' }));
      await clock.advance(48 * HOUR_MS);
      await sweep();
      await clock.advance(48 * HOUR_MS);
      await sweep();
      expect(await statusOf(id)).toEqual(['node_draining']);
    },
  );

  it('a quarantine by an operator or a failed check stays after the window ends', async () => {
    const [one, other] = await insertNodes(2);
    if (one === undefined || other === undefined) throw new Error('no nodes');
    await announce([one, other]);
    await clock.advance(24 * HOUR_MS);
    await sweep();
    await run((tx) => applyNodeAction(tx, cause, one, 'quarantine', { reason: 'smells' }));
    await run((tx) =>
      transitionNode(tx, other, 'node_quarantined', { reason: 'check failed', actor: operator }),
    );
    await clock.advance(48 * HOUR_MS);
    await sweep();
    expect(await statusOf(one, other)).toEqual(['node_quarantined', 'node_quarantined']);
  });

  it('a node that an operator resumed is not drained again', async () => {
    const id = await only(await insertNodes());
    await announce([id]);
    await clock.advance(24 * HOUR_MS);
    await sweep();
    await run((tx) => applyNodeAction(tx, cause, id, 'resume', { reason: 'needed' }));
    await sweep();
    expect(await statusOf(id)).toEqual(['node_ready']);
    await clock.advance(48 * HOUR_MS);
    await sweep();
    expect(await statusOf(id)).toEqual(['node_ready']);
  });

  it('a removed node stays removed, and the window completes', async () => {
    const [retained, removed] = await insertNodes(2);
    if (retained === undefined || removed === undefined) throw new Error('no nodes');
    const window = await announce([retained, removed]);
    await clock.advance(24 * HOUR_MS);
    await sweep();
    await run((tx) => applyNodeAction(tx, cause, removed, 'remove', { reason: 'scrapped' }));
    await clock.advance(48 * HOUR_MS);
    await sweep();
    expect(await statusOf(retained, removed)).toEqual(['node_ready', 'node_removed']);
    expect((await findWindow(db, window.id))?.status).toBe('completed');
  });

  it('a node that goes offline during the window returns to service after it', async () => {
    const id = await only(await insertNodes());
    await announce([id]);
    await clock.advance(24 * HOUR_MS);
    await sweep();
    await run((tx) => transitionNode(tx, id, 'node_offline', { reason: 'rebooted', actor: operator }));
    await clock.advance(48 * HOUR_MS);
    await sweep();
    expect(await findNode(db, id)).toMatchObject({ status: 'node_offline', backTo: 'node_ready' });
    await run((tx) => transitionNode(tx, id, 'node_ready', { reason: 'back', actor: operator }));
    expect(await statusOf(id)).toEqual(['node_ready']);
  });

  it('a node that is offline when the drain begins returns as draining', async () => {
    const id = await only(await insertNodes());
    await announce([id]);
    await run((tx) => transitionNode(tx, id, 'node_offline', { reason: 'silent', actor: operator }));
    await clock.advance(24 * HOUR_MS);
    await sweep();
    expect(await findNode(db, id)).toMatchObject({ status: 'node_offline', backTo: 'node_draining' });
  });
});

describe('cancelMaintenance', () => {
  it('before the drain leaves the nodes unchanged and notifies the affected organisations', async () => {
    const nodes = await insertNodes();
    const orgId = await tenant();
    await rent(orgId);
    const window = await announce(nodes);
    const cancelled = await run((tx) => cancelMaintenance(tx, cause, window.id, 'not needed'));
    expect(cancelled).toMatchObject({ status: 'cancelled', endedAt: clock.now() });
    await clock.advance(49 * HOUR_MS);
    await sweep();
    expect(await statusOf(...nodes)).toEqual(['node_ready']);
    expect(await words(orgId)).toEqual(['maintenance.announced', 'maintenance.ended']);
  });

  it('during the window returns the nodes to service at once; a repeat changes nothing', async () => {
    const nodes = await insertNodes();
    const orgId = await tenant();
    await rent(orgId);
    const window = await announce(nodes);
    await clock.advance(49 * HOUR_MS);
    await sweep();
    await run((tx) => cancelMaintenance(tx, cause, window.id, 'done early'));
    expect(await statusOf(...nodes)).toEqual(['node_ready']);
    await run((tx) => cancelMaintenance(tx, cause, window.id, 'done early'));
    await sweep();
    expect(await words(orgId)).toEqual(['maintenance.announced', 'maintenance.started', 'maintenance.ended']);
    const last = await db.kysely
      .selectFrom('outbox')
      .select('payload')
      .where('org_id', '=', toUuid(orgId))
      .where('type', '=', 'maintenance.ended')
      .executeTakeFirstOrThrow();
    expect(last.payload).toMatchObject({ cancelled: true, maintenanceId: window.id });
  });

  it('after the end is refused, even if no worker has stored the end', async () => {
    const window = await announce(await insertNodes());
    await clock.advance(51 * HOUR_MS);
    const late = run((tx) => cancelMaintenance(tx, cause, window.id, undefined));
    await expect(late).rejects.toMatchObject({ reason: 'MAINTENANCE_OVER' });
    await sweep();
    const later = run((tx) => cancelMaintenance(tx, cause, window.id, undefined));
    await expect(later).rejects.toMatchObject({ reason: 'MAINTENANCE_OVER' });
  });

  it('has the same result in any order with concurrent sweeps', async () => {
    const nodes = await insertNodes(10);
    const window = await announce(nodes);
    await clock.advance(48 * HOUR_MS);
    await Promise.all([sweep(), run((tx) => cancelMaintenance(tx, cause, window.id, undefined)), sweep()]);
    await sweep();
    expect(new Set(await statusOf(...nodes))).toEqual(new Set(['node_ready']));
  });
});

describe('windowsAt', () => {
  it('uses the times alone, per node, up to the actual end', async () => {
    const [one, other] = await insertNodes(2);
    if (one === undefined || other === undefined) throw new Error('no nodes');
    const window = await announce([one]);
    const cancelled = await announce([other]);
    const inside = hours(49);
    const away = { nodeId: one, maintenanceId: window.id, startsAt: window.startsAt, endsAt: window.endsAt };
    expect(await windowsAt(db, [one], inside)).toEqual([away]);
    expect(await windowsAt(db, [one, other], hours(47))).toEqual([]);
    expect(await windowsAt(db, [one, other], hours(50))).toEqual([]);
    await clock.advance(48.5 * HOUR_MS);
    await run((tx) => cancelMaintenance(tx, cause, cancelled.id, undefined));
    expect(await windowsAt(db, [one, other], inside)).toEqual([away]);
    expect((await windowsAt(db, [other], hours(-0.1))).map((each) => each.endsAt)).toEqual([clock.now()]);
    expect(await windowsAt(db, [], inside)).toEqual([]);
  });

  it('does not extend into the past: a start that has just passed means now', async () => {
    const nodeId = await only(await insertNodes());
    const justNow = hours(-0.01);
    expect(await windowsAt(db, [nodeId], justNow)).toEqual([]);
    const window = await announce([nodeId], { startsAt: hours(-0.05), endsAt: hours(1) });
    expect(window.startsAt).toEqual(clock.now());
    expect(await windowsAt(db, [nodeId], justNow)).toEqual([]);
    expect(await windowsAt(db, [nodeId], clock.now())).toHaveLength(1);
  });

  it('ignores a window that was cancelled before it started', async () => {
    const id = await only(await insertNodes());
    const window = await announce([id]);
    await run((tx) => cancelMaintenance(tx, cause, window.id, undefined));
    expect(await windowsAt(db, [id], hours(49))).toEqual([]);
  });
});
