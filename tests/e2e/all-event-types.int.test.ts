import { DriverError } from '@millrace/compute';
import { eventEnvelope, eventTypeNames } from '@millrace/contract';
import { grantCredit } from '@millrace/core/billing';
import { createFeed, ensureEventStream, eventChannels, startRelay } from '@millrace/core/events';
import { listNodes, transitionNode, sweepMaintenance } from '@millrace/core/fleet';
import { createApiKeyService, systemAuditContext } from '@millrace/core/identity';
import { makeDueInvoices } from '@millrace/core/invoices';
import { createBudget } from '@millrace/core/ledger';
import { readBurnRate } from '@millrace/core/metering';
import { systemClock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { fromUuid, toUuid, type OrgId } from '@millrace/platform/ids';
import type { NatsClient } from '@millrace/platform/nats';
import { createRestateIngress } from '@millrace/platform/restate';
import { connectTestNats, eventually, testEndpoints, testLog, testNames, uniqueId } from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { toWireEvent } from '../../packages/core/src/events/events.ts';
import { announceMaintenance } from '../../packages/core/src/fleet/maintenance/maintenance.service.ts';
import {
  reconcileToIdle,
  reconcileUntil,
  withDriver,
} from '../../packages/core/src/rentals/reconcile/reconcile.fixture.ts';
import {
  startRunningRental,
  later,
  advanceUntil,
} from '../../packages/core/src/rentals/lifecycle.fixture.ts';
import { terminateRental } from '../../packages/core/src/rentals/actions/termination.service.ts';
import {
  advanceComparing,
  createInventoryReconciler,
} from '../../packages/core/src/rentals/inventory/inventory.fixture.ts';
import {
  createRentalHarness,
  DAY_MS,
  HOUR_MS,
  MINUTE_MS,
  SECOND_MS,
  usd,
  type RentalHarness,
  type Tenant,
} from '../../packages/core/src/rentals/model/rental.fixture.ts';
import type { Rental } from '../../packages/core/src/rentals/model/rental.ts';
import { requestReservation } from '../../packages/core/src/rentals/order/reservation-requests.service.ts';
import { attachVolume, detachVolume } from '../../packages/core/src/volumes/actions/attach.service.ts';
import { deleteVolume } from '../../packages/core/src/volumes/actions/lifecycle.service.ts';
import { restoreSnapshot } from '../../packages/core/src/volumes/actions/snapshot-restore.service.ts';
import { createSnapshot } from '../../packages/core/src/volumes/actions/snapshots.service.ts';
import { createVolumeHarness, type VolumeHarness } from '../../packages/core/src/volumes/volumes.fixture.ts';
import { auditLedger, closeAll } from '../stack/ledger-audit.ts';

/**
 * Checks that the product emits every event type of the contract, and no others, on real tables and the real ledger with mock
 * engines. If this test fails for a new type, nothing emits it yet.
 */

const names = testNames();
const channels = eventChannels(names.natsPrefix);
const cause = systemAuditContext('test', 'live');
let rentals: RentalHarness;
let volumes: VolumeHarness;
let nats: NatsClient;

beforeAll(async () => {
  [rentals, volumes, nats] = await Promise.all([
    createRentalHarness({ lookEveryMs: 0 }),
    createVolumeHarness(),
    connectTestNats(),
  ]);
  await ensureEventStream(nats, channels, { replicas: 1, maxAgeMs: HOUR_MS, maxBytes: 10_000_000 });
});

// The excepted checks fail because the tenants' money has no payment and an inserted rental with a volume has no meter.
afterAll(() =>
  closeAll([
    () => Promise.all([rentals.drop(), volumes.drop(), nats.close()]),
    () => auditLedger(volumes.db, { except: ['top_up_has_payment', 'thing_has_meter'] }),
    () => auditLedger(rentals.db, { except: ['top_up_has_payment'] }),
  ]),
);

const end = (tenant: Tenant, rental: Rental) =>
  rentals.run((tx) =>
    terminateRental(tx, tenant.orgId, rental.id, { reason: 'done', actor: tenant.call('live').cause.actor }),
  );

/** A reserved term that ends, and two rentals that the engine cannot create. */
async function terms(): Promise<void> {
  await rentals.offerTerm(1);
  const tenant = await rentals.tenant({ balanceUsd: 20_000 });
  const rental = await startRunningRental(rentals, tenant, {
    termType: 'reserved',
    termPeriodDays: 1,
    convertToOnDemandOnExpiry: true,
  });
  const endsAt = later(rental.startedAt, DAY_MS);
  await advanceUntil(rentals, rental, later(endsAt, -30 * MINUTE_MS));
  await advanceUntil(rentals, rental, endsAt);
  await end(tenant, rental);
  await reconcileUntil(rentals, rental, { until: 'Terminated' });
  const broken = withDriver(rentals, () => ({
    create: () => Promise.reject(new DriverError('failed', 'no machine today')),
  }));
  for (const order of [rentals.rent(tenant, 'live'), rentals.rentInstance(tenant)]) {
    await reconcileUntil(broken, await order, { until: 'Failed' });
  }
}

/** Silent engines under a rental and an instance; the instance's TTL ends after the engines are back. */
async function silence(): Promise<void> {
  const tenant = await rentals.tenant();
  const reconciler = createInventoryReconciler(rentals);
  await rentals.watch();
  const instance = await reconcileUntil(rentals, await rentals.rentInstance(tenant, { ttlSeconds: 7_200 }), {
    until: 'Running',
  });
  await startRunningRental(rentals, tenant);
  const { live, market } = rentals.engines;
  await advanceComparing(rentals, reconciler, 20 * SECOND_MS);
  for (const { controls } of [live, market]) controls.silenceEngine();
  await advanceComparing(rentals, reconciler, 120 * SECOND_MS);
  for (const { controls } of [live, market]) controls.heal();
  await advanceComparing(rentals, reconciler, 20 * SECOND_MS);
  await advanceUntil(rentals, instance, later(instance.expiresAt, -30 * MINUTE_MS));
  await end(tenant, instance);
  await reconcileUntil(rentals, instance, { until: 'Terminated' });
}

/** A wallet and a budget that run out, and maintenance of the machine at the same time. */
async function hours(): Promise<void> {
  const poor = await rentals.tenant({ balanceUsd: 14 });
  const bounded = await rentals.tenant();
  const rental = await startRunningRental(rentals, poor);
  await startRunningRental(rentals, bounded);
  await rentals.run((tx) =>
    createBudget(tx, {
      ...{ orgId: bounded.orgId, mode: 'live', name: 'all', keyIds: null, limit: usd(5), period: 'total' },
      thresholdsPercent: [50, 100],
      onExceeded: 'notify',
    }),
  );
  const [machine] = await rentals.rows<{ node_id: string }>(
    `select node_id from rental_machines where rental_id = '${toUuid(rental.id)}'`,
  );
  const startMs = rentals.clock.nowMs();
  await rentals.run((tx) =>
    announceMaintenance(tx, cause, {
      nodeIds: [fromUuid('nod', machine?.node_id ?? expect.fail('The rental has no machine.'))],
      startsAt: new Date(startMs + HOUR_MS),
      endsAt: new Date(startMs + 2 * HOUR_MS),
      summary: 'new fans',
      drainBeforeMs: 0,
    }),
  );
  for (let passed = 0; passed < 5 * HOUR_MS; passed += 10 * MINUTE_MS) {
    await rentals.advance(10 * MINUTE_MS);
    await rentals.sweepMeters();
    await sweepMaintenance(rentals.db, { log: testLog() });
  }
  await reconcileToIdle(rentals, rental);
}

async function actions(): Promise<void> {
  const tenant = await rentals.tenant();
  const keys = createApiKeyService({ announce: () => undefined });
  await rentals.run((tx) => keys.revoke(tx, tenant.call('live'), tenant.keys.test));
  await rentals.run((tx) => requestReservation(tx, tenant.call('live'), 512));
  await rentals.run((tx) =>
    grantCredit(tx, cause, tenant.orgId, {
      amount: usd(5),
      reason: 'welcome',
      causeId: uniqueId(),
      burnOf: readBurnRate,
    }),
  );
}

async function machines(): Promise<void> {
  const { clusterId } = rentals.engines.market;
  await rentals.rows(
    `update clusters set supplier_org_id = '${toUuid(rentals.supplierOrgId)}' where id = '${toUuid(clusterId)}'`,
  );
  const [node] = await listNodes(rentals.db, { clusterId }, { limit: 1, after: null });
  const { id } = node ?? expect.fail('The market has no machine.');
  const actor = { kind: 'operator', id: 'somebody' } as const;
  for (const to of ['node_quarantined', 'node_ready', 'node_offline'] as const) {
    await rentals.run((tx) => transitionNode(tx, id, to, { reason: 'to be told', actor }));
  }
}

/** Restores a snapshot in place, once with the snapshot present and once after the storage node lost it. */
async function restoreTwice(
  tenant: Awaited<ReturnType<VolumeHarness['tenant']>>,
  wireId: number,
): Promise<void> {
  const { id: snapshotId } = await volumes.run((tx) => createSnapshot(tx, tenant.call(), wireId, undefined));
  await volumes.settle();
  for (const isLost of [false, true]) {
    if (isLost) volumes.backend.snapshotContents.clear();
    await volumes.run((tx) =>
      restoreSnapshot(tx, tenant.call(), { wireId, snapshotId }, { into: 'same-volume' }),
    );
    await volumes.settle();
  }
}

async function volumeAndInvoice(): Promise<void> {
  const tenant = await volumes.tenant();
  const volume = await volumes.active(tenant);
  const rental = await volumes.rental(tenant);
  const which = { storageVolumeId: volume.wireId, rentalIds: [rental.wireId] };
  await volumes.run((tx) => attachVolume(tx, tenant.call(), which));
  await volumes.run((tx) => detachVolume(tx, tenant.call(), which));
  await volumes.settle();
  await restoreTwice(tenant, volume.wireId);
  await volumes.run((tx) => deleteVolume(tx, tenant.call(), volume.wireId));
  await volumes.clock.advance(77 * HOUR_MS);
  await volumes.settle();
  await volumes.sweepMeters();
  await volumes.clock.advance(40 * DAY_MS);
  const sweep = { log: testLog(), limit: 100, issuer: 'Example Cloud' };
  while ((await makeDueInvoices(volumes.db, sweep)) > 0);
}

/** Lets a relay move the outbox to the feeds and returns the event types of all feeds, parsed with the contract. */
async function feedOf(db: Db, rows: <Row>(text: string) => Promise<Row[]>): Promise<readonly string[]> {
  // No process handles commands here.
  await rows(`delete from outbox where kind = 'command'`);
  const log = testLog('relay');
  const relay = await startRelay({
    ...{ db, clock: systemClock, log, channels, nats, holder: uniqueId() },
    restate: createRestateIngress({ url: testEndpoints().restate.ingressUrl, prefix: names.natsPrefix }),
  });
  const feed = createFeed({ db, clock: systemClock, log, channels, nats });
  try {
    await eventually(
      { what: 'the outbox to be empty' },
      async () => (await rows(`select from outbox`)).length === 0,
    );
    const heads = await rows<{ org_id: string }>('select org_id from event_heads');
    const found = await Promise.all(heads.map(({ org_id }) => typesIn(fromUuid('org', org_id))));
    return found.flat();
  } finally {
    await relay.stop();
    await feed.close();
  }

  async function typesIn(orgId: OrgId): Promise<readonly string[]> {
    const types: string[] = [];
    for (let after = 0; ;) {
      const { events, more } = await feed.page(orgId, { after, limit: 200, mode: 'live' });
      types.push(...events.map((event) => eventEnvelope.parse(toWireEvent(event)).type));
      after = events.at(-1)?.seq ?? after;
      if (!more) return types;
    }
  }
}

describe('event types of the contract', () => {
  test('are all emitted and appear in the feed in the format of the contract', async () => {
    for (const step of [terms, silence, hours, actions, machines, volumeAndInvoice]) await step();
    const seen = new Set([
      ...(await feedOf(rentals.db, (text) => rentals.rows(text))),
      ...(await feedOf(volumes.db, (text) => volumes.rows(text))),
    ]);
    expect(eventTypeNames.filter((type) => !seen.has(type))).toEqual([]);
    expect([...seen].filter((type) => !(eventTypeNames as readonly string[]).includes(type))).toEqual([]);
  });
});
