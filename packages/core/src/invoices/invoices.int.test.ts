import { createDb } from '@millrace/platform/db';
import { createIdSource, toUuid } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import { nanoUsd } from '@millrace/platform/money';
import {
  createTenant,
  hybridClock,
  longDbTimeouts,
  insertFleet,
  insertRentals,
  TEST_START_MS,
  uniqueId,
  failingLoop,
  poisonRows,
  type Poison,
} from '@millrace/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MONTH_CLOSED_AFTER_MS, monthAfter } from '../ledger/index.ts';
import { parseCsv } from './csv.fixture.ts';
import { createInvoiceHarness, HOUR_MS, issuer, usd, type InvoiceHarness } from './invoices.fixture.ts';

let harness: InvoiceHarness;
const january = new Date(TEST_START_MS);
const february = monthAfter(january);
const march = monthAfter(february);
const april = monthAfter(march);
const closing = (end: Date): Date => new Date(end.getTime() + MONTH_CLOSED_AFTER_MS);
const after = (at: Date, ms: number): Date => new Date(at.getTime() + ms);

beforeEach(async () => {
  harness = await createInvoiceHarness();
});
afterEach(() => harness[Symbol.asyncDispose]());

describe('invoice', () => {
  it('is made once per month with costs, after the month is closed', async () => {
    const [busy, idle, brief] = [
      await harness.organisation(),
      await harness.organisation(),
      await harness.organisation(),
    ];
    await harness.charge(busy, usd(3));
    await harness.goTo(after(closing(february), -1));
    await harness.sweep();
    expect(await harness.invoicesOf(busy)).toEqual([]);
    await harness.charge(busy, usd(4));
    await harness.charge(brief, usd(5));
    await harness.goTo(closing(february));
    await harness.sweep();
    await harness.sweep();
    expect(await harness.invoicesOf(busy)).toMatchObject([
      { periodStart: january, periodEnd: february, total: usd(3), issuer, number: 1n },
    ]);
    expect(await harness.invoicesOf(brief)).toEqual([]);
    await harness.goTo(closing(april));
    await harness.sweep();
    expect((await harness.invoicesOf(busy)).map(({ total }) => total)).toEqual([usd(3), usd(4)]);
    expect(await harness.invoicesOf(brief)).toMatchObject([{ periodStart: february, total: usd(5) }]);
    expect(await harness.invoicesOf(idle)).toEqual([]);
    expect(await harness.drift()).toEqual([]);
  });

  it('has a line per resource and unit, including credits and refunds', async () => {
    const orgId = await harness.organisation();
    const inference = { kind: 'inference', id: uniqueId() };
    const usage = { requests: 2, promptTokens: 100, completionTokens: 11, model: 'meta/llama' };
    await harness.charge(orgId, usd(1), { cause: inference, usage });
    await harness.charge(orgId, usd(0.5), { cause: { kind: 'inference', id: uniqueId() }, usage });
    const stored = { cause: { kind: 'volume', id: '12' }, usage: { gbMs: 90 * HOUR_MS } };
    const refunded = await harness.charge(orgId, usd(2), stored);
    await harness.charge(orgId, usd(7), { cause: { kind: 'rental', id: '42' } });
    await harness.apply({
      do: 'refund',
      orgId,
      mode: 'live',
      cause: { kind: 'operator', id: uniqueId() },
      step: 'refund',
      transferId: refunded,
      amount: usd(0.25),
      description: 'Goodwill',
    });
    await harness.goTo(closing(february));
    await harness.sweep();
    const [invoice] = await harness.invoicesOf(orgId);
    expect(invoice?.lines).toEqual([
      {
        description: 'Model meta/llama: tokens',
        cause: { kind: 'model', id: 'meta/llama' },
        quantity: '222',
        unit: 'tokens',
        amount: usd(1.5),
      },
      {
        description: 'Rental 42: remaining term',
        cause: { kind: 'rental', id: '42' },
        quantity: '1',
        unit: 'items',
        amount: usd(7),
      },
      {
        description: 'Volume 12: storage',
        cause: { kind: 'volume', id: '12' },
        quantity: '90',
        unit: 'GB-hours',
        amount: usd(2),
      },
      {
        description: 'Volume 12: refund',
        cause: { kind: 'volume', id: '12' },
        quantity: '1',
        unit: 'items',
        amount: usd(-0.25),
      },
    ]);
    expect(invoice?.total).toBe(usd(10.25));
  });

  it('includes usage of its month that is posted within three hours after it, and no other', async () => {
    const [onTime, late] = [await harness.organisation(), await harness.organisation()];
    const rate = nanoUsd(3_600_000_007n);
    const meters = [await harness.rent(onTime, rate), await harness.rent(late, rate)] as const;
    await harness.goTo(after(february, -20 * 60_000));
    await harness.sweepMeters();
    await harness.goTo(after(february, 10 * 60_000));
    // One meter is posted now, the other only after the month stopped accepting usage.
    await harness.close(meters[0], harness.clock.now());
    await harness.goTo(after(february, 3 * HOUR_MS));
    await harness.close(meters[1], after(february, 10 * 60_000));
    await harness.goTo(closing(march));
    await harness.sweep();
    const hours = async (orgId: typeof late) =>
      (await harness.invoicesOf(orgId)).map(({ lines }) => lines.map(({ quantity }) => quantity));
    expect(await hours(onTime)).toEqual([[`${31 * 24 * 8}`], ['1.333333333']]);
    expect(await hours(late)).toEqual([[(31 * 24 * 8 - 8 / 3).toFixed(9)], ['4']]);
    expect(await harness.drift()).toEqual([]);
  });

  it('emits one event with its number and total', async () => {
    const orgId = await harness.organisation();
    await harness.charge(orgId, usd(3));
    await harness.goTo(closing(february));
    await Promise.all([harness.sweep(), harness.sweep()]);
    const [invoice] = await harness.invoicesOf(orgId);
    const events = await harness.rows<{ payload: { data: object } }>(
      `select payload from outbox where org_id = '${toUuid(orgId)}' and type = 'invoice.finalized'`,
    );
    expect(events).toHaveLength(1);
    expect(JSON.stringify(events)).toContain(invoice?.id);
    expect(JSON.stringify(events)).toContain('INV-00000001');
    expect(JSON.stringify(events)).toContain('"totalNanoUsd":"3000000000"');
  });
});

