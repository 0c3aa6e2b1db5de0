import { expect, test } from 'vitest';
import { fakeApi, runCli } from '../fixture.ts';

const machine = {
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
  network: {},
  gpus_total: 8,
  gpus_reserved: 3,
  has_persistent_storage: false,
  supplier_id: 'sup_1',
  pricing: { price: { amount: 2, period: 'hourly', agent: 'platform' } },
  reserved: false,
  cluster_name: 'c1',
};

test.each([
  ['all machines are shown', ['market', 'list']],
  ['there are more machines', ['market', 'list', '--limit', '1']],
])('market list says that the GPUs are unverified if %s', async (_when, words) => {
  const api = fakeApi({ 'POST /v1/marketplace': { instances: [machine, { ...machine, id: 'nod_2' }] } });
  const { code, stdout, stderr } = await runCli(words, api);
  expect(code).toBe(0);
  expect(stdout).toContain('nod_1');
  expect(stderr).toContain('GPUs are unverified');
});
