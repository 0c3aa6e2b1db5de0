import { roundExact, shareOf, subtractUsd, type NanoUsd, type Ppm } from '@millrace/platform/money';

/**
 * How a tenant's rate is split. It happens once, when something is rented, and both rates are frozen with it: from then
 * on the supplier's part is a metered total of its own, and the fee is whatever the tenant paid beyond it.
 */

/** The operator's part of a rate, rounded up: the one rounding of the split is the operator's gain, never a supplier's. */
export function operatorFee(rate: NanoUsd, feePpm: Ppm): NanoUsd {
  return roundExact(shareOf(rate, feePpm), 'up');
}

/** The supplier's part of a rate: what the fee leaves. Never negative and never more than the rate. */
export function supplierRate(rate: NanoUsd, feePpm: Ppm): NanoUsd {
  return subtractUsd(rate, operatorFee(rate, feePpm));
}
