import { proratePrice } from '@millrace/sdk/text';
import { parseNumber } from './chat.ts';

/** Pictures and speech: what they will cost, before they are made. */

/** What a picture has that the price is for. */
const standard = { pixels: 1_024n * 1_024n, steps: 25n } as const;

export interface ImageRequest {
  readonly width: number;
  readonly height: number;
  readonly steps: number;
  readonly count: number;
}

/** Grows with width, height, steps and how many; rounded up once, as the charge is. */
export function imagePrice(imageNanoUsd: bigint, { width, height, steps, count }: ImageRequest): bigint {
  const size = BigInt(width) * BigInt(height) * BigInt(steps) * BigInt(count);
  return proratePrice(imageNanoUsd, size, standard.pixels * standard.steps);
}

/** As they are counted for the price: a sign outside the first plane of Unicode is one. */
export function countCharacters(text: string): number {
  return Array.from(text).length;
}

export function speechPrice(characterNanoUsd: bigint, text: string): bigint {
  return characterNanoUsd * BigInt(countCharacters(text));
}

export const imageSizes = [
  '512x512',
  '768x768',
  '1024x1024',
  '1024x768',
  '768x1024',
  '1536x1024',
  '1024x1536',
] as const;

/** The most characters of one speech. */
export const speechMax = 4_096;
export const stepsDefault = 30;

export interface ImageFields {
  readonly size: string;
  readonly steps: string;
  readonly count: string;
  readonly seed: string;
}

export type ImageErrors = { readonly [Field in keyof ImageFields]?: string };

export function parseImageFields(
  fields: ImageFields,
):
  | { readonly ok: true; readonly request: ImageRequest; readonly seed: number | null }
  | { readonly ok: false; readonly errors: ImageErrors } {
  const [width = 0, height = 0] = fields.size.split('x').map(Number);
  const steps = parseNumber(fields.steps) ?? stepsDefault;
  const count = parseNumber(fields.count) ?? 1;
  const seed = parseNumber(fields.seed);
  const isWhole = (value: number, least: number, most: number): boolean =>
    Number.isInteger(value) && value >= least && value <= most;
  const errors: ImageErrors = {
    ...(!(isWhole(width, 128, 2_496) && isWhole(height, 128, 2_496)) && {
      size: 'Width and height are 128 to 2496 each.',
    }),
    ...(!isWhole(steps, 1, 1_000) && { steps: 'A whole number from 1 to 1000.' }),
    ...(!isWhole(count, 1, 10) && { count: 'A whole number from 1 to 10.' }),
    ...(seed !== null && !Number.isSafeInteger(seed) && { seed: 'A whole number, or nothing.' }),
  };
  if (Object.keys(errors).length > 0) return { ok: false, errors };
  return { ok: true, request: { width, height, steps, count }, seed };
}

const fileSignatures = [
  { type: 'image/png', ending: 'png', bytes: [0x89, 0x50, 0x4e, 0x47] },
  { type: 'image/jpeg', ending: 'jpg', bytes: [0xff, 0xd8, 0xff] },
  { type: 'image/webp', ending: 'webp', bytes: [0x52, 0x49, 0x46, 0x46] },
] as const;

/** What a picture is, by how it begins: engines make what they like. */
export function detectImageType(data: Uint8Array): { readonly type: string; readonly ending: string } {
  const known = fileSignatures.find(({ bytes }) => bytes.every((byte, at) => data[at] === byte));
  return known ?? { type: 'application/octet-stream', ending: 'bin' };
}

export function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = globalThis.atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.codePointAt(at) ?? 0;
  return bytes;
}
