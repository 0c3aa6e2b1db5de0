import { grantCredit } from '@millrace/core/billing';
import { issueKey } from '../../../packages/core/src/identity/keys/api-keys.service.ts';
import { unlimitedKeyLimits, systemAuditContext } from '../../../packages/core/src/identity/index.ts';
import { announceMaintenance } from '../../../packages/core/src/fleet/maintenance/maintenance.service.ts';
import { listNodes } from '@millrace/core/fleet';
import { readBurnRate } from '@millrace/core/metering';
import {
  createCreditLeaseService,
  type CreditLeaseService,
} from '../../../packages/core/src/credit-leases/lender/leases.service.ts';
import type { LeaseRules } from '../../../packages/core/src/credit-leases/lender/lease-ledger.ts';
import { reconcileUntil } from '../../../packages/core/src/rentals/reconcile/reconcile.fixture.ts';
import {
  createRentalHarness,
  DAY_MS,
  HOUR_MS,
  MINUTE_MS,
  usd,
  type RentalHarness,
} from '../../../packages/core/src/rentals/model/rental.fixture.ts';
import type { Rental } from '../../../packages/core/src/rentals/model/rental.ts';
import { deleteVolume } from '../../../packages/core/src/volumes/actions/lifecycle.service.ts';
import {
  createVolumeHarness,
  type VolumeHarness,
} from '../../../packages/core/src/volumes/volumes.fixture.ts';
import { systemClock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { fromUuid, toUuid, type OrgId, type UserId } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import { databaseWithClock, startValkeyServer, testIds, uniqueId, type TestValkey } from '@millrace/testing';

/** Tenants with resources that time charges, ends or deletes: due within minutes, hours or weeks. */
export interface ClockHarness {
  readonly rentals: RentalHarness;
  readonly volumes: VolumeHarness;
  readonly leaseService: CreditLeaseService;
  readonly leaseRules: LeaseRules;
  liveRentals(): Promise<readonly Pick<Rental, 'orgId' | 'id'>[]>;
  /** A database whose transactions use the wall clock of the process: the defect that this simulation must find. */
  atProcessTime(db: Db): Db;
  advance(ms: number): Promise<void>;
  drop(): Promise<void>;
}

const log = createLogger({ name: 'clocks', level: 'silent' });
const cause = systemAuditContext('test', 'live');
/** Due times after the start, chosen between the clock offsets that the simulation tries. */
const DUE_MS = [
  10 * MINUTE_MS,
  35 * MINUTE_MS,
  5 * HOUR_MS,
  20 * HOUR_MS,
  3 * DAY_MS,
  30 * DAY_MS,
  60 * DAY_MS,
];

const leaseRules: LeaseRules = {
  leaseMs: 30 * MINUTE_MS,
  longestRequestMs: 10 * MINUTE_MS,
  deadAfterMs: 38 * MINUTE_MS,
  outageMs: MINUTE_MS,
  least: 100n,
  sharePercent: 50,
  growthPauseMs: 5_000,
};

export async function createClockHarness(): Promise<ClockHarness> {
  const rentals = await createRentalHarness();
  const volumes = await createVolumeHarness();
  const valkey = await startValkeyServer();
  const leaseService = createCreditLeaseService({
    ...{ db: rentals.db, valkey: valkey.client, cell: 1, clock: systemClock, log, rules: leaseRules },
  });
  const harness: ClockHarness = {
    rentals,
    volumes,
    leaseService,
    leaseRules: leaseRules,
    liveRentals: async () => {
      const rows = await rentals.rows<{ org_id: string; id: string }>(
        `select org_id, id from rentals where status not in ('Terminated', 'Failed') order by id`,
      );
      return rows.map((row) => ({ orgId: fromUuid('org', row.org_id), id: fromUuid('rnt', row.id) }));
    },
    atProcessTime: (db) => databaseWithClock(db, systemClock),
    advance: async (ms) => {
      await rentals.advance(ms);
      await volumes.clock.advance(Math.max(0, rentals.clock.nowMs() - volumes.clock.nowMs()));
    },
    drop: () => dropAll(rentals, volumes, valkey),
  };
  await insertRentals(rentals);
  await insertMoney(harness);
  await insertExpiringRows(rentals);
  await insertVolumes(volumes);
  await harness.advance(0);
  return harness;
}

async function dropAll(rentals: RentalHarness, volumes: VolumeHarness, valkey: TestValkey): Promise<void> {
  await rentals.drop();
  await volumes.drop();
  await valkey[Symbol.asyncDispose]();
}

/** Rentals of a rich and a poor tenant, with a term, with a TTL, and on nodes with upcoming maintenance. */
async function insertRentals(rentals: RentalHarness): Promise<void> {
  await rentals.offerTerm(1);
  const rich = await rentals.tenant({ balanceUsd: 200_000 });
  const poor = await rentals.tenant({ balanceUsd: 100 });
  const orders = [
    await rentals.rent(rich, 'live'),
    await rentals.rent(poor, 'live'),
    await rentals.rent(rich, 'live', { termType: 'reserved', termPeriodDays: 1 }),
    await rentals.rentInstance(rich, { ttlSeconds: 7_200 }),
  ];
  for (const order of orders) await reconcileUntil(rentals, order, { until: 'Running' });
  const nodes = await listNodes(
    rentals.db,
    { clusterId: rentals.engines.live.clusterId },
    { limit: 4, after: null },
  );
  const startMs = rentals.clock.nowMs();
  for (const [index, { id }] of nodes.entries()) {
    const startsMs = startMs + (DUE_MS[index * 2] ?? DAY_MS);
    await rentals.run((tx) =>
      announceMaintenance(tx, cause, {
        ...{ nodeIds: [id], summary: 'new fans', drainBeforeMs: 0 },
        startsAt: new Date(startsMs),
        endsAt: new Date(startsMs + HOUR_MS),
      }),
    );
  }
}

/** Promotional credit and keys that expire, a payment in progress, and credit leases of two gateways. */
async function insertMoney({ rentals, leaseService }: ClockHarness): Promise<void> {
  const tenant = await rentals.tenant({ balanceUsd: 1_000 });
  for (const dueMs of DUE_MS) {
    const expiresAt = new Date(rentals.clock.nowMs() + dueMs);
    await rentals.run((tx) =>
      grantCredit(tx, cause, tenant.orgId, {
        ...{ amount: usd(1), reason: 'welcome', causeId: uniqueId(), burnOf: readBurnRate },
        promo: { priority: 1, expiresAt },
      }),
    );
    await rentals.run((tx) =>
      issueKey(tx, cause, {
        ...{ orgId: tenant.orgId, userId: tenant.userId as UserId, name: 'for a while' },
        rights: {
          mode: 'live',
          scopes: ['rentals:read'],
          limits: unlimitedKeyLimits,
          allowedIps: [],
          expiresAt,
        },
      }),
    );
  }
  await insertPayment(rentals, tenant.orgId);
  for (const gateway of ['one', 'two']) {
    await leaseService.lease({
      ...{ orgId: tenant.orgId, mode: 'live', cell: 1, gatewayId: `gw-${gateway}`, seen: null },
      ...{ shortage: 1_000_000_000n, wanted: 1_000_000_000n, budgets: [] },
    });
  }
}

/** A payment without a Checkout page: it can be opened for a while and then expires. */
async function insertPayment(rentals: RentalHarness, orgId: OrgId): Promise<void> {
  const at = rentals.clock.now().toISOString();
  await rentals.rows(
    `insert into payments (id, org_id, mode, provider, amount_nano_usd, state, success_url, cancel_url, created_at, next_check_at)
     values ('${toUuid(testIds.next('pay'))}', '${toUuid(orgId)}', 'live', 'stripe', 1000000000, 'created', 'https://a.example',
             'https://a.example', '${at}', '${at}')`,
  );
}

async function insertExpiringRows(rentals: RentalHarness): Promise<void> {
  const { orgId, userId } = await rentals.tenant();
  const startMs = rentals.clock.nowMs();
  const org = `'${toUuid(orgId)}'`;
  for (const dueMs of DUE_MS) {
    const at = `'${new Date(startMs + dueMs).toISOString()}'::timestamptz`;
    await rentals.rows(
      `insert into idempotency_keys (org_id, key, operation_row_id, operation_id, request_hash, mode, actor, status, created_at, expires_at)
       values (${org}, '${uniqueId()}', gen_random_uuid(), 'test', sha256('x'), 'live', '{"kind":"system","id":"test"}', 200,
               ${at} - interval '1 day', ${at})`,
    );
    await rentals.rows(
      `insert into sessions (id, user_id, token, expires_at) values (gen_random_uuid(), '${toUuid(userId)}',
               encode(sha256('${uniqueId()}'), 'hex'), ${at})`,
    );
    await rentals.rows(
      `insert into inference_checkpoints (request_id, org_id, mode, lease_id, gateway_id, amount_nano_usd, event, recorded_at)
       values (gen_random_uuid(), ${org}, 'live', gen_random_uuid(), 'gw-old', 0, '{}', ${at} - interval '30 days')`,
    );
    await rentals.rows(
      `insert into webhooks (id, org_id, mode, url, description, event_types, status, secret_sealed, created_by, created_at, updated_at, deleted_at,
                             disabled_by, disabled_reason, disabled_at)
       values ('${toUuid(testIds.next('whk'))}', ${org}, 'live', 'https://a.example/${uniqueId()}', '', '{*}', 'disabled', 'x',
               '${toUuid(userId)}', ${at} - interval '1 day', ${at}, ${at} - interval '1 hour', 'person', 'deleted', ${at})`,
    );
  }
}

/** A deleted volume, one with a spending limit, and one of a tenant whose money runs out. */
async function insertVolumes(volumes: VolumeHarness): Promise<void> {
  const rich = await volumes.tenant(10_000);
  const poor = await volumes.tenant(2);
  const deleted = await volumes.active(rich);
  await volumes.active(rich, { maxUsd: usd(5) });
  await volumes.active(rich);
  await volumes.active(poor);
  await volumes.run((tx) => deleteVolume(tx, rich.call(), deleted.wireId));
  await volumes.settle();
}
