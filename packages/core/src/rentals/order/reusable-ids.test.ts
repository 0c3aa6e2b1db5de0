import { Fault } from '@millrace/platform/fault';
import { expect, it } from 'vitest';
import { createIdReuse } from './reusable-ids.ts';

function counting() {
  let last = 0;
  const withId = createIdReuse({ next: async () => (last += 1) });
  return { withId, taken: () => last };
}

it('createIdReuse uses one id for any number of rejected orders', async () => {
  const { withId, taken } = counting();
  for (let times = 0; times < 100; times += 1) {
    await expect(withId(() => Promise.reject(new Fault('INSUFFICIENT_BALANCE')))).rejects.toThrow(Fault);
  }
  expect(await withId(async (id) => id)).toBe(1);
  expect(taken()).toBe(1);
});

it('createIdReuse returns the id of a rejection after a rollback', async () => {
  const { withId, taken } = counting();
  const refused = withId((_, use) => {
    use();
    return Promise.reject(new Fault('INSUFFICIENT_CAPACITY'));
  });
  await expect(refused).rejects.toThrow(Fault);
  await withId(async () => undefined);
  expect(taken()).toBe(1);
});

it('createIdReuse never reuses an id that is, or might be, in a row', async () => {
  const { withId } = counting();
  const used = await withId(async (id, use) => {
    use();
    return id;
  });
  await expect(withId(() => Promise.reject(new Error('the connection was lost')))).rejects.toThrow('lost');
  const next = await withId(async (id) => id);
  expect([used, next]).toEqual([1, 3]);
});

it('createIdReuse gives concurrent orders different ids', async () => {
  const { withId } = counting();
  const hold = async (id: number, use: () => void): Promise<number> => {
    use();
    await Promise.resolve();
    return id;
  };
  const ids = await Promise.all(Array.from({ length: 20 }, () => withId(hold)));
  expect(new Set(ids).size).toBe(20);
});