describe('invoice numbers', () => {
  it('have no gaps with concurrent workers, and each organisation has one invoice', async () => {
    const orgs = [];
    for (let index = 0; index < 12; index += 1) {
      const orgId = await harness.organisation();
      await harness.charge(orgId, nanoUsd(BigInt(index + 1)));
      orgs.push(orgId);
    }
    await harness.goTo(closing(february));
    const log = createLogger({ name: 'other', level: 'silent' });
    const others = [2, 3].map((cell) =>
      createDb({
        ...longDbTimeouts,
        url: harness.database.url,
        poolSize: 3,
        clock: hybridClock(harness.clock),
        ids: createIdSource({ clock: harness.clock, cell }),
        log,
      }),
    );
    await Promise.all([harness.db, ...others].flatMap((db) => [harness.sweep(5, db), harness.sweep(4, db)]));
    await Promise.all(others.map((db) => db.close()));
    const made = (await Promise.all(orgs.map((orgId) => harness.invoicesOf(orgId)))).flat();
    expect(made.map(({ number }) => Number(number)).toSorted((a, b) => a - b)).toEqual(
      orgs.map((_, index) => index + 1),
    );
    expect(made.map(({ total }) => total)).toEqual(orgs.map((_, index) => BigInt(index + 1)));
    expect(await harness.drift()).toEqual([]);
  });

  it('are released if a worker dies between number and invoice', async () => {
    const orgId = await harness.organisation();
    await harness.charge(orgId, usd(3));
    await harness.goTo(closing(february));
    const dying = await harness.database.connect();
    const killer = await harness.database.connect();
    dying.on('error', () => undefined);
    await dying.query('begin');
    await dying.query('update invoice_counter set last_number = last_number + 1');
    const waiting = harness.sweep();
    const { rows } = await dying.query<{ pid: number }>('select pg_backend_pid() as pid');
    await killer.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
    await waiting;
    await killer.end();
    expect((await harness.invoicesOf(orgId)).map(({ number }) => number)).toEqual([1n]);
  });

  it('and invoices cannot be changed or skipped, even by the database owner', async () => {
    const orgId = await harness.organisation();
    await harness.charge(orgId, usd(3));
    await harness.goTo(closing(february));
    await harness.sweep();
    const owner = await harness.database.connect();
    const next = `select gen_random_uuid(), org_id, mode, number + 1, period_end, period_end + interval '1 month'`;
    for (const statement of [
      'update invoice_counter set last_number = last_number + 1',
      'update invoice_counter set last_number = last_number + 2',
      'update invoice_counter set last_number = last_number - 1',
      'delete from invoice_counter',
      'truncate invoice_counter',
      'update invoices set total_nano_usd = total_nano_usd',
      'delete from invoices',
      'truncate invoices',
      // The number after the counter, and lines that do not sum to the total.
      `insert into invoices ${next}, total_nano_usd, lines, billed_to, issuer, now() + interval '1 year' from invoices`,
      `with counted as (update invoice_counter set last_number = last_number + 1)
       insert into invoices ${next}, 7, lines, billed_to, issuer, now() + interval '1 year' from invoices`,
    ]) {
      await expect(owner.query(statement), statement).rejects.toThrow();
    }
    await owner.end();
    expect(await harness.invoicesOf(orgId)).toMatchObject([{ number: 1n, total: usd(3) }]);
  });
});

