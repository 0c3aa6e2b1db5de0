import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSealer, SealedSecretError, type SealContext } from './index.ts';

const oldKey = { id: '2026-01', key: randomBytes(32) };
const newKey = { id: '2026-02', key: randomBytes(32) };
const sealer = createSealer({ keys: [oldKey], activeId: oldKey.id });
const rotated = createSealer({ keys: [oldKey, newKey], activeId: newKey.id });
const place: SealContext = { table: 'webhooks', column: 'secret', rowId: 'row-1' };

describe('a sealed secret', () => {
  it('opens to exactly what was sealed', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (plain) => {
        expect(sealer.open(sealer.seal(plain, place), place)).toBe(plain);
      }),
    );
  });

  it('looks different each time and shows nothing of the secret', () => {
    const [first, second] = [sealer.seal('whsec_abcdef', place), sealer.seal('whsec_abcdef', place)];
    expect(first).not.toBe(second);
    expect(Buffer.from(first, 'base64url').includes('whsec')).toBe(false);
  });

  it('does not open after any single change to its text', () => {
    const sealed = sealer.seal('secret', place);
    for (let at = 0; at < sealed.length; at += 1) {
      const other = sealed[at] === 'A' ? 'B' : 'A';
      const changed = `${sealed.slice(0, at)}${other}${sealed.slice(at + 1)}`;
      expect(() => sealer.open(changed, place), changed).toThrow(SealedSecretError);
    }
  });

  it.each<SealContext>([
    { ...place, rowId: 'row-2' },
    { ...place, column: 'other' },
    { ...place, table: 'other' },
    { table: 'webhooks', column: 'secretrow', rowId: '-1' },
  ])('does not open anywhere but in its own place: %j', (other) => {
    expect(() => sealer.open(sealer.seal('secret', place), other)).toThrow(SealedSecretError);
  });

  it('does not open with a key of the same id but other bytes', () => {
    const otherSealer = createSealer({ keys: [{ id: oldKey.id, key: newKey.key }], activeId: oldKey.id });
    expect(() => otherSealer.open(sealer.seal('secret', place), place)).toThrow(SealedSecretError);
  });

  it('fails with the same words whatever was wrong', () => {
    const messages = ['', 'v1', 'v1.2026-01.', 'v2.2026-01.AAAA', rotated.seal('secret', place)].map(
      (text) => {
        try {
          return sealer.open(text, place);
        } catch (error) {
          return (error as Error).message;
        }
      },
    );
    expect(new Set(messages)).toEqual(new Set(['The sealed secret cannot be opened.']));
  });
});

describe('rotation of keys', () => {
  it('opens what the old key sealed, and says that it should be sealed anew', () => {
    const sealed = sealer.seal('secret', place);
    expect(rotated.open(sealed, place)).toBe('secret');
    expect(rotated.needsRotation(sealed)).toBe(true);
    const resealed = rotated.reseal(sealed, place);
    expect(rotated.needsRotation(resealed)).toBe(false);
    expect(rotated.open(resealed, place)).toBe('secret');
    expect(() => sealer.open(resealed, place)).toThrow(SealedSecretError);
  });
});

describe('keys', () => {
  it.each([
    [{ keys: [], activeId: 'a' }, 'not among the keys'],
    [{ keys: [{ id: 'a', key: randomBytes(16) }], activeId: 'a' }, '32 bytes'],
    [{ keys: [{ id: 'a.b', key: randomBytes(32) }], activeId: 'a.b' }, 'Not a key id'],
    [{ keys: [oldKey, { ...newKey, id: oldKey.id }], activeId: oldKey.id }, 'Two keys'],
  ])('are refused when they are unfit: %#', (options, message) => {
    expect(() => createSealer(options)).toThrow(message);
  });
});
