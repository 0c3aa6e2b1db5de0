import { describe, expect, test } from 'vitest';
import {
  decodeBase64,
  countCharacters,
  imagePrice,
  detectImageType,
  parseImageFields,
  speechPrice,
} from './media.ts';

describe('imagePrice', () => {
  const price = 10_000_000n;

  test("is the model's price at 1024 x 1024 and 25 steps", () => {
    expect(imagePrice(price, { width: 1_024, height: 1_024, steps: 25, count: 1 })).toBe(price);
    expect(imagePrice(price, { width: 1_024, height: 1_024, steps: 25, count: 4 })).toBe(4n * price);
  });

  test('grows with width, height and steps', () => {
    expect(imagePrice(price, { width: 512, height: 512, steps: 50, count: 1 })).toBe(5_000_000n);
    expect(imagePrice(price, { width: 1_024, height: 1_024, steps: 30, count: 1 })).toBe(12_000_000n);
  });

  test('rounds up once, for all images together', () => {
    expect(imagePrice(1n, { width: 512, height: 512, steps: 25, count: 1 })).toBe(1n);
    expect(imagePrice(1n, { width: 512, height: 512, steps: 25, count: 5 })).toBe(2n);
  });
});

test('speechPrice counts Unicode code points', () => {
  expect(countCharacters('Mühle 🌊')).toBe(7);
  expect(speechPrice(5_000n, 'Mühle 🌊')).toBe(35_000n);
});

describe('parseImageForm', () => {
  const fields = { size: '768x1024', steps: '', count: '2', seed: '' };

  test('uses defaults for empty fields', () => {
    expect(parseImageFields(fields)).toEqual({
      ok: true,
      request: { width: 768, height: 1_024, steps: 30, count: 2 },
      seed: null,
    });
    expect(parseImageFields({ ...fields, seed: '7' })).toMatchObject({ ok: true, seed: 7 });
  });

  test('reports all issues at once', () => {
    const read = parseImageFields({ size: '64x9000', steps: '0', count: '11', seed: '1.5' });
    expect(read.ok || Object.keys(read.errors)).toEqual(['size', 'steps', 'count', 'seed']);
  });
});

test('detectImageType reads the first bytes', () => {
  expect(detectImageType(decodeBase64('iVBORw0KGgo='))).toMatchObject({ type: 'image/png', ending: 'png' });
  expect(detectImageType(decodeBase64('/9j/4AAQ'))).toMatchObject({ ending: 'jpg' });
  expect(detectImageType(decodeBase64('AAAA'))).toMatchObject({ ending: 'bin' });
});
