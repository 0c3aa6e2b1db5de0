import { contract } from '@millrace/contract';
import { nanoUsd, ppm, zeroUsd } from '@millrace/platform/money';
import { testIds } from '@millrace/testing';
import { describe, expect, it } from 'vitest';
import type { RentalRecord, MachineSummary } from '../../rentals/index.ts';
import type { Instance } from './instances.ts';
import { toWireDetail, toWireInstance } from './instances.wire.ts';

const orgId = testIds.next('org');
const nodeId = testIds.next('nod');
const rentalId = testIds.next('rnt');
const at = (second: number): Date => new Date(Date.UTC(2026, 0, 1) + second * 1_000);

const gpu = {
  hardware_type: 'gpu',
  model: 'NVIDIA GeForce RTX 4090',
  clock_speed: 2_520,
  compute_power: 82,
  ram: 24_564,
  interface: 'pcie',
} as const;

const instance: Instance = {
  rentalId,
  orgId,
  mode: 'live',
  name: 'actual-bonsai-frog',
  nodeId,
  clusterName: 'c1',
  pricePerGpuHour: nanoUsd(990_000_000n),
  fee: ppm(100_000),
  machine: {
    id: nodeId,
    status: 'node_ready',
    hardware: {
      cpus: [{ hardware_type: 'cpu', model: 'EPYC', cores: 64, virtual_cores: 64 }],
      gpus: [gpu, gpu, gpu, gpu],
      storage: [{ hardware_type: 'storage', capacity: 4_000 }],
      ram: [{ hardware_type: 'ram', capacity: 512_000 }],
    },
    location: { region: 'us-central-1' },
    network: { public_ip: true },
    gpus_total: 4,
    gpus_reserved: 1,
    has_persistent_storage: true,
    supplier_id: 'sup_x',
    pricing: { price: { amount: 0.99, period: 'hourly', agent: 'platform' } },
    reserved: false,
    cluster_name: 'c1',
  },
};

const machine: MachineSummary = {
  position: 1,
  externalId: 'x',
  gpuAddresses: ['0000:81:00.0', '0000:82:00.0'],
  ports: [
    { internalPort: 22, externalPort: 31_424, protocol: 'tcp' },
    { internalPort: 8080, externalPort: 31_425, protocol: 'tcp' },
  ],
  cpuCount: 8,
  ramMb: 65_536,
  diskGb: 500,
  state: 'open',
  address: '203.0.113.7',
  privateIp: null,
  sshUser: 'ubuntu',
  hostKey: 'SHA256:x',
  cpuModel: null,
  gpuFormFactor: null,
};

const term: RentalRecord['terms'][number] = {
  seq: 1,
  termType: 'on-demand',
  price: {
    version: 1,
    product: 'rental',
    rateNanoUsdPerHour: '1980000000',
    originalNanoUsdPerHour: '1980000000',
    discountPpm: 0,
    quantity: 2,
    unitNanoUsdPerHour: '990000000',
    reserve: null,
    priceIds: [],
    frozenAt: at(0).toISOString(),
  },
  holdId: null,
  meterName: 'gpu',
  effectiveAt: null,
  endsAt: null,
};

function recordWith(
  status: RentalRecord['rental']['status'],
  machines: readonly MachineSummary[],
): RentalRecord {
  return {
    rental: {
      id: rentalId,
      wireId: 7,
      orgId,
      mode: 'live',
      kind: 'instance',
      userId: testIds.next('usr'),
      providerId: 'marketplace',
      region: 'us-central-1',
      gpuType: 'other',
      gpuCount: 2,
      connectionType: 'ethernet',
      name: null,
      label: null,
      tags: {},
      image: null,
      customPorts: [8080],
      monitoring: false,
      convertOnExpiry: false,
      status,
      statusReason: null,
      statusSince: at(0),
      power: 'on',
      gpuHeld: true,
      attempt: 1,
      createdAt: at(0),
      updatedAt: null,
      startedAt: status === 'Running' ? at(30) : null,
      endedAt: null,
      endReason: null,
      expiresAt: null,
      maxNanoUsd: null,
      privateCloud: null,
      nodeCount: 1,
      diskPrice: null,
      billingPausedAt: null,
    },
    variant: 'V8',
    createdBy: { id: testIds.next('usr'), name: null, email: 'ada@example.com', picture: null },
    machines,
    terms: [],
    steps: [],
    attached: [],
    cost: zeroUsd,
    livePrices: null,
  };
}

