import { expect, it } from 'vitest';
import { metricText, stepSecondsOf } from './metric-text.ts';
import { createRentalSteps, typicalDurationText } from './expected-steps.ts';
import { rentalHandle, rentalStateText } from './rentals.ts';

it.each([
  ['Running', 'on', true, 'running'],
  ['Running', 'changing', true, 'switching'],
  ['Running', 'off', true, 'off, GPUs held'],
  ['Running', 'off', false, 'off, GPUs released'],
  ['Pending', 'changing', false, 'pending'],
  ['Unknown', 'off', true, 'unknown'],
] as const)('rentalStateText of %s with power %s and GPUs held %s is %s', (status, power, gpuHeld, words) => {
  expect(rentalStateText({ status, power, gpuHeld })).toBe(words);
});

it('rentalHandle returns the name, unless it could mean something else', () => {
  expect(rentalHandle({ id: 7, name: 'train-1' })).toBe('train-1');
  for (const name of [null, '1042', 'two words', '-rf', '']) expect(rentalHandle({ id: 7, name })).toBe('7');
});

it('typicalDurationText shows the usual duration, and whether it was exceeded', () => {
  const [place, create] = createRentalSteps['virtual-machine'];
  if (place === undefined || create === undefined) throw new Error('There are no steps.');
  expect(typicalDurationText(null, place)).toBe('usually up to 1 s');
  expect(typicalDurationText(30_000, create)).toBe('usually 1 s to 30 s');
  expect(typicalDurationText(30_001, create)).toBe('longer than the usual 30 s');
});

it('metricText shows the unit, and stepSecondsOf stays within the limits of the API', () => {
  expect(metricText(85_899_345_920, 'bytes')).toBe('80.0 GiB');
  expect(metricText(64.25, 'percent')).toBe('64.3 %');
  expect(stepSecondsOf(86_400, 10_000)).toBe(10);
  expect(stepSecondsOf(604_800, 1_000)).toBe(605);
});
