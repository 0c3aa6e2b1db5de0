import { usdToNano } from '@millrace/sdk/text';
import { hasEnded, type Rental } from './rental.ts';

interface RunningPrice {
  readonly nano: bigint;
  /** Test mode: the price in live mode. */
  readonly isLive: boolean;
}

export interface Billing {
  /** Nano-USD per hour; zero if not billed. */
  readonly perHour: bigint;
  /** Test mode: the price in live mode; null if unknown or not billed. */
  readonly livePerHour: bigint | null;
  /** Price per hour while it runs; null if that is billed now, or if it will not run again. */
  readonly whileRunning: RunningPrice | null;
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

type CurrentBilling = Omit<Billing, 'whileRunning'>;

const notBilled = (words: string): CurrentBilling => ({ perHour: 0n, livePerHour: null, words });

/** The billing of a rental in its current state, for lists, overviews and its own page. */
export function rentalBilling(rental: Fields): Billing {
  const current = currentBilling(rental);
  return { ...current, whileRunning: priceWhileRunning(rental, current) };
}

function priceWhileRunning(rental: Fields, { perHour, livePerHour }: CurrentBilling): RunningPrice | null {
  if (hasEnded(rental) || rental.currentTerm.termType === 'private-cloud') return null;
  const price = usdToNano(rental.currentTerm.costPerHour);
  const live = liveAmount(rental.liveCostPerHourNanoUsd);
  if (live === null) return perHour === price ? null : { nano: price, isLive: false };
  return livePerHour === live ? null : { nano: live, isLive: true };
}

function currentBilling(rental: Fields): CurrentBilling {
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
function pending(rental: Fields): CurrentBilling {
  return disk(rental, 'Only the disk is billed until the machine runs again.');
}

function disk(rental: Fields, words: string): CurrentBilling {
  return {
    perHour: BigInt(rental.releasedCostPerHourNanoUsd ?? '0'),
    livePerHour: liveAmount(rental.liveReleasedCostPerHourNanoUsd),
    words,
  };
}

function liveAmount(nano: string | undefined): bigint | null {
  return nano === undefined ? null : BigInt(nano);
}
