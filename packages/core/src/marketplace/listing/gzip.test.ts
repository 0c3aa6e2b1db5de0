import { crc32, gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { gzipHeader, gzipTrailer, joinChecksums, noBytes, compressPart } from './gzip.ts';

describe('a joined gzip stream', () => {
  it('decompresses to the concatenation of its parts', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 500 }), { maxLength: 20 }), (plain) => {
        const pieces = plain.map(compressPart);
        const whole = pieces.reduce(joinChecksums, noBytes);
        const stream = Buffer.concat([gzipHeader, ...pieces.map(({ bytes }) => bytes), gzipTrailer(whole)]);
        // gunzip rejects a wrong checksum and a wrong length.
        expect(gunzipSync(stream).equals(Buffer.concat(plain))).toBe(true);
      }),
    );
  });

  it('has the checksum of the whole, also for parts of many megabytes', () => {
    const piece = Buffer.alloc(3_000_001, 'abc');
    const twice = joinChecksums(
      { crc: crc32(piece), length: piece.length },
      { crc: crc32(piece), length: piece.length },
    );
    expect(twice).toEqual({ crc: crc32(Buffer.concat([piece, piece])), length: 6_000_002 });
  });

  it('stays valid when a part is left out', () => {
    const [a, b, c] = ['one,', 'two,', 'three'].map((text) => compressPart(Buffer.from(text)));
    if (a === undefined || b === undefined || c === undefined) throw new Error('There are three parts.');
    const whole = joinChecksums(a, c);
    expect(gunzipSync(Buffer.concat([gzipHeader, a.bytes, c.bytes, gzipTrailer(whole)])).toString()).toBe(
      'one,three',
    );
    expect(() => gunzipSync(Buffer.concat([gzipHeader, a.bytes, b.bytes, gzipTrailer(whole)]))).toThrow();
  });
});
