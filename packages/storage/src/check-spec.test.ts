import { DriverError } from '@millrace/compute';
import { testIds } from '@millrace/testing';
import fc from 'fast-check';
import { expect, it, test } from 'vitest';
import { checkVolumeId, checkVolumeSpec, isHostAddress } from './check-spec.ts';

const request = {
  externalId: '0193a1b2-0000-7000-8000-000000000001',
  orgId: testIds.next('org'),
  sizeGb: 256,
  vip: '10.8.0.10',
  clients: ['10.9.0.1', '10.9.0.2'],
};

test('checkVolumeSpec accepts a valid spec, also without clients', () => {
  expect(() => checkVolumeSpec(request)).not.toThrow();
  expect(() => checkVolumeSpec({ ...request, clients: [] })).not.toThrow();
});

it.each([
  { externalId: '../x' },
  { externalId: '' },
  { sizeGb: 0 },
  { sizeGb: Number.NaN },
  { sizeGb: 0.5 },
  { vip: '' },
  { vip: '10.8.0' },
  { clients: ['*'] },
  { clients: ['10.9.0.1', '10.9.0.1'] },
  { clients: ['10.9.0.0/24'] },
])('checkVolumeSpec refuses %j permanently', (changes) => {
  expect(() => checkVolumeSpec({ ...request, ...changes })).toThrow(DriverError);
});

test('isHostAddress and checkVolumeId accept no text with other characters than addresses and ids have', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.ipV4(), fc.ipV4Extended()), (text) => {
      if (isHostAddress(text)) expect(text).toMatch(/^\d{1,3}(?:\.\d{1,3}){3}$/);
    }),
  );
  fc.assert(
    fc.property(fc.string(), (text) => {
      try {
        checkVolumeId(text);
      } catch {
        return;
      }
      expect(text).toMatch(/^[a-z0-9-]+$/);
    }),
  );
});
