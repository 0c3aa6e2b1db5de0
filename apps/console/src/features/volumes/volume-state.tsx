import { Badge, type Tone } from '../../ui/badge.tsx';
import { volumePhase, type Phase } from './volume.ts';

const tones: Readonly<Record<Phase, Tone>> = {
  creating: 'info',
  restoring: 'info',
  active: 'good',
  frozen: 'bad',
  deleted: 'plain',
  unknown: 'warn',
};

export function VolumeState({ volume }: Readonly<{ volume: Parameters<typeof volumePhase>[0] }>) {
  const phase = volumePhase(volume);
  return <Badge tone={tones[phase]}>{phase}</Badge>;
}
