import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hashSecret, keyPrefix, mintKey, parseKey, secretMatches } from './api-key.ts';

const modes = fc.constantFrom('live' as const, 'test' as const);
/** Repeatable pseudo-random bytes: a small linear congruential generator. */
function seededBytes(seed: number): (count: number) => Uint8Array {
  let state = seed >>> 0;
  return (count) =>
    Uint8Array.from({ length: count }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state >>> 24;
    });
}
const minted = fc.tuple(modes, fc.integer()).map(([mode, seed]) => mintKey(mode, seededBytes(seed)));

describe('the text of an API key', () => {
  it('has the published format, with a CRC-32 in base62 that anyone can check', () => {
    const key = mintKey('live', seededBytes(7));
    expect(key.text).toMatch(/^mr_live_[0-9A-HJKMNP-TV-Z]{12}_[0-9A-Za-z]{38}$/);
    const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
    const sum = [...key.text.slice(-6)].reduce((value, digit) => value * 62 + digits.indexOf(digit), 0);
    expect(sum).toBe(crc32(key.text.slice(0, -6)));
  });

  it('parses back to the minted key', () => {
    fc.assert(
      fc.property(minted, (key) => {
        expect(parseKey(key.text)).toEqual({ mode: key.mode, publicId: key.publicId, secret: key.secret });
        expect(key.text.startsWith(`${keyPrefix(key.mode, key.publicId)}_`)).toBe(true);
      }),
    );
  });

  it('is rejected after a change of any one character', () => {
    fc.assert(
      fc.property(minted, fc.nat(), fc.constantFrom(...'abcXYZ012_'), (key, at, character) => {
        const index = at % key.text.length;
        const changed = key.text.slice(0, index) + character + key.text.slice(index + 1);
        fc.pre(changed !== key.text);
        expect(parseKey(changed)).toBeNull();
      }),
    );
  });

  it('is rejected for any other text, without throwing', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => parseKey(text) === null));
    const { text } = mintKey('test');
    for (const wrong of ['', ` ${text}`, `${text}\n`, text.slice(0, -1), `${text}0`, text.toLowerCase()]) {
      expect(parseKey(wrong)).toBeNull();
    }
  });

  it('includes the mode in its checksum, so a live key cannot become a test key', () => {
    const { text } = mintKey('live');
    expect(parseKey(text.replace('mr_live_', 'mr_test_'))).toBeNull();
  });

  it('uses every character of the alphabet about equally often', () => {
    const counts = new Map<string, number>();
    const random = seededBytes(1);
    for (let i = 0; i < 2_000; i++) {
      for (const character of mintKey('test', random).secret) {
        counts.set(character, (counts.get(character) ?? 0) + 1);
      }
    }
    const expected = (2_000 * 32) / 62;
    expect(counts.size).toBe(62);
    for (const count of counts.values()) expect(Math.abs(count - expected)).toBeLessThan(expected * 0.2);
  });

  it('is minted even if the random source mostly yields bytes to discard', () => {
    let call = 0;
    const key = mintKey('test', (count) => new Uint8Array(count).fill(call++ < 3 ? 255 : 5));
    expect(parseKey(key.text)).not.toBeNull();
  });
});

describe('secretMatches', () => {
  it('matches its own secret and no other', () => {
    fc.assert(
      fc.property(minted, minted, (one, other) => {
        expect(secretMatches(one.secret, one.secretSha256)).toBe(true);
        expect(secretMatches(other.secret, one.secretSha256)).toBe(one.secret === other.secret);
      }),
    );
  });

  it('never matches a hash of another length', () => {
    expect(secretMatches('x', hashSecret('x').subarray(0, 31))).toBe(false);
    expect(secretMatches('x', new Uint8Array())).toBe(false);
  });
});
