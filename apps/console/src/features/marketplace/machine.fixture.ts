import type { Machine } from './machine.ts';

export const machineFixture: Machine = {
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

export function machineWith(
  fields: Partial<Machine> & {
    readonly gpu?: string;
    readonly tflops?: number;
    readonly usd?: number;
    readonly region?: string;
  },
): Machine {
  const { gpu = 'H100', tflops = 0, usd = 2, region = 'eu-west-1', ...rest } = fields;
  const [first] = machineFixture.hardware.gpus;
  return {
    ...machineFixture,
    hardware: {
      ...machineFixture.hardware,
      gpus: first === undefined ? [] : [{ ...first, model: gpu, compute_power: tflops }],
    },
    location: { region },
    pricing: { price: { amount: usd, period: 'hourly', agent: 'platform' } },
    ...rest,
  };
}
