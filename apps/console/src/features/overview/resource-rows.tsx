import type { ReactNode } from 'react';
import { StateBadge } from '../../ui/badge.tsx';
import { gpuName } from '../marketplace/machine.ts';
import {
  instanceCost,
  mostExpensiveFirst,
  rentalCost,
  volumeCost,
  type RunningCost,
} from '../money/running-costs.ts';
import { RentalState } from '../rentals/rental-state.tsx';
import { rentalHardwareText } from '../rentals/rental.ts';
import { VolumeState } from '../volumes/volume-state.tsx';
import type { Resources } from './reads.ts';

export interface ResourceRow extends RunningCost {
  readonly about: string;
  readonly state: ReactNode;
}

/** The most expensive first. */
export function resourceRows(
  { rentals, volumes, instances }: Resources,
  mode: 'live' | 'test',
): readonly ResourceRow[] {
  return mostExpensiveFirst<ResourceRow>([
    ...rentals.map((rental) => ({
      ...rentalCost(rental),
      about: rentalHardwareText(rental),
      state: <RentalState rental={rental} />,
    })),
    ...volumes.map((volume) => ({
      ...volumeCost(volume),
      about: `${String(volume.sizeInGb)} GB volume`,
      state: <VolumeState volume={volume} />,
    })),
    ...instances.map((instance) => ({
      ...instanceCost(instance, mode),
      about: `${String(instance.instance.gpu_count)} × ${gpuName(instance.instance)}, marketplace`,
      state: <StateBadge state={instance.instance.status} />,
    })),
  ]);
}
