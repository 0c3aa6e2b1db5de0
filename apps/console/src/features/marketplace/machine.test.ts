import { expect, test } from 'vitest';
import {
  freeGpus,
  gpuLabel,
  hardwareTexts,
  networkTexts,
  perHour,
  rentDisabledReason,
  supplierName,
} from './machine.ts';
import { machineFixture as machine } from './machine.fixture.ts';

test('freeGpus and perHour return available GPUs and the exact price', () => {
  expect(freeGpus(machine)).toBe(5);
  expect(perHour(machine, 5)).toBe(9_999_999_995n);
});

test('gpuLabel marks a GPU as unverified, even if its model is unknown', () => {
  expect(gpuLabel(machine)).toBe('H100 (unverified)');
  expect(gpuLabel({ hardware: { ...machine.hardware, gpus: [] } })).toBe('GPU (unverified)');
});

test('hardwareTexts and networkTexts describe only known values', () => {
  expect(hardwareTexts(machine)).toEqual(['EPYC 9654, 192 threads', '1,024 GB RAM', '3.8 TB disk']);
  expect(networkTexts(machine)).toEqual(['940 Mb/s down', '871 Mb/s up', 'public IP address']);
  const bare = { hardware: { cpus: [], gpus: [], storage: [], ram: [] }, network: {} };
  expect(hardwareTexts(bare)).toEqual([]);
  expect(networkTexts(bare)).toEqual([]);
});

test('rentDisabledReason says why a machine cannot be rented', () => {
  expect(rentDisabledReason(machine)).toBeNull();
  expect(rentDisabledReason({ ...machine, gpus_reserved: 8 })).toMatch(/are rented/);
  expect(rentDisabledReason({ ...machine, status: 'node_offline' })).toMatch(/is offline/);
});

test('supplierName names the operator and shortens other ids', () => {
  expect(supplierName('platform')).toBe('the operator');
  expect(supplierName('sup_01abcdef')).toBe('supplier abcdef');
});
