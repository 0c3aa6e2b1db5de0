import { expect, it } from 'vitest';
import { makeRental } from '../rentals/rental.fixture.ts';
import { instanceOperation, progressText, rentalOperation } from './long-operations.ts';

const startMs = Date.parse('2026-11-16T10:00:00.000Z');
const step = (name: string, status: 'done' | 'running') => ({
  name,
  status,
  startedAt: '2026-11-16T10:00:00.000Z',
  endedAt: null,
  message: null,
});
const starting = makeRental({
  status: 'Pending',
  startedAt: null,
  steps: [step('place', 'done'), step('create', 'running')],
});

it('rentalOperation counts the running step of a rental that starts', () => {
  const operation = rentalOperation(starting, startMs);
  expect(operation).toMatchObject({ href: '/rentals/1042', step: { now: 2, of: 4 } });
  expect(progressText(operation === null ? [] : [operation], '/catalog')).toBe('Starting 2 of 4 · train');
});

it('rentalOperation shows the first step before any is reported', () => {
  expect(rentalOperation({ ...starting, steps: [] }, startMs)?.step).toEqual({ now: 1, of: 4 });
});

it.each([
  [{ status: 'Terminating' }, 'Terminating · train'],
  [{ power: 'changing' }, 'Changing power · train'],
] as const)('the title of a rental with %o is %s', (change, text) => {
  const operation = rentalOperation(makeRental(change), startMs);
  expect(progressText(operation === null ? [] : [operation], '/')).toBe(text);
});

it.each(['Running', 'Terminated', 'Failed', 'Unknown'] as const)(
  'a rental that is %s has no progress',
  (status) => {
    expect(rentalOperation(makeRental({ status }), startMs)).toBeNull();
  },
);

it('instanceOperation reports only instances that start', () => {
  expect(instanceOperation('vm 1', 'starting')).toMatchObject({ href: '/instances/vm%201', name: 'vm 1' });
  expect(instanceOperation('vm 1', 'online')).toBeNull();
});

it('progressText prefers the open page, and otherwise counts several operations', () => {
  const operation = (name: string) => ({ href: `/rentals/${name}`, name, doing: 'Starting', step: null });
  const two = [operation('1'), operation('2')];
  expect(progressText(two, '/rentals/2')).toBe('Starting · 2');
  expect(progressText(two, '/catalog')).toBe('2 in progress');
  expect(progressText([], '/catalog')).toBeNull();
});
