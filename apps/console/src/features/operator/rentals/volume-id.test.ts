import { expect, it } from 'vitest';
import { volumeIdIssue } from './volume-id.ts';

it.each(['7', '2147483647'])('volumeIdIssue accepts %s', (text) => {
  expect(volumeIdIssue(text)).toBe(false);
});

it.each(['', '0', '-7', '7.5', 'vol_1', '2147483648', '12345678901'])(
  'volumeIdIssue rejects "%s"',
  (text) => {
    expect(volumeIdIssue(text)).toMatch(/\.$/);
  },
);
