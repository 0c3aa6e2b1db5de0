import { proratePrice } from '@millrace/sdk/text';
import { parseNumber } from './chat.ts';

/** Prices and input checks of images and speech. */

/** Image that the model's price refers to. */
const standard = { pixels: 1_024n * 1_024n, steps: 25n } as const;

export interface ImageRequest {
  readonly width: number;
  readonly height: number;
  readonly steps: number;
  readonly count: number;
}

/** Proportional to width, height, steps and count; rounded up once, as the charge is. */
export function imagePrice(imageNanoUsd: bigint, { width, height, steps, count }: ImageRequest): bigint {
  const size = BigInt(width) * BigInt(height) * BigInt(steps) * BigInt(count);
  return proratePrice(imageNanoUsd, size, standard.pixels * standard.steps);
}

/** Unicode code points, as the price counts them. */
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
      size: 'Enter width and height from 128 to 2496.',
    }),
    ...(!isWhole(steps, 1, 1_000) && { steps: 'Enter a whole number from 1 to 1000.' }),
    ...(!isWhole(count, 1, 10) && { count: 'Enter a whole number from 1 to 10.' }),
    ...(seed !== null && !Number.isSafeInteger(seed) && { seed: 'Enter a whole number, or leave empty.' }),
  };
  if (Object.keys(errors).length > 0) return { ok: false, errors };
  return { ok: true, request: { width, height, steps, count }, seed };
}

const fileSignatures = [
  { type: 'image/png', ending: 'png', bytes: [0x89, 0x50, 0x4e, 0x47] },
  { type: 'image/jpeg', ending: 'jpg', bytes: [0xff, 0xd8, 0xff] },
  { type: 'image/webp', ending: 'webp', bytes: [0x52, 0x49, 0x46, 0x46] },
] as const;

/** Detects the type from the first bytes, because engines choose the format. */
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
