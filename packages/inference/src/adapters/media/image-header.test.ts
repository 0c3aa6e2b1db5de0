import { plainPng } from '@millrace/services';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readImageHeader } from './image-header.ts';
import { mockPng } from './image-mock.ts';

const side = fc.integer({ min: 1, max: 300 });

test('readImageHeader reads the size of PNGs of different writers', () => {
  fc.assert(
    fc.property(side, side, fc.nat(), (width, height, seed) => {
      const facts = { format: 'png', width, height };
      expect(readImageHeader(mockPng(width, height, seed).toString('base64'))).toEqual(facts);
      expect(readImageHeader(plainPng(width, height, [1, 2, 3]).toString('base64'))).toEqual(facts);
    }),
    { numRuns: 50 },
  );
});

test('readImageHeader reads the size of a JPEG after other segments', () => {
  const segment = (marker: number, data: Buffer): Buffer => {
    const head = Buffer.from([0xff, marker, 0, 0]);
    head.writeUInt16BE(data.length + 2, 2);
    return Buffer.concat([head, data]);
  };
  const frame = Buffer.from([8, 2, 0, 3, 0, 3, 1, 0x22, 0]);
  const bytes = Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    segment(0xe1, Buffer.alloc(40_000, 7)),
    segment(0xc4, Buffer.alloc(20)),
    segment(0xc2, frame),
    Buffer.alloc(20),
  ]);
  expect(readImageHeader(bytes.toString('base64'))).toEqual({ format: 'jpeg', width: 768, height: 512 });
});

test('readImageHeader reads the size of the three WebP variants', () => {
  const webp = (kind: string, write: (bytes: Buffer) => void): string => {
    const bytes = Buffer.alloc(40);
    bytes.write('RIFF', 0, 'latin1');
    bytes.write('WEBP', 8, 'latin1');
    bytes.write(kind, 12, 'latin1');
    write(bytes);
    return bytes.toString('base64');
  };
  const lossy = webp('VP8 ', (bytes) => {
    bytes.writeUInt16LE(640, 26);
    bytes.writeUInt16LE(480, 28);
  });
  const lossless = webp('VP8L', (bytes) => bytes.writeUInt32LE((639 | (479 << 14)) >>> 0, 21));
  const extended = webp('VP8X', (bytes) => {
    bytes.writeUIntLE(639, 24, 3);
    bytes.writeUIntLE(479, 27, 3);
  });
  for (const text of [lossy, lossless, extended]) {
    expect(readImageHeader(text)).toEqual({ format: 'webp', width: 640, height: 480 });
  }
});

test('readImageHeader returns null for anything else and never throws', () => {
  expect(readImageHeader('')).toBeNull();
  expect(readImageHeader('http://169.254.169.254/latest')).toBeNull();
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 200 }),
      fc.constantFrom([], [0xff, 0xd8], [0x89, 0x50, 0x4e, 0x47]),
      (bytes, head) => {
        const facts = readImageHeader(Buffer.from([...head, ...bytes]).toString('base64'));
        expect(facts === null || (facts.width > 0 && facts.height > 0)).toBe(true);
      },
    ),
  );
});
