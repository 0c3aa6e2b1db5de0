import { fromUuid, toUuid, type OrgId, type PayoutId } from '@millrace/platform/ids';
import { divideRoundDown, nanoUsd } from '@millrace/platform/money';
import { createRandom, uniqueId, type Random } from '@millrace/testing';
import { afterAll, expect, it } from 'vitest';
import { systemAuditContext } from '../identity/index.ts';
import type { Meter } from '../metering/index.ts';
import {
  createSupplierMoneyHarness,
  grantOf,
  quiet,
  reasonOf,
  usd,
  type SeededSupplier,
} from './earnings/earnings.fixture.ts';
import { listPayouts } from './earnings/payouts.store.ts';
import { requestPayout, settlePayout } from './earnings/payouts.service.ts';
import { writeDueStatements } from './earnings/statements.service.ts';

/**
 * Random runs of suppliers on a real ledger: rentals, refunds, late returns of time, empty balances, payouts and
 * statements over month ends. At the end all amounts must add up.
 */

const harness = await createSupplierMoneyHarness();
afterAll(() => harness[Symbol.asyncDispose]());

interface Run {
  readonly random: Random;
  readonly supplier: SeededSupplier;
  readonly tenant: OrgId;
  readonly meters: Meter[];
}

/** Refusals that the rules allow; any other error is a defect. */
const allowed = new Set([
  'done',
  'INSUFFICIENT_BALANCE',
  'PAYOUT_EXCEEDS_EARNINGS',
  'PAYOUT_LIMIT_REACHED',
  'PAYOUT_SETTLED',
  'TRANSFER_NOT_REVERSIBLE',
]);

async function attempt(work: Promise<unknown>): Promise<void> {
  expect(allowed).toContain(await reasonOf(work));
}

const operator = systemAuditContext('operator', 'live');
const backFrom = (random: Random): Date =>
  new Date(harness.clock.nowMs() - random.pick([0, 1, random.int(0, 10_000), random.int(0, 5 * 3_600_000)]));

const steps: readonly (readonly [number, (run: Run) => Promise<void>])[] = [
  [8, ({ random }) => harness.pass(random.pick([1, random.int(1, 999), random.int(1, 4 * 3_600_000)]))],
  [1, ({ random }) => harness.pass(random.int(1, 12) * 86_400_000)],
  [
    3,
    async ({ random, supplier, tenant, meters }) => {
      const rate = nanoUsd(BigInt(random.pick([random.int(1, 99), random.int(1, 2_000_000_000)])));
      const feePpm = random.pick([0, 1, 150_000, 333_333, 1_000_000, random.int(0, 1_000_000)]);
      await attempt(
        harness.rent(tenant, supplier.orgId, { rate, feePpm }).then((meter) => meters.push(meter)),
      );
    },
  ],
  [3, (run) => change(run, 'pause')],
  [2, (run) => change(run, 'resume')],
  [2, (run) => change(run, 'close')],
  [2, ({ tenant }) => harness.apply(grantOf(tenant, usd(5)))],
  [1, ({ tenant }) => harness.apply({ ...grantOf(tenant, usd(5)), promo: { priority: 1, expiresAt: null } })],
  [2, refundSome],
  [
    3,
    async ({ random, supplier }) => {
      const { balance, held } = await harness.account(supplier.orgId);
      const payable = balance - held;
      const wanted = random.chance(0.2) ? payable + 1n : divideRoundDown(payable, BigInt(random.int(1, 3)));
      if (wanted > 0n) {
        await attempt(
          harness.within((tx) => requestPayout(tx, supplier.call, nanoUsd(wanted), { holdMs: 0 })),
        );
      }
    },
  ],
  [2, settleSome],
  [1, async () => void (await writeDueStatements(harness.db, { log: quiet, limit: 50 }))],
];

async function change({ random, tenant, meters }: Run, action: 'pause' | 'resume' | 'close'): Promise<void> {
  if (meters.length === 0) return;
  const { id: meterId } = random.pick(meters);
  await harness.change(
    { do: action, meterId, at: action === 'resume' ? harness.clock.now() : backFrom(random) },
    tenant,
  );
}

async function refundSome({ random, tenant }: Run): Promise<void> {
  const charges = await harness.rows<{ id: string; paid: bigint }>(
    `select id, -amount_nano_usd as paid from ledger_transfers
      where kind = 'charge' and amount_nano_usd < 0 and org_id = '${toUuid(tenant)}' order by id desc limit 20`,
  );
  if (charges.length === 0) return;
  const { id, paid } = random.pick(charges);
  const amount = random.chance(0.3) ? paid : divideRoundDown(paid, 3n);
  const base = {
    orgId: tenant,
    mode: 'live',
    cause: { kind: 'operator', id: uniqueId() },
    transferId: fromUuid('trf', id),
    description: 'By hand',
  } as const;
  await attempt(
    random.chance(0.2)
      ? harness.apply({ ...base, do: 'reverse', step: 'reverse' })
      : harness.apply({ ...base, do: 'refund', step: 'refund', amount: nanoUsd(amount) }),
  );
}

