import { fromUuid, toUuid } from '@millrace/platform/ids';
import { meteredTotal, nanoUsd, ppm, subtractUsd } from '@millrace/platform/money';
import {
  databaseWithClock,
  explainGenericPlan,
  insertFleet,
  insertRentals,
  recordStatements,
  TEST_START_MS,
  uniqueId,
  failingLoop,
  poisonRows,
  type Poison,
} from '@millrace/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { monthAfter, monthOf } from '../../ledger/index.ts';
import { sumSupplierAccrual } from '../../metering/index.ts';
import {
  createSupplierMoneyHarness,
  HOUR_MS,
  seedInstance,
  quiet,
  usd,
  type SupplierMoneyHarness,
} from './earnings.fixture.ts';
import { sumEarnings } from './earnings.store.ts';
import { supplierRate } from './supplier-fee.ts';
import { STATEMENT_DELAY_MS } from './statements.ts';
import { writeDueStatements } from './statements.service.ts';
import { findStatement, listStatements } from './statements.store.ts';

let harness: SupplierMoneyHarness;
const january = new Date(TEST_START_MS);
const february = monthAfter(january);
const march = monthAfter(february);

beforeEach(async () => {
  harness = await createSupplierMoneyHarness();
});
afterEach(() => harness[Symbol.asyncDispose]());

const sweepStatements = (now = harness.clock.now()): Promise<number> =>
  writeDueStatements(databaseWithClock(harness.db, now), { log: quiet, limit: 100 });
const goTo = (at: Date): Promise<void> => harness.pass(at.getTime() - harness.clock.nowMs());
const statementsOf = (orgId: Parameters<typeof listStatements>[1]) =>
  listStatements(harness.db, orgId, { limit: 50, after: null });

describe('writeDueStatements', () => {
  it('writes one statement for each month since approval, after the month is closed', async () => {
    const { orgId } = await harness.supplier();
    await goTo(new Date(february.getTime() + STATEMENT_DELAY_MS - 1));
    expect(await sweepStatements()).toBe(0);
    await goTo(new Date(february.getTime() + STATEMENT_DELAY_MS));
    await Promise.all([sweepStatements(), sweepStatements(), sweepStatements()]);
    expect(await sweepStatements()).toBe(0);
    expect(await statementsOf(orgId)).toMatchObject([{ periodStart: january, periodEnd: february, net: 0n }]);
  });

  it('writes missed months in order', async () => {
    const { orgId } = await harness.supplier();
    await goTo(new Date(Date.UTC(2026, 3, 2)));
    while ((await sweepStatements()) > 0);
    expect((await statementsOf(orgId)).map(({ periodStart }) => periodStart)).toEqual([
      march,
      february,
      january,
    ]);
    expect(monthOf(harness.clock.now())).toEqual(monthAfter(march));
  });

  it('states the ledger’s postings by machine, and all statements together equal the earnings', async () => {
    const { orgId: supplier } = await harness.supplier();
    const { orgId: tenant, userId } = await harness.tenant(5_000);
    const one = await seedInstance(harness.db, { tenant, userId, supplier });
    const two = await seedInstance(harness.db, { tenant, userId, supplier });
    const rate = nanoUsd(1_234_567_891n);
    const feePpm = 123_457;
    const long = await harness.rent(tenant, supplier, { rate, feePpm, gpus: 2, causeId: one.causeId });
    const brief = await harness.rent(tenant, supplier, { rate, feePpm, causeId: two.causeId });
    await harness.pass(5 * HOUR_MS + 7);
    // Detected late: the second machine failed after an hour.
    const diedAt = new Date(TEST_START_MS + HOUR_MS);
    await harness.change({ do: 'close', meterId: brief.id, at: diedAt }, tenant);
    await goTo(new Date(february.getTime() - 1));
    await goTo(new Date(february.getTime() + 5 * HOUR_MS));
    await sweepStatements();
    const [summary] = await statementsOf(supplier);
    const statement = summary && (await findStatement(harness.db, supplier, summary.id));
    const lineOf = (nodeId: string) => statement?.lines.find(({ machineId }) => machineId === nodeId);
    const hour = meteredTotal(rate, HOUR_MS);
    const earnedInHour = meteredTotal(supplierRate(rate, ppm(feePpm)), HOUR_MS);
    expect(lineOf(two.nodeId)).toEqual({
      machineId: two.nodeId,
      gpuSeconds: 3_600,
      gross: hour,
      fee: subtractUsd(hour, earnedInHour),
    });
    expect(lineOf(one.nodeId)?.gpuSeconds).toBe(2 * 744 * 3_600 - 1);
    await harness.change({ do: 'close', meterId: long.id, at: harness.clock.now() }, tenant);
    await goTo(new Date(march.getTime() + 5 * HOUR_MS));
    await sweepStatements();
    const all = await statementsOf(supplier);
    expect(all).toHaveLength(2);
    const { balance } = await harness.account(supplier);
    expect(all.reduce((sum, { net }) => sum + net, 0n)).toBe(balance);
    // These rentals were inserted without ledger entries, so check only the findings about suppliers.
    const drift = await harness.drift();
    expect(drift.filter((finding) => /^(statement|meter_split|meter_supplier|payout)/.test(finding))).toEqual(
      [],
    );
  });

  it('counts a refund in the month in which it was made', async () => {
    const { orgId: supplier } = await harness.supplier();
    const { orgId: tenant } = await harness.tenant(100);
    const meter = await harness.rent(tenant, supplier, { rate: usd(2), feePpm: 250_000 });
    await harness.pass(10 * HOUR_MS);
    await harness.change({ do: 'close', meterId: meter.id, at: harness.clock.now() }, tenant);
    const [charge] = await harness.rows<{ id: string; amount: bigint }>(
      `select id, -amount_nano_usd as amount from ledger_transfers
        where kind = 'charge' and org_id = '${toUuid(tenant)}' order by amount_nano_usd limit 1`,
    );
    if (charge === undefined) throw new Error('no charge');
    await goTo(new Date(february.getTime() + 5 * HOUR_MS));
    await sweepStatements();
    await harness.apply({
      do: 'refund',
      orgId: tenant,
      mode: 'live',
      cause: { kind: 'operator', id: uniqueId() },
      step: 'refund',
      transferId: fromUuid('trf', charge.id),
      amount: usd(4),
      description: 'Goodwill',
    });
    await goTo(new Date(march.getTime() + 5 * HOUR_MS));
    await sweepStatements();
    expect(await statementsOf(supplier)).toMatchObject([
      { periodStart: february, gross: usd(-4), fee: usd(-1), net: usd(-3) },
      { periodStart: january, gross: usd(20), fee: usd(5), net: usd(15) },
    ]);
    expect(await harness.drift()).toEqual([]);
  });
});

