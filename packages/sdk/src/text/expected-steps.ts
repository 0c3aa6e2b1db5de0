import { exactDuration } from './duration.ts';

/** One expected step of an action, with its description and usual duration. */
export interface ExpectedStep {
  readonly name: string;
  readonly does: string;
  /** Minimum and maximum. A longer duration is only shown as unusual. */
  readonly usualSeconds: readonly [number, number];
}

export type ExpectedSteps = readonly ExpectedStep[];

/** A step as the API reports it. */
export interface Step {
  readonly name: string;
  readonly status: 'waiting' | 'running' | 'done' | 'failed' | 'undone';
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly message: string | null;
}

/** The usual duration, or that it was exceeded: `usually 1 s to 30 s`. */
export function typicalDurationText(elapsedMs: number | null, { usualSeconds }: ExpectedStep): string {
  const [from, to] = usualSeconds;
  if ((elapsedMs ?? 0) > to * 1_000) return `longer than the usual ${exactDuration(to)}`;
  return from === 0
    ? `usually up to ${exactDuration(to)}`
    : `usually ${exactDuration(from)} to ${exactDuration(to)}`;
}

const placeStep: ExpectedStep = { name: 'place', does: 'find a host', usualSeconds: [0, 1] };
const openStep: ExpectedStep = {
  name: 'open',
  does: 'install your keys and open your ports',
  usualSeconds: [1, 5],
};

/** From the create request to a usable machine. */
export const createRentalSteps: Readonly<Record<'virtual-machine' | 'bare-metal', ExpectedSteps>> = {
  'virtual-machine': [
    placeStep,
    { name: 'create', does: 'provision the machine', usualSeconds: [1, 30] },
    { name: 'prove', does: 'log in and count its GPUs', usualSeconds: [1, 60] },
    openStep,
  ],
  'bare-metal': [
    placeStep,
    { name: 'create', does: 'write the image to each node', usualSeconds: [120, 900] },
    { name: 'prove', does: 'log in to each node and count its GPUs', usualSeconds: [30, 300] },
    { ...openStep, usualSeconds: [1, 30] },
  ],
};

/** For a rental that released its GPUs: it is placed again. */
export const startRentalSteps: ExpectedSteps = [
  placeStep,
  { name: 'start', does: 'power on the machine', usualSeconds: [1, 60] },
];

/** For actions without steps in the API: one step from the request to its result. */
const single = (name: string, does: string): ExpectedSteps => [{ name, does, usualSeconds: [1, 30] }];
export const releaseRentalSteps = single('release', 'remove network access and delete the machine');
export const powerOnSteps = single('start', 'power on the machine');
export const powerOffSteps = single('stop', 'power off the machine');
export const rebootSteps = single('reboot', 'power the machine off and on');

/** For a marketplace instance, whose statuses are the steps. */
export const createInstanceSteps: ExpectedSteps = [
  { name: 'creating', does: 'reserve the GPUs', usualSeconds: [0, 5] },
  { name: 'starting', does: 'provision the machine and count its GPUs', usualSeconds: [1, 90] },
];

export const createVolumeSteps = single('serve', 'create the volume on the storage server');
export const restoreVolumeSteps = single('serve', 'restore the snapshot on the storage server');
