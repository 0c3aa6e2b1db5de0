import { expect, test } from 'vitest';
import { createPasswords } from './passwords.ts';

/** Hashing whose calls end on demand, with a count of the most concurrent calls. */
function slowWork() {
  const ends: (() => void)[] = [];
  let most = 0;
  let running = 0;
  const hash = async (password: string): Promise<string> => {
    running += 1;
    most = Math.max(most, running);
    await new Promise<void>((resolve) => ends.push(resolve));
    running -= 1;
    if (password === 'broken') throw new Error('broken');
    return `hash of ${password}`;
  };
  return { hash, verify: async () => true, ends, most: () => most };
}

async function endAll(ends: (() => void)[]): Promise<void> {
  while (ends.length > 0) {
    for (const end of ends.splice(0)) end();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('createPasswords hashes two passwords at a time and refuses requests while forty wait', async () => {
  const work = slowWork();
  const passwords = createPasswords(work);
  const responses = Promise.allSettled(
    Array.from({ length: 50 }, (_, index) => passwords.hash(index === 3 ? 'broken' : String(index))),
  );
  await endAll(work.ends);
  const outcomes = await responses;
  expect(work.most()).toBe(2);
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(41);
  const refused = outcomes.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : []));
  expect(refused.filter((each) => each.includes('Too many sign-ins'))).toHaveLength(8);
  // The failed hash has released its slot.
  const after = passwords.hash('later');
  await endAll(work.ends);
  expect(await after).toBe('hash of later');
});

test('createPasswords verifies the password it hashed and rejects another', async () => {
  const { hash, verify } = createPasswords();
  const made = await hash('correct horse battery');
  expect(await verify({ hash: made, password: 'correct horse battery' })).toBe(true);
  expect(await verify({ hash: made, password: 'correct horse batterx' })).toBe(false);
});
