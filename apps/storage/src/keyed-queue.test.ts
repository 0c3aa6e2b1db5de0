import { SimulatedClock } from '@millrace/platform/clock';
import { describe, expect, it } from 'vitest';
import { KeyedQueue } from './keyed-queue.ts';

const hang = (): Promise<never> => new Promise(() => undefined);

describe('KeyedQueue', () => {
  it('blocks only the volume whose work hangs', async () => {
    const turns = new KeyedQueue({ clock: new SimulatedClock() });
    void turns.take('hangs', hang);
    expect(await turns.take('other', () => Promise.resolve('done'))).toBe('done');
    expect([turns.isBusy('hangs'), turns.isBusy('other')]).toEqual([true, false]);
  });

  it('refuses further work of a volume instead of queueing it without limit', async () => {
    const turns = new KeyedQueue({ clock: new SimulatedClock() });
    const orders = Array.from({ length: 20 }, () => turns.take('hangs', hang));
    const outcomes = await Promise.all(
      orders.map((order) =>
        Promise.race([
          order.catch((error: unknown) => error),
          new Promise((resolve) => setImmediate(resolve, 'waits')),
        ]),
      ),
    );
    expect(new Set(outcomes.slice(0, 16))).toEqual(new Set(['waits']));
    for (const outcome of outcomes.slice(16)) expect(outcome).toMatchObject({ kind: 'busy' });
  });

  it('refuses work that waited for 60 s, and refuses new work at once while other work hangs', async () => {
    const clock = new SimulatedClock();
    const turns = new KeyedQueue({ clock });
    void turns.take('hangs', hang);
    const second = turns.take('hangs', () => Promise.resolve('done')).catch((error: unknown) => error);
    await clock.advance(60_000);
    expect(await second).toMatchObject({ kind: 'busy' });
    await clock.advance(540_000);
    await expect(turns.take('hangs', hang)).rejects.toThrow('hangs');
    expect(await turns.take('other', () => Promise.resolve('done'))).toBe('done');
  });

  it('does not run work that was refused while it waited', async () => {
    const clock = new SimulatedClock();
    const turns = new KeyedQueue({ clock });
    const first = Promise.withResolvers<void>();
    const done: string[] = [];
    const one = turns.take('volume', () => first.promise);
    const two = turns.take('volume', async () => void done.push('two')).catch(() => undefined);
    await clock.advance(60_000);
    const three = turns.take('volume', async () => void done.push('three'));
    first.resolve();
    await Promise.all([one, two, three]);
    expect(done).toEqual(['three']);
    expect(turns.isBusy('volume')).toBe(false);
  });

  it('runs the next work in order when one ends, also after a failure', async () => {
    const turns = new KeyedQueue({ clock: new SimulatedClock() });
    const done: number[] = [];
    const first = turns.take('volume', () => Promise.reject(new Error('failed')));
    const second = turns.take('volume', async () => void done.push(2));
    await expect(first).rejects.toThrow('failed');
    await second;
    await turns.take('volume', async () => void done.push(3));
    expect(done).toEqual([2, 3]);
  });
});
