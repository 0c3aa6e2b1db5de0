import { changeMeters, openMeters } from '@millrace/core/metering';
import { supplierRate } from '@millrace/core/suppliers';
import type { Db } from '@millrace/platform/db';
import type { OrgId } from '@millrace/platform/ids';
import { ppm } from '@millrace/platform/money';
import { inTransaction, usd } from '../../packages/core/src/money.fixture.ts';

const HOUR_MS = 3_600_000;

/** Makes earnings payable at once. */
export const payoutEnv = { MILLRACE_PAYOUT_HOLD_DAYS: '0' } as const;

/** The tenant rents one GPU of the supplier for ten hours at a dollar an hour; the fee is ten per cent. */
export async function rentFrom(stack: { readonly db: Db }, supplier: OrgId, tenant: OrgId): Promise<void> {
  const endedMs = Date.now() - HOUR_MS;
  await inTransaction(stack, async (tx) => {
    const [meter] = await openMeters(tx, tenant, [
      {
        mode: 'live',
        cause: { kind: 'rental', id: '1042' },
        name: 'gpu',
        product: 'instance',
        ratePerHour: usd(1),
        quantity: 1,
        unit: 'gpu',
        supplier: { orgId: supplier, ratePerHour: supplierRate(usd(1), ppm(100_000)) },
        funding: { kind: 'ahead' },
        at: new Date(endedMs - 10 * HOUR_MS),
      },
    ]);
    if (meter === undefined) throw new Error('no meter');
    await changeMeters(tx, tenant, [{ do: 'close', meterId: meter.id, at: new Date(endedMs) }]);
  });
}
