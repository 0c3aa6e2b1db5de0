import { createDb, type Tx } from '@millrace/platform/db';
import { createIdSource, type OrgId } from '@millrace/platform/ids';
import { ppm } from '@millrace/platform/money';
import { outboxShards } from '@millrace/platform/outbox';
import { createOrganisation, createRandom, createTestDatabase, testClock, testLog } from '@millrace/testing';
import { afterAll, expect, it } from 'vitest';
import { changeMeters, openMeters, sweepMeters, type Meter, type MeterSpec } from '../metering/index.ts';
import { findingsOf } from './checks/audit-report.ts';
import { runAudit } from './auditor.service.ts';
import { apply, grant, usd } from './audited-ledger.fixture.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const clock = testClock();
const database = await createTestDatabase();
const ids = createIdSource({ clock, cell: 1 });
const db = createDb({ url: database.url, poolSize: 4, clock, ids, log: testLog() });
afterAll(async () => {
  await db.close();
  await database.drop();
});

const run = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
  db.transaction({ name: 'test', isolation: 'read committed' }, work);

/** Meters of every kind on a wallet that soon runs out, so that the operator absorbs some charges and returns some. */
async function openAll(orgId: OrgId, supplierId: OrgId): Promise<readonly Meter[]> {
  const at = clock.now();
  const later = new Date(at.getTime() + 8 * HOUR_MS);
  const committed = { kind: 'committed', termEndsAt: later, refund: ppm(300_000) } as const;
  const request = (nth: number, fields: Partial<MeterSpec>): MeterSpec => ({
    mode: 'live',
    cause: { kind: 'rental', id: `${orgId}-${nth}` },
    name: 'gpu',
    product: 'rental',
    ratePerHour: usd(1),
    quantity: 2,
    unit: 'gpu',
    funding: { kind: 'ahead' },
    at,
    ...fields,
  });
  return run((tx) =>
    openMeters(tx, orgId, [
      request(1, {}),
      request(2, { supplier: { orgId: supplierId, ratePerHour: usd(0.7) } }),
      request(3, { funding: committed }),
      request(4, { ratePerHour: usd(0.333_333_333), funding: { kind: 'ahead', retentionMs: HOUR_MS } }),
    ]),
  );
}

it.each([1, 2, 3])(
  'runAudit finds no drift in a ledger of meters, also after the money ends: seed %i',
  async (seed) => {
    const random = createRandom(seed);
    const supplierId = await createOrganisation(db);
    const orgId = await createOrganisation(db);
    await apply(db, grant(orgId, usd(random.int(15, 25))));
    const meters = await openAll(orgId, supplierId);
    for (let step = 0; step < 25; step += 1) {
      await clock.advance(random.int(1, 50 * MINUTE_MS));
      const meter = random.pick(meters);
      const at = new Date(clock.nowMs() - random.int(0, 40 * MINUTE_MS));
      const action = random.weighted([
        [6, 'sweep'],
        [2, 'pause'],
        [2, 'resume'],
        [step > 10 ? 1 : 0, 'close'],
      ] as const);
      if (action === 'sweep') {
        await sweepMeters(db, { shards: [...Array(outboxShards).keys()], log: testLog() });
      } else await run((tx) => changeMeters(tx, orgId, [{ do: action, meterId: meter.id, at }]));
      if (step % 5 === 4) {
        const report = await runAudit(db, { kind: 'full' });
        expect(report && findingsOf(report, 'error')).toEqual([]);
      }
    }
  },
);
