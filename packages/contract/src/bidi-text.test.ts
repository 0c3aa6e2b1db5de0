import { describe, expect, it } from 'vitest';
import { createContract } from './contract.ts';
import { defaultProviders } from './records/provider-data.ts';

const { operations } = createContract({ providers: defaultProviders });

describe('names with a character that changes the direction of text', () => {
  const characters = ['\u061c', '\u200e', '\u200f', '\u202a', '\u202e', '\u2066', '\u2069'];

  it.each(characters)('are refused with %j', (character) => {
    const name = `invoice${character}fdp.exe`;
    const bodies = [
      operations.createApiKey.body.safeParse({ name, scopes: ['rentals:read'] }),
      operations.createOrganisation.body.safeParse({ name }),
      operations.createBudget.body.safeParse({ name, limitUsd: 1, period: 'month' }),
      operations.supplierApply.body.safeParse({ name }),
      operations.createVirtualMachineRental.body.safeParse({ gpuCount: 1, label: name }),
      operations.createVirtualMachineRental.body.safeParse({ gpuCount: 1, name }),
    ];
    for (const body of bodies) {
      expect(body.error?.issues.map(({ message }) => message)).toContain(
        'must not contain characters that change the direction of text, such as U+202E',
      );
    }
  });

  it('are accepted in responses, because stored names may be older than the rule', () => {
    const { schema } = operations.listApiKeys.response;
    const [item] = schema.shape.items.element.shape.name.safeParse('a\u202eb').success ? ['ok'] : [];
    expect(item).toBe('ok');
  });

  it('are accepted in any script without such a character', () => {
    const body = operations.createOrganisation.body.safeParse({ name: 'חברת הדגמה株式会社' });
    expect(body.success).toBe(true);
  });
});
