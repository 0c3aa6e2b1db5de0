import { expect, it } from 'vitest';
import { hostKeyOf, sealHostKey } from './host-key.ts';

it('hostKeyOf opens a sealed key after the machine got another id, as when the history of the demo is loaded', () => {
  const sealedHostKey = sealHostKey('seed', 'private key');
  expect(hostKeyOf('seed', { externalId: 'other', sealedHostKey })).toBe('private key');
  expect(() => hostKeyOf('other seed', { externalId: 'other', sealedHostKey })).toThrow();
});
