import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSealer, SealedSecretError, type SealContext } from './index.ts';

const oldKey = { id: '2026-01', key: randomBytes(32) };
const newKey = { id: '2026-02', key: randomBytes(32) };
const sealer = createSealer({ keys: [oldKey], activeId: oldKey.id });
const rotated = createSealer({ keys: [oldKey, newKey], activeId: newKey.id });
const place: SealContext = { table: 'webhooks', column: 'secret', rowId: 'row-1' };

describe('createSealer', () => {
  it('opens a sealed text to exactly the original', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (plain) => {
        expect(sealer.open(sealer.seal(plain, place), place)).toBe(plain);
      }),
    );
  });

  it('seals a text differently each time and reveals nothing of it', () => {
    const [first, second] = [sealer.seal('whsec_abcdef', place), sealer.seal('whsec_abcdef', place)];
    expect(first).not.toBe(second);
    expect(Buffer.from(first, 'base64url').includes('whsec')).toBe(false);
  });

  it('does not open a text after any single change', () => {
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
  ])('does not open a text in another place: %j', (other) => {
    expect(() => sealer.open(sealer.seal('secret', place), other)).toThrow(SealedSecretError);
  });

  it('does not open a text with a key of the same id but other bytes', () => {
    const otherSealer = createSealer({ keys: [{ id: oldKey.id, key: newKey.key }], activeId: oldKey.id });
    expect(() => otherSealer.open(sealer.seal('secret', place), place)).toThrow(SealedSecretError);
  });

  it('throws the same message for every failure', () => {
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

describe('createSealer with several keys', () => {
  it('opens a text of the old key and reports that it needs rotation', () => {
    const sealed = sealer.seal('secret', place);
    expect(rotated.open(sealed, place)).toBe('secret');
    expect(rotated.needsRotation(sealed)).toBe(true);
    const resealed = rotated.reseal(sealed, place);
    expect(rotated.needsRotation(resealed)).toBe(false);
    expect(rotated.open(resealed, place)).toBe('secret');
    expect(() => sealer.open(resealed, place)).toThrow(SealedSecretError);
  });
});

describe('createSealer with invalid keys', () => {
  it.each([
    [{ keys: [], activeId: 'a' }, 'not among the keys'],
    [{ keys: [{ id: 'a', key: randomBytes(16) }], activeId: 'a' }, '32 bytes'],
    [{ keys: [{ id: 'a.b', key: randomBytes(32) }], activeId: 'a.b' }, 'Not a key id'],
    [{ keys: [oldKey, { ...newKey, id: oldKey.id }], activeId: oldKey.id }, 'Two keys'],
  ])('throws for case %#', (options, message) => {
    expect(() => createSealer(options)).toThrow(message);
  });
});