describe(failingLoop('make invoices'), () => {
  it.each<Poison>(['throws', 'times out'])(
    'whose write %s does not delay the invoices of other organisations, and is made later',
    async (how) => {
      const [broken, sound] = [await harness.organisation(), await harness.organisation()];
      await harness.charge(broken, usd(1));
      await harness.charge(sound, usd(2));
      await harness.goTo(closing(february));
      const when = `new.org_id = '${toUuid(broken)}'`;
      const removeFault = await poisonRows(harness.database, { table: 'invoices', when, how });
      await harness.sweep(1);
      expect([await harness.invoicesOf(broken), (await harness.invoicesOf(sound)).length]).toEqual([[], 1]);
      await removeFault();
      await harness.clock.advance(HOUR_MS);
      await harness.sweep(1);
      const numbers = [...(await harness.invoicesOf(broken)), ...(await harness.invoicesOf(sound))].map(
        ({ number }) => number,
      );
      expect(numbers).toEqual([2n, 1n]);
      expect(await harness.drift()).toEqual([]);
    },
  );
});

it('the cost export has names and regions of resources', async () => {
  const { orgId, ownerId: userId } = await createTenant(harness.db);
  const { clusterId, nodeIds } = await insertFleet(harness.db, { nodes: 1 });
  const [rental] = await insertRentals(harness.db, {
    orgId,
    userId,
    clusterId,
    nodeIds,
    live: 0,
    ended: 1,
    brief: true,
  });
  if (rental === undefined) throw new Error('no rental');
  await harness.grant(orgId, usd(10));
  const usage = { gpuMs: 3_600_000 };
  await harness.charge(orgId, usd(1), { cause: { kind: 'rental', id: String(rental.wireId) }, usage });
  await harness.charge(orgId, usd(1), { cause: { kind: 'rental', id: 'of-nobody' }, usage });
  const rows = parseCsv(await harness.exported(orgId, january, february));
  const name = `rental-${rental.wireId}`;
  expect(
    rows
      .filter(({ BilledCost }) => BilledCost === '1.00')
      .map(({ ResourceId, ResourceName, RegionId }) => [ResourceId, ResourceName, RegionId !== null]),
  ).toEqual([
    ['rental/of-nobody', null, false],
    [`rental/${rental.wireId}`, name, true],
  ]);
});
