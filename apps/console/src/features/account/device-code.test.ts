import { expect, test } from 'vitest';
import { approveOrDenyCode, findCode } from './device-code.ts';

test.each(['approve', 'deny'] as const)(
  'a device code is looked up, with its origin, before it is approved or denied: %s',
  async (decision) => {
    const calls: unknown[] = [];
    const requestedFrom = { ip: '203.0.113.7', userAgent: 'millrace', at: '2026-01-01T00:00:00.000Z' };
    const call = async <Output>(...args: unknown[]): Promise<Output> => {
      calls.push(args);
      return { requestedFrom } as Output;
    };
    const found = await findCode(call, ' abcd-ef23 ');
    expect(found).toEqual({ code: 'ABCDEF23', requestedFrom });
    await approveOrDenyCode(call, found.code, decision);
    expect(calls).toEqual([
      ['GET', '/device?user_code=ABCDEF23'],
      ['POST', `/device/${decision}`, { userCode: 'ABCDEF23' }],
    ]);
  },
);
