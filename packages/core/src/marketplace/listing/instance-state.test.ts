import { canTransition, instanceStates, rentalStates, type InstanceState } from '@millrace/contract';
import { describe, expect, it } from 'vitest';
import { instanceStateOf } from './instance-state.ts';

type Standing = Parameters<typeof instanceStateOf>[0];
type Status = Standing['status'];
type Stage = Standing['machines'][number]['state'];

const stages: readonly Stage[] = ['wanted', 'made', 'proven', 'open', 'doomed', 'gone'];
const statuses = Object.keys(rentalStates.states) as readonly Status[];

/** Instance states of a rental status for any state of its machine. */
const shownAs = (status: Status): readonly InstanceState[] => [
  ...new Set(stages.map((state) => instanceStateOf({ status, machines: [{ state }] }))),
];

describe('instanceStateOf', () => {
  it.each([
    ['Pending', 'wanted', 'creating'],
    ['Pending', 'made', 'starting'],
    ['Pending', 'proven', 'starting'],
    ['Running', 'open', 'online'],
    ['Unknown', 'open', 'offline'],
    ['Failed', 'doomed', 'failed'],
    ['Terminating', 'doomed', 'stopping'],
    ['Terminated', 'gone', 'terminated'],
  ] as const)('maps a rental in %s with a machine in %s to %s', (status, state, shown) => {
    expect(instanceStateOf({ status, machines: [{ state }] })).toBe(shown);
  });

  it('follows the instance state table for every transition of a rental', () => {
    const steps = statuses.flatMap((from) =>
      statuses
        .filter((to) => canTransition(rentalStates, from, to))
        // Only released rentals return to Pending, and instances are never released.
        .filter((to) => !(from === 'Running' && to === 'Pending'))
        .map((to) => [from, to] as const),
    );
    for (const [from, to] of steps) {
      // A Pending rental passes through starting before Running.
      const before = from === 'Pending' && to === 'Running' ? (['starting'] as const) : shownAs(from);
      for (const one of before) {
        for (const other of shownAs(to)) {
          expect(canTransition(instanceStates, one, other), `${one} to ${other}`).toBe(true);
        }
      }
    }
    expect(steps.length).toBeGreaterThan(8);
  });
});
