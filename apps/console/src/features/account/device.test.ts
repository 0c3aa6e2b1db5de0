import { expect, test } from 'vitest';
import { decideOnCode } from './device.ts';

test.each(['approve', 'deny'] as const)(
  'a code is asked for before it is decided on: %s',
  async (decision) => {
    const calls: unknown[] = [];
    const call = async <Answer>(...args: unknown[]): Promise<Answer> => {
      calls.push(args);
      return null as Answer;
    };
    await decideOnCode(call, ' abcd-ef23 ', decision);
    expect(calls).toEqual([
      ['GET', '/device?user_code=ABCDEF23'],
      ['POST', `/device/${decision}`, { userCode: 'ABCDEF23' }],
    ]);
  },
);
