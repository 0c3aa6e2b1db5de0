import { expect, test } from 'vitest';
import {
  freeGpus,
  gpuLabel,
  hardwareTexts,
  networkTexts,
  perHour,
  rentDisabledReason,
  type Machine,
} from './machine.ts';

const machine: Machine = {
  id: 'nod_1',
  status: 'node_ready',
  hardware: {
    cpus: [{ hardware_type: 'cpu', model: 'EPYC 9654', cores: 96, virtual_cores: 192 }],
    gpus: [
      {
        hardware_type: 'gpu',
        model: 'H100',
        clock_speed: 0,
        compute_power: 0,
        ram: 81_559,
        interface: 'PCIe',
      },
    ],
    storage: [{ hardware_type: 'storage', capacity: 3_840 }],
    ram: [{ hardware_type: 'ram', capacity: 1_048_576 }],
  },
  instances: [],
  location: { region: 'eu-west-1' },
  network: { bandwidth_mbps_down: 940.4, bandwidth_mbps_up: 870.6, public_ip: true },
  gpus_total: 8,
  gpus_reserved: 3,
  has_persistent_storage: false,
  supplier_id: 'platform',
  pricing: { price: { amount: 1.999999999, period: 'hourly', agent: 'platform' } },
  reserved: false,
  cluster_name: 'c1',
};

test('freeGpus and perHour return available GPUs and the exact price', () => {
  expect(freeGpus(machine)).toBe(5);
  expect(perHour(machine, 5)).toBe(9_999_999_995n);
});

test('gpuLabel marks a GPU as unverified, even if its model is unknown', () => {
  expect(gpuLabel(machine)).toBe('H100 (unverified)');
  expect(gpuLabel({ hardware: { ...machine.hardware, gpus: [] } })).toBe('GPU (unverified)');
});

test('hardwareTexts and networkTexts describe only known values', () => {
  expect(hardwareTexts(machine)).toEqual(['EPYC 9654, 192 threads', '1,024 GiB memory', '3,840 GB disk']);
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
