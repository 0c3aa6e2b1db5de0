import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Fault } from '../../fault/index.ts';
import { getItem } from '../test-server.fixture.ts';
import { validateInput } from './validate.ts';

const operation = {
  ...getItem,
  params: z.object({ thingId: z.coerce.number().int() }),
  query: z.object({
    limit: z.coerce.number().int().min(1).max(100).default(5),
    after: z.union([z.literal('latest'), z.coerce.number().int()]).optional(),
    name: z.string().optional(),
  }),
};

function read(params: unknown, query: unknown = {}): unknown {
  return validateInput(operation, { params, query, body: {} });
}

describe('validateInput for a number in a path or query', () => {
  it.each(['1e0', '0x1', '0b1', '1.0', '+1', '01', ' 1', '1 ', '', '-0', '9'.repeat(20), ['1']])(
    'refuses the notation %j',
    (text) => {
      expect(() => read({ thingId: text })).toThrow(Fault);
      expect(() => read({ thingId: '1' }, { limit: text })).toThrow(Fault);
      expect(() => read({ thingId: '1' }, { after: text })).toThrow(Fault);
    },
  );

  it.each([
    ['1', 1],
    ['-2147483648', -2_147_483_648],
    ['0', 0],
  ])('accepts the notation %j', (text, value) => {
    expect(read({ thingId: text })).toMatchObject({ params: { thingId: value }, query: { limit: 5 } });
  });

  it('accepts a number or a keyword in a union, and does not restrict text fields', () => {
    const query = { after: 'latest', limit: '7', name: '0x1' };
    expect(read({ thingId: '1' }, query)).toMatchObject({
      query: { after: 'latest', limit: 7, name: '0x1' },
    });
    expect(read({ thingId: '1' }, { after: '12' })).toMatchObject({ query: { after: 12 } });
  });

  it('names the field in the fault', () => {
    try {
      read({ thingId: '0x1' });
      expect.fail('accepted');
    } catch (error) {
      expect(error).toMatchObject({
        reason: 'VALIDATION_FAILED',
        issues: [{ path: ['thingId'], location: 'path' }],
      });
    }
  });
});
