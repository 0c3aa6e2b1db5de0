import { crc32, deflateSync } from 'node:zlib';
import { toImageResult, findUnsupportedFields, type ImageAdapter } from './image-adapter.ts';

/** Deterministic two-colour images for test keys, without an engine. */

const supportedFields = new Set(['negative_prompt', 'steps', 'cfg_scale', 'seed', 'sampler', 'style_preset']);

export function createMockImageAdapter(): ImageAdapter {
  return {
    unsupportedFields: (request, deployment) => findUnsupportedFields(request, deployment, supportedFields),
    run: async (request) => {
      const seeds = Array.from({ length: request.count }, (_, index) => request.seed + index);
      const pictures = seeds.map((seed) => mockPng(request.width, request.height, seed).toString('base64'));
      return toImageResult(request, pictures, (index) => seeds[index] ?? null);
    },
  };
}

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** One bit per pixel, so that the largest image takes only a few milliseconds. */
export function mockPng(width: number, height: number, seed: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 1;
  header[9] = 3;
  const colours = crc32(String(seed));
  const palette = Buffer.from([0, 8, 16, 8, 16, 24].map((shift) => (colours >>> shift) & 0xff));
  // The first byte of each row is its filter type, 0 for none.
  const rowLength = 1 + ((width + 7) >>> 3);
  const rows = Buffer.alloc(rowLength * height);
  for (let row = height >>> 1; row < height; row += 1)
    rows.fill(0xff, row * rowLength + 1, (row + 1) * rowLength);
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('PLTE', palette),
    chunk('IDAT', deflateSync(rows, { level: 1 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}
