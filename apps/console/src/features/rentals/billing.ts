import { usdToNano } from '@millrace/sdk/text';
import type { Rental } from './rental.ts';

/** What a rental is billed at this moment, in the words of its state. */
export interface Billing {
  /** Nano-USD for an hour, as it stands; zero where nothing is billed. */
  readonly perHour: bigint;
  readonly words: string;
}

type Fields = Pick<
  Rental,
  'status' | 'power' | 'gpuHeld' | 'billingPausedAt' | 'releasedCostPerHourNanoUsd' | 'startedAt'
> & { readonly currentTerm: Pick<Rental['currentTerm'], 'costPerHour' | 'termType'> };

const notBilled = (words: string): Billing => ({ perHour: 0n, words });

export function rentalBilling(rental: Fields): Billing {
  const { status, currentTerm } = rental;
  if (status === 'Pending') {
    return rental.startedAt === null
      ? notBilled('Not billed. Billing begins when the machine is proven usable.')
      : pending(rental);
  }
  if (status === 'Failed') return notBilled('Not billed any more.');
  if (status === 'Terminating')
    return notBilled('Not billed any more: billing stopped when the end was accepted.');
  if (status === 'Terminated') return notBilled('Not billed any more.');
  if (currentTerm.termType === 'private-cloud')
    return notBilled('Not billed here: it is paid by your contract.');
  if (rental.billingPausedAt !== null) return notBilled('Not billed: its machine is not there for you.');
  if (!rental.gpuHeld) return disk(rental, 'Only its disk is billed: the GPUs were given back.');
  const perHour = usdToNano(currentTerm.costPerHour);
  if (status === 'Unknown') {
    return {
      perHour,
      words: 'Billed for now. Billing pauses after 5 minutes, and silence of the host is credited back.',
    };
  }
  if (rental.power === 'off')
    return { perHour, words: 'Billed in full: it is off, and its GPUs are still yours.' };
  return {
    perHour,
    words:
      currentTerm.termType === 'reserved'
        ? 'Billed by the second, out of its term.'
        : 'Billed by the second.',
  };
}

/** It gave its GPUs back and is being started: its disk is paid for until it runs. */
function pending(rental: Fields): Billing {
  return disk(rental, 'Only its disk is billed until the machine runs again.');
}

function disk({ releasedCostPerHourNanoUsd }: Fields, words: string): Billing {
  return { perHour: BigInt(releasedCostPerHourNanoUsd ?? '0'), words };
}
