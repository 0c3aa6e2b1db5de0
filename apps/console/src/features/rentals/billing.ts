import { usdToNano } from '@millrace/sdk/text';
import type { Rental } from './rental.ts';

export interface Billing {
  /** Nano-USD per hour; zero if not billed. */
  readonly perHour: bigint;
  /** Test mode: the price in live mode; null if unknown or not billed. */
  readonly livePerHour: bigint | null;
  readonly words: string;
  /** Paid from money that is held for the whole reserved term, so not part of the burn rate. */
  readonly isPrepaid?: true;
}

type Fields = Pick<
  Rental,
  | 'status'
  | 'power'
  | 'gpuHeld'
  | 'billingPausedAt'
  | 'releasedCostPerHourNanoUsd'
  | 'startedAt'
  | 'liveCostPerHourNanoUsd'
  | 'liveReleasedCostPerHourNanoUsd'
> & { readonly currentTerm: Pick<Rental['currentTerm'], 'costPerHour' | 'termType'> };

const notBilled = (words: string): Billing => ({ perHour: 0n, livePerHour: null, words });

export function rentalBilling(rental: Fields): Billing {
  const { status, currentTerm } = rental;
  if (status === 'Pending') {
    return rental.startedAt === null
      ? notBilled('Not billed. Billing starts when the machine is ready.')
      : pending(rental);
  }
  if (status === 'Failed') return notBilled('Not billed: billing has ended.');
  if (status === 'Terminating')
    return notBilled('Not billed: billing stopped when the termination was accepted.');
  if (status === 'Terminated') return notBilled('Not billed: billing has ended.');
  if (currentTerm.termType === 'private-cloud')
    return notBilled('Not billed here: paid under your contract.');
  if (rental.billingPausedAt !== null) return notBilled('Not billed: the machine is not available.');
  if (!rental.gpuHeld) return disk(rental, 'Only the disk is billed: the GPUs were released.');
  const full = {
    perHour: usdToNano(currentTerm.costPerHour),
    livePerHour: liveAmount(rental.liveCostPerHourNanoUsd),
  };
  if (status === 'Unknown') {
    return {
      ...full,
      words: 'Billed for now. Billing pauses after 5 minutes, and the time without a response is refunded.',
    };
  }
  if (rental.power === 'off')
    return { ...full, words: 'Billed in full: the machine is off, but its GPUs are still reserved for you.' };
  return currentTerm.termType === 'reserved'
    ? { ...full, words: 'Paid by the second from the money held for the reserved term.', isPrepaid: true }
    : { ...full, words: 'Billed by the second.' };
}

/** Restarting after a release: only the disk is billed until it runs. */
function pending(rental: Fields): Billing {
  return disk(rental, 'Only the disk is billed until the machine runs again.');
}

function disk(rental: Fields, words: string): Billing {
  return {
    perHour: BigInt(rental.releasedCostPerHourNanoUsd ?? '0'),
    livePerHour: liveAmount(rental.liveReleasedCostPerHourNanoUsd),
    words,
  };
}

function liveAmount(nano: string | undefined): bigint | null {
  return nano === undefined ? null : BigInt(nano);
}
