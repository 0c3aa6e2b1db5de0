import { crc32, deflateSync } from 'node:zlib';

import type { Picture } from './image-model.ts';

/** A picture of one colour, for tests that do not need content. */
export function plainPng(
  width: number,
  height: number,
  colour: readonly [red: number, green: number, blue: number],
): Buffer {
  return encode(width, height, (pixels, at) => pixels.set(colour, at));
}

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

export function toPng(picture: Picture, width: number, height: number): Buffer {
  const columns = pixelNeighbours(width, picture.side);
  const rows = pixelNeighbours(height, picture.side);
  return encode(width, height, (pixels, at, x, y) => {
    const [column, row] = [columns[x], rows[y]];
    if (column === undefined || row === undefined) return;
    for (let plane = 0; plane < 3; plane += 1) {
      const value = interpolate(picture, plane, column, row);
      pixels[at + plane] = Math.max(0, Math.min(255, Math.round((value + 1) * 127.5)));
    }
  });
}

type Paint = (pixels: Buffer, at: number, x: number, y: number) => void;

function encode(width: number, height: number, paint: Paint): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 8;
  header[9] = 2;
  // Each row starts with its filter type, 0.
  const rowLength = 1 + 3 * width;
  const pixels = Buffer.alloc(rowLength * height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) paint(pixels, y * rowLength + 1 + 3 * x, x, y);
  }
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(pixels, { level: 1 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** Two neighbours in the small picture, and the weight of the second. */
interface PixelNeighbours {
  readonly first: number;
  readonly second: number;
  readonly share: number;
}

function pixelNeighbours(length: number, side: number): PixelNeighbours[] {
  return Array.from({ length }, (_, at) => {
    const exact = ((at + 0.5) * side) / length - 0.5;
    const first = Math.floor(exact);
    const inside = (index: number): number => Math.min(side - 1, Math.max(0, index));
    return { first: inside(first), second: inside(first + 1), share: exact - first };
  });
}

function interpolate(
  { side, planes }: Picture,
  plane: number,
  column: PixelNeighbours,
  row: PixelNeighbours,
): number {
  const at = (x: number, y: number): number => planes[(plane * side + y) * side + x] ?? 0;
  const top = mix(at(column.first, row.first), at(column.second, row.first), column.share);
  const bottom = mix(at(column.first, row.second), at(column.second, row.second), column.share);
  return mix(top, bottom, row.share);
}

function mix(a: number, b: number, share: number): number {
  return a * (1 - share) + b * share;
}

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}
