import { operatorAdjustmentMaxUsd } from '@millrace/contract';
import { Fault } from '@millrace/platform/fault';
import { nanoPerUsd, parseNanoUsd, type NanoUsd } from '@millrace/platform/money';

/** An amount that a caller sent: text that the contract let through may still be more than a ledger can hold. */
export function requireAmount(text: string, field: string): NanoUsd {
  const amount = parseNanoUsd(text);
  if (amount !== null) return amount;
  const message = 'must be a whole number of nano-USD that fits 64 bits, as a string';
  throw new Fault('VALIDATION_FAILED', { issues: [{ message, path: [field], code: 'invalid_amount' }] });
}

const operatorAmountMax = BigInt(operatorAdjustmentMaxUsd) * nanoPerUsd;

/** An amount that an operator moves by hand. The accounts on the other side are shared, and end at 64 bits. */
export function requireOperatorAmount(text: string, field: string): NanoUsd {
  const amount = requireAmount(text, field);
  if (amount <= operatorAmountMax && amount >= -operatorAmountMax) return amount;
  const message = `must be at most ${operatorAdjustmentMaxUsd} USD at once, which is ${operatorAmountMax} nano-USD`;
  throw new Fault('VALIDATION_FAILED', { issues: [{ message, path: [field], code: 'too_big' }] });
}
