import { nanoUsd } from '@millrace/platform/money';
import { TEST_START_MS, uniqueId } from '@millrace/testing';
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import type { TransferId } from '@millrace/platform/ids';
import { MONTH_CLOSED_AFTER_MS, monthAfter, type LedgerCommand } from '../ledger/index.ts';
import { parseCsv } from './csv.fixture.ts';
import { createInvoiceHarness, HOUR_MS, type InvoiceHarness } from './invoices.fixture.ts';

const harness = await createInvoiceHarness();
afterAll(() => harness[Symbol.asyncDispose]());

interface Step {
  readonly do: 'charge' | 'tokens' | 'rent' | 'close' | 'refund' | 'reverse' | 'adjust' | 'wait' | 'sweep';
  readonly amount: bigint;
  readonly pick: number;
  readonly hours: number;
}

const anyStep: fc.Arbitrary<Step> = fc.record({
  do: fc.constantFrom(
    ...([
      'charge',
      'tokens',
      'rent',
      'close',
      'refund',
      'reverse',
      'adjust',
      'wait',
      'wait',
      'sweep',
    ] as const),
  ),
  amount: fc.bigInt({ min: 1n, max: 9_999_999_999n }),
  pick: fc.nat(),
  hours: fc.constantFrom(0.01, 0.7, 1, 3, 26, 200, 400),
});

const toNano = (text: string): bigint => {
  const [whole = '', fraction = ''] = text.replace('-', '').split('.');
  const size = BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'));
  return text.startsWith('-') ? -size : size;
};

async function live(
  orgId: Awaited<ReturnType<InvoiceHarness['organisation']>>,
  steps: readonly Step[],
): Promise<void> {
  const charges: TransferId[] = [];
  const meters: Awaited<ReturnType<InvoiceHarness['rent']>>[] = [];
  const base = (kind: string) =>
    ({ orgId, mode: 'live', cause: { kind, id: uniqueId() }, step: 'act', description: 'Act' }) as const;
  for (const { do: what, amount: size, pick, hours } of steps) {
    const amount = nanoUsd(size);
    const undone = charges.length === 0 ? undefined : charges[pick % charges.length];
    const tried = async (command: LedgerCommand): Promise<void> => {
      // A refused command, such as a second reversal, has no effect.
      await harness.apply(command).catch(() => undefined);
    };
    if (what === 'charge') charges.push(await harness.charge(orgId, amount));
    else if (what === 'tokens') {
      const usage = { requests: 1, promptTokens: pick % 1000, model: `model-${pick % 3}` };
      charges.push(
        await harness.charge(orgId, amount, { cause: { kind: 'inference', id: uniqueId() }, usage }),
      );
    } else if (what === 'rent') meters.push(await harness.rent(orgId, amount));
    else if (what === 'close') {
      const meter = meters.pop();
      // Closes late: up to some hours of posted time are returned.
      if (meter !== undefined) {
        await harness.close(
          meter,
          new Date(Math.max(meter.openedAt.getTime(), harness.clock.nowMs() - hours * HOUR_MS)),
        );
      }
    } else if (what === 'refund' && undone !== undefined) {
      await tried({
        ...base('operator'),
        do: 'refund',
        transferId: undone,
        amount: nanoUsd((size % 1000n) + 1n),
      });
    } else if (what === 'reverse' && undone !== undefined) {
      await tried({ ...base('operator'), do: 'reverse', transferId: undone });
    } else if (what === 'adjust') {
      const from = [{ account: { kind: 'adjustments' }, amount }] as const;
      await tried({ ...base('operator'), do: 'credit', kind: 'adjustment', amount, from });
    } else if (what === 'wait') await harness.clock.advance(Math.round(hours * HOUR_MS));
    else if (what === 'sweep') await harness.sweepMeters();
  }
  for (const meter of meters) await harness.close(meter, harness.clock.now());
}

it('invoices, their lines, the cost export and the ledger agree to the nano-USD for any history', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 5, maxLength: 40 }), async (steps) => {
      const orgId = await harness.organisation();
      const started = harness.clock.now();
      await live(orgId, steps);
      const end = monthAfter(
        new Date(Date.UTC(harness.clock.now().getUTCFullYear(), harness.clock.now().getUTCMonth())),
      );
      await harness.goTo(new Date(end.getTime() + MONTH_CLOSED_AFTER_MS));
      await harness.sweep();
      const invoices = await harness.invoicesOf(orgId);
      for (const { periodStart, periodEnd, total, lines } of invoices) {
        expect(total).toBe(await harness.ledgerCost(orgId, periodStart, periodEnd));
        expect(lines.reduce((sum, { amount }) => sum + amount, 0n)).toBe(total);
      }
      const all = await harness.ledgerCost(orgId, new Date(TEST_START_MS - 1), end);
      expect(invoices.reduce((sum, { total }) => sum + total, 0n)).toBe(all);
      const from = new Date(started.getTime() - 24 * HOUR_MS);
      const rows = parseCsv(await harness.exported(orgId, from, end));
      const byInvoice = Map.groupBy(rows, (row) => row['InvoiceId'] ?? '');
      for (const { number, total } of invoices) {
        const billed = (byInvoice.get(`INV-${String(number).padStart(8, '0')}`) ?? []).reduce(
          (sum, row) => sum + toNano(row['BilledCost'] ?? ''),
          0n,
        );
        expect(billed).toBe(total);
      }
      expect(rows.reduce((sum, row) => sum + toNano(row['BilledCost'] ?? ''), 0n)).toBe(all);
    }),
    { numRuns: 12 },
  );
  expect((await harness.drift()).filter((finding) => finding.startsWith('invoice'))).toEqual([]);
});
