import { operatorAdjustmentMaxUsd } from '@millrace/contract';
import { Fault } from '@millrace/platform/fault';
import { nanoPerUsd, parseNanoUsd, type NanoUsd } from '@millrace/platform/money';

/** The contract accepts longer decimal texts than a 64-bit ledger amount. */
export function requireAmount(text: string, field: string): NanoUsd {
  const amount = parseNanoUsd(text);
  if (amount !== null) return amount;
  const message = 'must be a whole number of nano-USD within 64 bits, as a string';
  throw new Fault('VALIDATION_FAILED', { issues: [{ message, path: [field], code: 'invalid_amount' }] });
}

const operatorAmountMax = BigInt(operatorAdjustmentMaxUsd) * nanoPerUsd;

/** Bounded, because the contra accounts are shared between organisations and limited to 64 bits. */
export function requireOperatorAmount(text: string, field: string): NanoUsd {
  const amount = requireAmount(text, field);
  if (amount <= operatorAmountMax && amount >= -operatorAmountMax) return amount;
  const message = `must be at most ${operatorAdjustmentMaxUsd} USD at once, which is ${operatorAmountMax} nano-USD`;
  throw new Fault('VALIDATION_FAILED', { issues: [{ message, path: [field], code: 'too_big' }] });
}
