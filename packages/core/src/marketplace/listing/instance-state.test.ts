import { canTransition, instanceStates, rentalStates, type InstanceState } from '@millrace/contract';
import { describe, expect, it } from 'vitest';
import { instanceStateOf } from './instance-state.ts';

type Standing = Parameters<typeof instanceStateOf>[0];
type Status = Standing['status'];
type Stage = Standing['machines'][number]['state'];

const stages: readonly Stage[] = ['wanted', 'made', 'proven', 'open', 'doomed', 'gone'];
const statuses = Object.keys(rentalStates.states) as readonly Status[];

/** What a rental of this status may show, whatever the stage of its machine. */
const shownAs = (status: Status): readonly InstanceState[] => [
  ...new Set(stages.map((state) => instanceStateOf({ status, machines: [{ state }] }))),
];

describe('the state of an instance', () => {
  it.each([
    ['Pending', 'wanted', 'creating'],
    ['Pending', 'made', 'starting'],
    ['Pending', 'proven', 'starting'],
    ['Running', 'open', 'online'],
    ['Unknown', 'open', 'offline'],
    ['Failed', 'doomed', 'failed'],
    ['Terminating', 'doomed', 'stopping'],
    ['Terminated', 'gone', 'terminated'],
  ] as const)('of a rental that is %s with a machine that is %s is %s', (status, state, shown) => {
    expect(instanceStateOf({ status, machines: [{ state }] })).toBe(shown);
  });

  it('moves as the table says wherever its rental does', () => {
    const steps = statuses.flatMap((from) =>
      statuses
        .filter((to) => canTransition(rentalStates, from, to))
        // A start after GPUs were given back: no instance gives its back.
        .filter((to) => !(from === 'Running' && to === 'Pending'))
        .map((to) => [from, to] as const),
    );
    for (const [from, to] of steps) {
      // What is Pending goes through starting before it is more than that.
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