describe('instance responses', () => {
  it('contain the SSH command and a hostname per port for an online instance', () => {
    const wire = toWireInstance({ instance, record: recordWith('Running', [machine]) }, 'run.example.com');
    const { schema } = contract.operations.listMarketplaceInstances.response;
    expect(schema.parse({ instances: [wire] })).toEqual({ instances: [wire] });
    expect(wire).toMatchObject({
      id: 'actual-bonsai-frog',
      start: at(30).toISOString(),
      sshCommand: 'ssh ubuntu@203.0.113.7 -p 31424',
      portMappings: [{ domain: '8080-actual-bonsai-frog.run.example.com', protocol: 'https', port: 8080 }],
      instance: { status: 'online', gpu_count: 2, owner: orgId, cluster_name: 'c1' },
    });
  });

  it('show only the instance itself on its machine, with its own GPUs', () => {
    const { instances } = toWireInstance(
      { instance, record: recordWith('Running', [machine]) },
      null,
    ).instance;
    const { hardware_type, model, ram } = gpu;
    const own = { gpu: { hardware_type, model, ram } };
    expect(instances).toEqual([{ id: 'actual-bonsai-frog', status: 'online', hardware: [own, own] }]);
  });

  it('show the listed price as the price of live mode, in test mode only', () => {
    const record = { ...recordWith('Running', [machine]), terms: [term] };
    const ofTest = { ...instance, mode: 'test' as const };
    expect(toWireDetail({ instance: ofTest, record }, null).liveCostPerHourNanoUsd).toBe('1980000000');
    expect(toWireDetail({ instance, record }, null)).not.toHaveProperty('liveCostPerHourNanoUsd');
  });

  it('show GPUs as unverified', () => {
    const record = { ...recordWith('Running', [machine]), terms: [term] };
    const wire = toWireDetail({ instance, record }, null);
    const { schema } = contract.operations.getMarketplaceInstance.response;
    expect(schema.parse(wire)).toEqual(wire);
    expect(wire).toMatchObject({ number: 7, gpuModel: gpu.model, gpuVerification: 'unverified' });
  });

  it('show hosts and ports if the operator offers no hostnames', () => {
    const { portMappings } = toWireInstance({ instance, record: recordWith('Running', [machine]) }, null);
    expect(portMappings).toEqual([{ domain: '203.0.113.7', protocol: 'tcp', port: 31_425 }]);
  });

  it('show hosts and ports for instances of test keys, which get no hostnames', () => {
    const ofTest = { ...instance, mode: 'test' as const };
    const { portMappings } = toWireInstance(
      { instance: ofTest, record: recordWith('Running', [machine]) },
      'run.example.com',
    );
    expect(portMappings).toEqual([{ domain: '203.0.113.7', protocol: 'tcp', port: 31_425 }]);
  });

  it.each([
    ['while the instance starts', recordWith('Pending', [{ ...machine, state: 'made' }]), 'starting'],
    ['before it has a machine', recordWith('Pending', []), 'creating'],
    [
      'once its termination was accepted',
      recordWith('Terminating', [{ ...machine, state: 'doomed' }]),
      'stopping',
    ],
  ])('contain no SSH command or ports %s', (_when, record, status) => {
    const wire = toWireInstance({ instance, record }, 'run.example.com');
    expect(wire).toMatchObject({ sshCommand: null, portMappings: [], instance: { status } });
  });

  it('contain no SSH command or ports for a host with an invalid name', () => {
    const hostile = { ...machine, address: 'x; rm -rf ~', sshUser: 'root$(id)' };
    const wire = toWireInstance({ instance, record: recordWith('Running', [hostile]) }, null);
    expect(wire).toMatchObject({ sshCommand: null, portMappings: [] });
  });
});
