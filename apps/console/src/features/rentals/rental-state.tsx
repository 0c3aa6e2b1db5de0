import { Badge, type Tone } from '../../ui/badge.tsx';
import { stateLabel } from './actions.ts';
import { hasFailed, type Rental } from './rental.ts';

const tones: Readonly<Record<Rental['status'], Tone>> = {
  Pending: 'info',
  Running: 'good',
  Unknown: 'warn',
  Failed: 'bad',
  Terminating: 'info',
  Terminated: 'plain',
};

/** Status badge that distinguishes stopped from running rentals. */
export function RentalState({
  rental,
}: Readonly<{ rental: Pick<Rental, 'status' | 'power' | 'gpuHeld' | 'meta'> }>) {
  const { status, power } = rental;
  if (hasFailed(rental)) return <Badge tone="bad">failed</Badge>;
  const tone =
    status !== 'Running' || power === 'on' ? tones[status] : power === 'changing' ? 'info' : 'plain';
  return <Badge tone={tone}>{stateLabel(rental)}</Badge>;
}
