import { roundExact, shareOf, subtractUsd, type NanoUsd, type Ppm } from '@millrace/platform/money';

/**
 * Splits a tenant's rate once, at the start of a rental, and freezes both rates. The meter then computes the supplier's
 * part from its own rate; the fee is the rest of the tenant's payment.
 */

/** The operator's part of a rate, rounded up: the only rounding of the split is in the operator's favour. */
export function operatorFee(rate: NanoUsd, feePpm: Ppm): NanoUsd {
  return roundExact(shareOf(rate, feePpm), 'up');
}

/** The supplier's part of a rate: between zero and the rate. */
export function supplierRate(rate: NanoUsd, feePpm: Ppm): NanoUsd {
  return subtractUsd(rate, operatorFee(rate, feePpm));
}
