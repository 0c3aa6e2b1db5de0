import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DriverError } from './driver-error.ts';
import { plainText } from './plain-text.ts';

it('plainText keeps ordinary text unchanged', () => {
  expect(plainText('Incus could not make the instance: no space left (500)')).toBe(
    'Incus could not make the instance: no space left (500)',
  );
});

it('plainText removes control characters and lone surrogates and limits the length', () => {
  const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 5_000 }), fc.string({ maxLength: 5_000 }));
  fc.assert(
    fc.property(text, fc.boolean(), (value, half) => {
      const given = half ? `${value}\ud83d\u0000\u001b[31m\u202e` : value;
      for (const plain of [plainText(given), new DriverError('failed', given).message]) {
        expect(plain).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
        expect(plain.isWellFormed()).toBe(true);
        expect(plain.length).toBeLessThanOrEqual(1_900);
      }
    }),
  );
});
