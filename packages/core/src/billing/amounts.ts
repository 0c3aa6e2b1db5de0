import { Fault } from '@millrace/platform/fault';
import { parseNanoUsd, type NanoUsd } from '@millrace/platform/money';

/** An amount that a caller sent: text that the contract let through may still be more than a ledger can hold. */
export function requireAmount(text: string, field: string): NanoUsd {
  const amount = parseNanoUsd(text);
  if (amount !== null) return amount;
  const message = 'must be a whole number of nano-USD that fits 64 bits, as a string';
  throw new Fault('VALIDATION_FAILED', { issues: [{ message, path: [field], code: 'invalid_amount' }] });
}
