import { addUsd, meteredTotal, nanoUsd, ppm, ppmPerWhole, subtractUsd } from '@millrace/platform/money';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { operatorFee, supplierRate } from './supplier-fee.ts';

const usd = (amount: bigint) => nanoUsd(amount);
const rates = fc.bigInt({ min: 0n, max: 10n ** 13n }).map(usd);
const fees = fc.integer({ min: 0, max: ppmPerWhole }).map(ppm);

describe('supplierRate and operatorFee', () => {
  it.each([
    { rate: 2_000_000_000n, fee: 200_000, supplier: 1_600_000_000n },
    { rate: 7n, fee: 150_000, supplier: 5n },
    { rate: 7n, fee: 0, supplier: 7n },
    { rate: 7n, fee: ppmPerWhole, supplier: 0n },
    { rate: 1n, fee: 1, supplier: 0n },
    { rate: 0n, fee: 150_000, supplier: 0n },
  ])('of $rate nano-USD at $fee ppm leave the supplier $supplier', ({ rate, fee, supplier }) => {
    expect(supplierRate(usd(rate), ppm(fee))).toBe(supplier);
  });

  it('add up to the rate', () => {
    fc.assert(
      fc.property(rates, fees, (rate, fee) => {
        expect(addUsd(supplierRate(rate, fee), operatorFee(rate, fee))).toBe(rate);
      }),
    );
  });

  it('give the operator its share and less than one nano-USD more', () => {
    fc.assert(
      fc.property(rates, fees, (rate, fee) => {
        const beyond = operatorFee(rate, fee) * BigInt(ppmPerWhole) - rate * BigInt(fee);
        expect(beyond >= 0n && beyond < BigInt(ppmPerWhole)).toBe(true);
      }),
    );
  });

  it('never owe a supplier more than the tenant pays, for any metered time', () => {
    fc.assert(
      fc.property(rates, fees, fc.integer({ min: 0, max: 10 ** 12 }), (rate, fee, elapsedMs) => {
        const supplier = supplierRate(rate, fee);
        expect(supplier >= 0n && supplier <= rate).toBe(true);
        const retained = subtractUsd(meteredTotal(rate, elapsedMs), meteredTotal(supplier, elapsedMs));
        expect(retained >= 0n).toBe(true);
      }),
    );
  });

  it('leave a supplier no more when the fee is higher', () => {
    fc.assert(
      fc.property(rates, fees, fees, (rate, one, other) => {
        const [low, high] = one < other ? [one, other] : [other, one];
        expect(supplierRate(rate, high) <= supplierRate(rate, low)).toBe(true);
      }),
    );
  });
});