async function settleSome({ random, supplier }: Run): Promise<void> {
  const payouts = await listPayouts(harness.db, supplier.orgId, { limit: 10, after: null });
  if (payouts.length === 0) return;
  const settle = (id: PayoutId) => {
    const settlement = { outcome: random.pick(['paid', 'paid', 'rejected'] as const), reference: null };
    return harness.within((tx) => settlePayout(tx, operator, id, { ...settlement, reason: 'by chance' }));
  };
  await attempt(settle(random.pick(payouts).id));
}

/** The sums by kind of account, computed from the ledger entries only. */
async function split({ supplier }: Run) {
  const [sums] = await harness.rows<
    Record<'paid' | 'promo' | 'borne' | 'earned' | 'fee' | 'elsewhere', bigint>
  >(
    `select coalesce(-sum(e.amount_nano_usd) filter (where a.kind in ('credit', 'promo')), 0)::bigint as paid,
            coalesce(-sum(e.amount_nano_usd) filter (where a.kind = 'promo'), 0)::bigint as promo,
            coalesce(-sum(e.amount_nano_usd) filter (where a.kind = 'shortfall'), 0)::bigint as borne,
            coalesce(sum(e.amount_nano_usd) filter (where a.org_id = '${toUuid(supplier.orgId)}'
                                                      and a.kind = 'supplier_payable'), 0)::bigint as earned,
            coalesce(sum(e.amount_nano_usd) filter (where a.kind = 'platform_fee'), 0)::bigint as fee,
            coalesce(sum(e.amount_nano_usd) filter (where a.kind = 'revenue'), 0)::bigint as elsewhere
       from ledger_transfers t
       join ledger_entries e on e.transfer_id = t.id
       join ledger_accounts a on a.id = e.account_id
      where t.kind in ('charge', 'credit', 'refund', 'reversal')
        and exists (select from meters m
                     where m.supplier_org_id = '${toUuid(supplier.orgId)}'
                       and m.org_id = t.org_id)`,
  );
  if (sums === undefined) throw new Error('no sums');
  return sums;
}

it.each([1, 2, 3, 4, 5, 6])(
  'charges paid by the tenant or absorbed by the operator equal the supplier’s earnings plus the fee: seed %s',
  async (seed) => {
    const random = createRandom(seed);
    const supplier = await harness.supplier();
    const { orgId: tenant } = await harness.tenant(random.pick([0.000001, 3, 50]));
    const run: Run = { random, supplier, tenant, meters: [] };
    for (let step = 0; step < 120; step += 1) await random.weighted(steps)(run);
    const { paid, promo, borne: absorbed, earned, fee, elsewhere: other } = await split(run);
    expect(paid + absorbed).toBe(earned + fee);
    expect(promo).toBe(0n);
    expect(other).toBe(0n);
    const [{ out } = { out: 0n }] = await harness.rows<{ out: bigint }>(
      `select coalesce(sum(amount_nano_usd), 0)::bigint as out from supplier_payouts
        where status = 'paid' and org_id = '${toUuid(supplier.orgId)}'`,
    );
    const { balance } = await harness.account(supplier.orgId);
    expect(balance).toBe(earned - out);
    // After the end of the month, each earning is in exactly one statement.
    await harness.pass(40 * 86_400_000);
    while ((await writeDueStatements(harness.db, { log: quiet, limit: 50 })) > 0);
    const [{ stated, posted } = { stated: 0n, posted: 1n }] = await harness.rows<{
      stated: bigint;
      posted: bigint;
    }>(
      `select coalesce(sum(net_nano_usd), 0)::bigint as stated,
              (select coalesce(sum(e.amount_nano_usd), 0)::bigint from ledger_entries e
                 join ledger_transfers t on t.id = e.transfer_id
                 join ledger_accounts a on a.id = e.account_id and a.kind = 'supplier_payable'
                where a.org_id = '${toUuid(supplier.orgId)}' and t.kind <> 'payout'
                  and t.occurred_at < (select max(period_end) from supplier_statements
                                        where org_id = '${toUuid(supplier.orgId)}')) as posted
         from supplier_statements where org_id = '${toUuid(supplier.orgId)}'`,
    );
    expect(stated).toBe(posted);
    expect(await harness.drift()).toEqual([]);
  },
  120_000,
);