describe(failingLoop('write statements of suppliers'), () => {
  it.each<Poison>(['throws', 'times out'])(
    'whose write %s does not stop statements of other suppliers, even with one item per run',
    async (how) => {
      const [bad, good] = [await harness.supplier(), await harness.supplier()];
      const when = `new.org_id = '${toUuid(bad.orgId)}'`;
      const removeFault = await poisonRows(harness.database, { table: 'supplier_statements', when, how });
      await goTo(new Date(february.getTime() + STATEMENT_DELAY_MS));
      const one = () => writeDueStatements(harness.db, { log: quiet, limit: 1 });
      await one();
      await one();
      expect([await statementsOf(bad.orgId), (await statementsOf(good.orgId)).length]).toEqual([[], 1]);
      await removeFault();
      await goTo(new Date(harness.clock.nowMs() + HOUR_MS));
      await one();
      expect(await statementsOf(bad.orgId)).toHaveLength(1);
    },
  );
});

describe('sumEarnings and sumSupplierAccrual', () => {
  it('include only the given period and supplier', async () => {
    const [supplier, other] = [await harness.supplier(), await harness.supplier()];
    const { orgId: tenant } = await harness.tenant(100);
    await harness.rent(tenant, supplier.orgId, { rate: usd(1), feePpm: 100_000 });
    await harness.rent(tenant, other.orgId, { rate: usd(3), feePpm: 100_000 });
    await harness.pass(2 * HOUR_MS);
    const now = harness.clock.now();
    const earlier = { from: january, until: new Date(now.getTime() - 1) };
    expect(await sumEarnings(harness.db, supplier.orgId, earlier)).toEqual([]);
    const until = { from: january, until: new Date(now.getTime() + 1) };
    expect(await sumEarnings(harness.db, supplier.orgId, until)).toMatchObject([
      { machineId: null, earned: usd(1.8), fee: usd(0.2), gross: usd(2), gpuMs: BigInt(2 * HOUR_MS) },
    ]);
    const later = { from: new Date(now.getTime() + 1), until: new Date(now.getTime() + 2) };
    expect(await sumEarnings(harness.db, supplier.orgId, later)).toEqual([]);
  });

  it('return unposted earnings exactly to the nano-USD', async () => {
    const { orgId: supplier } = await harness.supplier();
    const { orgId: tenant } = await harness.tenant(100);
    const rate = nanoUsd(999_999_937n);
    await harness.rent(tenant, supplier, { rate, feePpm: 77_777 });
    await harness.pass(HOUR_MS + 11);
    expect(await sumSupplierAccrual(harness.db, supplier, harness.clock.now())).toBe(0n);
    await harness.clock.advance(1_234_567);
    const whole = meteredTotal(supplierRate(rate, ppm(77_777)), HOUR_MS + 11 + 1_234_567);
    const { balance } = await harness.account(supplier);
    expect((await sumSupplierAccrual(harness.db, supplier, harness.clock.now())) + balance).toBe(whole);
  });

  it('read by resources of the supplier, so their cost does not depend on its tenants’ other charges', async () => {
    const { orgId: supplier } = await harness.supplier();
    const { orgId: tenant, userId } = await harness.tenant(100);
    await harness.rent(tenant, supplier, { rate: usd(1), feePpm: 100_000 });
    await harness.pass(2 * HOUR_MS);
    const until = new Date(harness.clock.nowMs() + 1);
    const { clusterId, nodeIds } = await insertFleet(harness.db, { nodes: 1 });
    await insertRentals(harness.db, {
      orgId: tenant,
      userId,
      clusterId,
      nodeIds,
      live: 0,
      ended: 3_000,
      until,
    });
    const client = await harness.database.connect();
    await client.query('analyze');
    const sent = await recordStatements(() => sumEarnings(harness.db, supplier, { from: january, until }));
    const plans = await Promise.all(sent.map((statement) => explainGenericPlan(client, statement)));
    await client.end();
    // Inserted rentals have no entries, so that table stays small and may be read completely.
    const grown = new Set(['ledger_transfers', 'meters']);
    const read = plans.flat().filter((node) => grown.has(node['Relation Name'] ?? ''));
    expect(read.length).toBeGreaterThan(0);
    const tooMuch = read.filter((node) => {
      const passedOver = (node['Rows Removed by Filter'] ?? 0) * (node['Actual Loops'] ?? 1);
      return node['Node Type'] === 'Seq Scan' || passedOver > 100;
    });
    expect(tooMuch.map((node) => `${node['Node Type']} of ${node['Relation Name']}`)).toEqual([]);
  });
});
