import fc from 'fast-check';
import { expect, it } from 'vitest';
import { resourcesSchema } from './api/schemas.ts';
import { gpuOf, hardwareOf, hostOf, networkProblem, nodeOf } from './incus-inventory.ts';

const card = {
  driver: 'nvidia',
  driver_version: '550.54',
  nvidia: {
    cuda_version: '12.4',
    nvrm_version: '550.54',
    brand: 'Nvidia',
    model: 'NVIDIA H100 80GB HBM3',
    uuid: 'GPU-1',
  },
  numa_node: 1,
  pci_address: '0000:81:00.0',
  vendor_id: '10de',
  product_id: '2330',
};
const resources = {
  cpu: { architecture: 'x86_64', sockets: [{ name: 'Intel(R) Xeon(R) Processor', socket: 0 }], total: 96 },
  memory: { used: 2_817_921_024, total: 25_769_803_776 },
  gpu: { cards: [card], total: 1 },
};

it("hardwareOf converts the resources of a member to the platform's units", () => {
  const hardware = hardwareOf(resourcesSchema.parse(resources), 2_147_483_648, {
    'user.millrace.fabric': 'rail-1',
    'user.millrace.connection-type': 'infiniband',
  });
  expect(hardware).toEqual({
    cpuModel: 'Intel(R) Xeon(R) Processor',
    cpuCount: 96,
    ramMb: 24_576,
    storageGb: 2,
    fabric: 'rail-1',
    connectionType: 'infiniband',
    gpus: [
      {
        pciAddress: '0000:81:00.0',
        uuid: 'GPU-1',
        model: 'NVIDIA H100 80GB HBM3',
        ramMb: null,
        numaNode: 1,
        driverVersion: '550.54',
        cudaVersion: '12.4',
      },
    ],
  });
});

it('gpuOf ignores console graphics chips and cards without an address', () => {
  expect(gpuOf({ ...card, vendor_id: '1a03', nvidia: null })).toBeNull();
  expect(gpuOf({ ...card, pci_address: '' })).toBeNull();
  expect(gpuOf({ ...card, pci_address: '../../etc' })).toBeNull();
});

it('gpuOf uses the product id without a driver, and null for unknown values', () => {
  expect(gpuOf({ ...card, nvidia: null, driver_version: '', numa_node: -1 })).toEqual({
    pciAddress: '0000:81:00.0',
    uuid: null,
    model: 'NVIDIA 2330',
    ramMb: null,
    numaNode: null,
    driverVersion: null,
    cudaVersion: null,
  });
});

it('hardwareOf counts a card that is listed twice once', () => {
  const twice = { ...resources, gpu: { cards: [card, { ...card, numa_node: 0 }] } };
  expect(hardwareOf(resourcesSchema.parse(twice), 0, null).gpus).toHaveLength(1);
});

it('resourcesSchema rejects implausible values', () => {
  for (const total of [0, -1, 1.5, 1e9, Number.NaN]) {
    const implausible = { ...resources, cpu: { ...resources.cpu, total } };
    expect(resourcesSchema.safeParse(implausible).success, String(total)).toBe(false);
  }
  const endless = { ...resources, gpu: { cards: Array.from({ length: 2_000 }, () => card) } };
  expect(resourcesSchema.safeParse(endless).success).toBe(false);
  const heavy = { ...resources, memory: { total: Number.MAX_VALUE } };
  expect(resourcesSchema.safeParse(heavy).success).toBe(false);
});

it('hardwareOf never throws, whatever a member returns', () => {
  const cards = fc.array(fc.dictionary(fc.constantFrom(...Object.keys(card)), fc.anything()));
  const response = fc.record({
    cpu: fc.record({ total: fc.integer() }),
    memory: fc.record({ total: fc.integer() }),
    gpu: fc.record({ cards }),
  });
  fc.assert(
    fc.property(fc.oneof(response, fc.anything()), (value) => {
      const parsed = resourcesSchema.safeParse(value);
      if (!parsed.success) return;
      const hardware = hardwareOf(parsed.data, 0, null);
      expect(hardware.cpuCount).toBeGreaterThanOrEqual(1);
      expect(hardware.ramMb).toBeGreaterThanOrEqual(0);
    }),
  );
});

it('nodeOf reports a member without hardware as unreachable with the reason', () => {
  const offline = { name: 'm2', status: 'Offline', message: 'No heartbeat for 21.6s' };
  expect(nodeOf(offline, '10.0.0.2', null, null)).toEqual({
    name: 'm2',
    reachable: false,
    detail: 'Offline: No heartbeat for 21.6s',
    address: '10.0.0.2',
    hardware: null,
  });
  // A dead member is reported as online for about 20 s.
  const online = { name: 'm2', status: 'Online', message: 'Fully operational' };
  expect(nodeOf(online, null, null, 'connection refused')).toMatchObject({
    reachable: false,
    detail: 'connection refused',
  });
});

it("hostOf returns the host of a member's URL", () => {
  expect(hostOf('https://10.91.0.12:8443')).toBe('10.91.0.12');
  expect(hostOf('https://[fd00::12]:8443')).toBe('fd00::12');
  expect(hostOf('not a URL')).toBeNull();
});

it('networkProblem names a network that is missing, unmanaged, not ready, not a bridge or without IPv4 subnet', () => {
  const settings = { network: 'tenants' } as const;
  const whole = {
    managed: true,
    type: 'bridge',
    status: 'Created',
    config: { 'ipv4.address': '10.20.0.1/16' },
  };
  expect(networkProblem(settings, whole)).toBeNull();
  // As Incus returns it to a certificate that is restricted to a project.
  expect(networkProblem(settings, { ...whole, config: {} })).toBeNull();
  const problems = [
    networkProblem(settings, null),
    networkProblem(settings, { ...whole, managed: false }),
    networkProblem(settings, { ...whole, status: 'Pending' }),
    // Incus filters no addresses on these types, so tenants could take over each other's.
    networkProblem(settings, { ...whole, type: 'macvlan' }),
    networkProblem(settings, { ...whole, type: 'ovn' }),
    networkProblem(settings, { ...whole, config: { 'ipv4.address': 'none' } }),
    networkProblem(settings, { managed: true }),
  ];
  for (const problem of problems) expect(problem).toContain('tenants');
});
