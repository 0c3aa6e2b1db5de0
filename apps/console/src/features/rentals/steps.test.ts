import { createRentalSteps } from '@millrace/sdk/text';
import { describe, expect, it } from 'vitest';
import { makeRental } from './rental.fixture.ts';
import type { Rental } from './rental.ts';
import { isTerminationStuck, pastSteps, rentalProgress } from './steps.ts';

const startMs = Date.parse('2026-11-16T10:00:00.000Z');
const at = (second: number): string => new Date(startMs + second * 1_000).toISOString();

function step(
  name: string,
  status: Rental['steps'][number]['status'],
  from: number,
  until: number | null = null,
): Rental['steps'][number] {
  return { name, status, startedAt: at(from), endedAt: until === null ? null : at(until), message: null };
}

const pending = (steps: Rental['steps'], changes: Partial<Rental> = {}): Rental =>
  makeRental({ status: 'Pending', startedAt: null, statusSince: at(0), steps, ...changes });

describe('progress of a new rental', () => {
  it('shows completed, running and pending steps with their usual duration', () => {
    const progress = rentalProgress(
      pending([step('place', 'done', 0, 1), step('create', 'running', 1)]),
      startMs + 8_500,
    );
    expect(progress).toMatchObject([
      { name: 'place', status: 'done', elapsedMs: 1_000, usual: null },
      { name: 'create', status: 'running', elapsedMs: 7_500, usual: 'usually 1 s to 30 s' },
      { name: 'prove', status: 'waiting', elapsedMs: null },
      { name: 'open', status: 'waiting', elapsedMs: null },
    ]);
  });

  it('describes steps in plain words, and also a step that it does not know', () => {
    const titles = rentalProgress(pending([step('warm_up', 'done', 0, 1)]), startMs)?.map(
      ({ title }) => title,
    );
    expect(titles).toEqual([
      'Warm up',
      'Find a host',
      'Provision the machine',
      'Log in and count its GPUs',
      'Install your keys and open your ports',
    ]);
  });

  it('marks a step that takes longer than usual', () => {
    const progress = rentalProgress(pending([step('create', 'running', 0)]), startMs + 31_000);
    expect(progress?.[0]?.usual).toBe('longer than the usual 30 s');
  });

  it('shows the whole plan before the first step is reported', () => {
    const names = rentalProgress(pending([]), startMs)?.map(({ name }) => name);
    expect(names).toEqual(createRentalSteps['virtual-machine'].map(({ name }) => name));
  });

  it('shows the second attempt after the first, and no steps after a failure', () => {
    const failed = { ...step('create', 'failed', 1, 3), message: 'The host is full.' };
    const moved = pending([step('place', 'done', 0, 1), failed, step('create', 'running', 4)]);
    expect(rentalProgress(moved, startMs + 5_000)?.map(({ name }) => name)).toEqual([
      'place',
      'create',
      'create',
      'prove',
      'open',
    ]);
    expect(rentalProgress(pending([failed]), startMs + 5_000)).toHaveLength(1);
  });

  it('never shows a negative duration when clocks differ', () => {
    expect(rentalProgress(pending([step('place', 'running', 60)]), startMs)?.[0]?.elapsedMs).toBe(0);
  });
});

describe('progress of other changes', () => {
  it('shows the steps of a restart, not those of the first start', () => {
    const again = makeRental({
      status: 'Pending',
      statusSince: at(100),
      steps: [step('create', 'done', 0, 1), step('open', 'done', 1, 2), step('start', 'running', 101)],
    });
    expect(rentalProgress(again, startMs + 102_000)?.map(({ name, status }) => [name, status])).toEqual([
      ['start', 'running'],
    ]);
  });

  it('shows termination as one step, and as stuck after two minutes', () => {
    const ending = makeRental({ status: 'Terminating', statusSince: at(0) });
    expect(rentalProgress(ending, startMs + 3_000)).toMatchObject([{ name: 'release', elapsedMs: 3_000 }]);
    expect(isTerminationStuck(ending, startMs + 119_000)).toBe(false);
    expect(isTerminationStuck(ending, startMs + 121_000)).toBe(true);
    expect(isTerminationStuck(makeRental({ statusSince: at(0) }), startMs + 999_000)).toBe(false);
  });

  it('shows a power change as one step, and none while settled', () => {
    const switching = makeRental({ power: 'changing', updatedAt: at(5) });
    expect(rentalProgress(switching, startMs + 6_000)).toMatchObject([{ name: 'switch', elapsedMs: 1_000 }]);
    expect(rentalProgress(makeRental(), startMs)).toBeNull();
  });

  it('pastSteps keeps completed steps', () => {
    const past = pastSteps(makeRental({ steps: [step('prove', 'done', 0, 4)] }), startMs);
    expect(past).toMatchObject([{ name: 'prove', title: 'Log in and count its GPUs', elapsedMs: 4_000 }]);
  });
});
