import { fromUuid, type NodeId } from '@millrace/platform/ids';
import fc from 'fast-check';
import type { ListedRecord, MachineRecord } from './machine-record.ts';

/** Test machines with few distinct values, so that filters match and sorts find equal ones. */

export function nodeId(number: number): NodeId {
  return fromUuid('nod', `01900000-0000-7000-8000-${number.toString(16).padStart(12, '0')}`);
}

const anyGpu = fc.constantFrom(
  { model: 'NVIDIA H100 80GB HBM3', ram: 81_559, interface: 'sxm5' },
  { model: 'NVIDIA H100 PCIe', ram: 81_559, interface: 'pcie' },
  { model: 'NVIDIA A100-SXM4-80GB', ram: 81_920, interface: 'sxm5' },
  { model: 'NVIDIA GeForce RTX 4090 «ü"\\»', ram: 24_564, interface: 'pcie' },
);

const anyNetwork = fc.record(
  {
    public_ip: fc.boolean(),
    bandwidth_mbps_down: fc.constantFrom(100, 1_000, 9_000.5),
    interconnect: fc.constantFrom('ethernet', 'infiniband'),
    ports_available: fc.integer({ min: 0, max: 3 }),
  },
  { requiredKeys: [] },
);

export const anyFacts = fc.record({
  status: fc.constantFrom('node_ready', 'node_draining', 'node_offline'),
  gpu: anyGpu,
  otherGpu: fc.option(anyGpu, { nil: null }),
  total: fc.integer({ min: 0, max: 3 }),
  reserved: fc.integer({ min: 0, max: 3 }),
  isTest: fc.integer({ min: 0, max: 4 }).map((roll) => roll === 0),
  region: fc.constantFrom('us-east', 'us-central-1', 'eu'),
  network: anyNetwork,
  price: fc.constantFrom(0.1, 0.25, 1.999999999, 2.5),
  cluster: fc.constantFrom('c1', 'c2', '10', '9'),
  persistent: fc.boolean(),
  instance: fc.option(fc.constantFrom('rnt_a', 'rnt_b'), { nil: null }),
});
export type AnyFacts = typeof anyFacts extends fc.Arbitrary<infer Facts> ? Facts : never;

export function machine(id: NodeId, facts: AnyFacts): ListedRecord {
  const reserved = Math.min(facts.total, facts.reserved);
  const kinds = facts.otherGpu === null ? [facts.gpu] : [facts.gpu, facts.otherGpu];
  const record: MachineRecord = {
    id,
    status: facts.status,
    hardware: {
      cpus: [{ hardware_type: 'cpu', model: 'AMD EPYC 9654', cores: 96, virtual_cores: 192 }],
      gpus: Array.from({ length: facts.total }, (_, index) => ({
        hardware_type: 'gpu' as const,
        clock_speed: 0,
        compute_power: 0,
        ...(kinds[index % kinds.length] ?? facts.gpu),
      })),
      storage: [{ hardware_type: 'storage', capacity: 1_000 }],
      ram: [{ hardware_type: 'ram', capacity: 512_000 }],
    },
    instances:
      facts.instance === null
        ? []
        : [
            {
              id: facts.instance,
              status: 'online',
              hardware: [{ gpu: { hardware_type: 'gpu', model: facts.gpu.model, ram: facts.gpu.ram } }],
            },
          ],
    location: { region: facts.isTest ? 'mock-region' : facts.region },
    network: facts.network,
    gpus_total: facts.total,
    gpus_reserved: reserved,
    has_persistent_storage: facts.persistent,
    supplier_id: 'sup_1',
    pricing: { price: { amount: facts.price, period: 'hourly', agent: 'platform' } },
    reserved: reserved === facts.total,
    cluster_name: facts.cluster,
  };
  return { mode: facts.isTest ? 'test' : 'live', record };
}
