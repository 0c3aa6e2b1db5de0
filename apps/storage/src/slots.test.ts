import { SimulatedClock } from '@millrace/platform/clock';
import { expect, it } from 'vitest';
import { Slots } from './slots.ts';

const hang = (): Promise<never> => new Promise(() => undefined);

it('Slots reports hanging work as unavailable after its timeout and frees its slot', async () => {
  const clock = new SimulatedClock();
  const slots = new Slots({ clock, what: 'orders', most: 3, timeoutMs: 1_000 });
  const hanging = [1, 2, 3].map(() => slots.take(hang).catch((error: unknown) => error));
  await expect(slots.take(async () => 'done')).rejects.toMatchObject({ kind: 'busy' });
  await clock.advance(1_000);
  for (const response of await Promise.all(hanging)) expect(response).toMatchObject({ kind: 'unavailable' });
  expect(await slots.take(async () => 'done')).toBe('done');
});

it('Slots passes on the error of failed work and frees its slot', async () => {
  const slots = new Slots({ clock: new SimulatedClock(), what: 'orders', most: 1, timeoutMs: 1_000 });
  await expect(slots.take(() => Promise.reject(new Error('refused')))).rejects.toThrow('refused');
  expect(await slots.take(async () => 'done')).toBe('done');
});
