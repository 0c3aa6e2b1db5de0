import { describe, expect, it } from 'vitest';
import { base58, createIdentityKey, identityPublicKey } from './identity-key.ts';

describe('base58', () => {
  it.each([
    ['', ''],
    ['00', '1'],
    ['0000287fb4cd', '11233QC4'],
    ['516b6fcd0f', 'ABnLTmg'],
  ])('writes %s as %s', (hex, text) => {
    expect(base58(Buffer.from(hex, 'hex'))).toBe(text);
  });

  it('gives the public key of Restate its usual length', () => {
    expect(identityPublicKey(createIdentityKey())).toMatch(/^publickeyv1_[1-9A-HJ-NP-Za-km-z]{42,44}$/);
  });
});
