import { exactDuration } from './duration.ts';

/** The steps that something takes, in their order, with what happens in each and how long that usually is. */
export interface ExpectedStep {
  readonly name: string;
  readonly does: string;
  /** From, to. What lasts longer is told to be unusual, and nothing else follows from it. */
  readonly usualSeconds: readonly [number, number];
}

export type ExpectedSteps = readonly ExpectedStep[];

/** A step as the API tells it. */
export interface Step {
  readonly name: string;
  readonly status: 'waiting' | 'running' | 'done' | 'failed' | 'undone';
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly message: string | null;
}

/** How long a step usually lasts, or that it has lasted longer than that: `usually 1 s to 30 s`. */
export function typicalDurationText(elapsedMs: number | null, { usualSeconds }: ExpectedStep): string {
  const [from, to] = usualSeconds;
  if ((elapsedMs ?? 0) > to * 1_000) return `longer than the usual ${exactDuration(to)}`;
  return from === 0
    ? `usually up to ${exactDuration(to)}`
    : `usually ${exactDuration(from)} to ${exactDuration(to)}`;
}

const placeStep: ExpectedStep = { name: 'place', does: 'a host is found', usualSeconds: [0, 1] };
const openStep: ExpectedStep = {
  name: 'open',
  does: 'your keys and ports are put in place of ours',
  usualSeconds: [1, 5],
};

/** From an order to a machine that can be used. */
export const createRentalSteps: Readonly<Record<'virtual-machine' | 'bare-metal', ExpectedSteps>> = {
  'virtual-machine': [
    placeStep,
    { name: 'create', does: 'the machine is made', usualSeconds: [1, 30] },
    { name: 'prove', does: 'we log in and count its GPUs', usualSeconds: [1, 60] },
    openStep,
  ],
  'bare-metal': [
    placeStep,
    { name: 'create', does: 'the image is written on each node', usualSeconds: [120, 900] },
    { name: 'prove', does: 'we log in on each and count its GPUs', usualSeconds: [30, 300] },
    { ...openStep, usualSeconds: [1, 30] },
  ],
};

/** Of one that had given its GPUs back: it is placed anew. */
export const startRentalSteps: ExpectedSteps = [
  placeStep,
  { name: 'start', does: 'the machine is switched on', usualSeconds: [1, 60] },
];

/** What the API tells no steps of: one, from asking to seeing. */
const single = (name: string, does: string): ExpectedSteps => [{ name, does, usualSeconds: [1, 30] }];
export const releaseRentalSteps = single('release', 'access is cut and the machine is removed');
export const powerOnSteps = single('start', 'the machine is switched on');
export const powerOffSteps = single('stop', 'the machine is switched off');
export const rebootSteps = single('reboot', 'the machine is switched off and on');

/** What the marketplace tells of an instance: its statuses are the steps. */
export const createInstanceSteps: ExpectedSteps = [
  { name: 'creating', does: 'the GPUs are reserved', usualSeconds: [0, 5] },
  { name: 'starting', does: 'the machine is made and its GPUs are counted', usualSeconds: [1, 90] },
];

export const createVolumeSteps = single('serve', 'the storage server makes the volume and serves it');
export const restoreVolumeSteps = single(
  'serve',
  'the storage server restores the snapshot and serves the volume',
);
