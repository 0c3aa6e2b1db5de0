import { Badge, type Tone } from '../../ui/badge.tsx';
import { phaseOf, type Phase, type Volume } from './volume.ts';

const tones: Readonly<Record<Phase, Tone>> = {
  'being made': 'info',
  active: 'good',
  frozen: 'bad',
  deleted: 'plain',
  unknown: 'warn',
};

export function VolumeState({
  volume,
}: {
  readonly volume: Pick<Volume, 'status' | 'terminatedAt' | 'startedAt'>;
}) {
  const phase = phaseOf(volume);
  return <Badge tone={tones[phase]}>{phase}</Badge>;
}
