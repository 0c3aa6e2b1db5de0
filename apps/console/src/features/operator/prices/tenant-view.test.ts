import { describe, expect, it } from 'vitest';
import { emptyPriceForm, type Price } from './price-form.ts';
import { offerPlaces, type SoldFleet } from './tenant-view.ts';

const gpu = (over: object = {}) => ({
  gpuType: 'h100',
  state: 'present' as const,
  allocatedTo: null,
  ...over,
});
const open = (region: string) => ({ region, enabled: true, configured: true, customPorts: true });
const fleet: SoldFleet = {
  providers: [
    {
      id: 'live',
      mode: 'live',
      enabled: true,
      configured: true,
      regions: [open('us-east-1'), open('eu-west-1')],
    },
    { id: 'mock', mode: 'test', enabled: true, configured: true, regions: [open('mock-region')] },
  ],
  clusters: [
    { id: 'cls_1', offer: 'virtual-machine', connectionType: 'ethernet', providerId: 'live' },
    { id: 'cls_2', offer: 'bare-metal', connectionType: 'infiniband', providerId: 'live' },
    { id: 'cls_3', offer: 'virtual-machine', connectionType: 'ethernet', providerId: 'mock' },
  ],
  nodes: [
    {
      clusterId: 'cls_1',
      status: 'node_ready',
      region: 'us-east-1',
      gpus: [gpu(), gpu({ allocatedTo: 'x' })],
    },
    {
      clusterId: 'cls_1',
      status: 'node_ready',
      region: 'us-east-1',
      gpus: [gpu(), gpu({ state: 'faulty' })],
    },
    {
      clusterId: 'cls_1',
      status: 'node_ready',
      region: 'eu-west-1',
      gpus: [gpu(), gpu({ gpuType: 'h200' })],
    },
    { clusterId: 'cls_1', status: 'node_offline', region: 'eu-west-1', gpus: [gpu()] },
    { clusterId: 'cls_2', status: 'node_ready', region: 'us-east-1', gpus: [gpu()] },
    { clusterId: 'cls_3', status: 'node_ready', region: 'mock-region', gpus: [gpu()] },
  ],
};
const regional: Price = {
  id: 'prc_eu',
  organisationId: null,
  subject: { kind: 'gpu', gpuType: 'h100', machineType: 'virtual-machine', region: 'eu-west-1' },
  unit: 'gpu_hour',
  priceNanoUsd: '3000000000',
  validFrom: '2026-08-01T12:00:00.000Z',
  validUntil: null,
  createdAt: '2026-08-01T12:00:00.000Z',
};

describe('offerPlaces', () => {
  it('counts the GPUs of ready live nodes of the machine type, by region', () => {
    expect(offerPlaces(emptyPriceForm, fleet, [])).toEqual([
      { region: 'eu-west-1', network: 'ethernet', gpus: 1, free: 1, instead: null },
      { region: 'us-east-1', network: 'ethernet', gpus: 3, free: 2, instead: null },
    ]);
    expect(offerPlaces({ ...emptyPriceForm, machineType: 'bare-metal' }, fleet, [])).toEqual([
      { region: 'us-east-1', network: 'infiniband', gpus: 1, free: 1, instead: null },
    ]);
  });

  it('keeps to the region and network of the form', () => {
    expect(offerPlaces({ ...emptyPriceForm, region: 'eu-west-1' }, fleet, [])).toHaveLength(1);
    expect(offerPlaces({ ...emptyPriceForm, networkType: 'infiniband' }, fleet, [])).toEqual([]);
  });

  it('names a more specific price, which tenants see instead', () => {
    const [europe, america] = offerPlaces(emptyPriceForm, fleet, [regional]);
    expect(europe?.instead?.id).toBe('prc_eu');
    expect(america?.instead).toBeNull();
    const [same] = offerPlaces({ ...emptyPriceForm, region: 'eu-west-1' }, fleet, [regional]);
    expect(same?.instead).toBeNull();
  });

  it('leaves out regions and providers that are disabled', () => {
    const closed = { ...fleet, providers: fleet.providers.map((each) => ({ ...each, enabled: false })) };
    expect(offerPlaces(emptyPriceForm, closed, [])).toEqual([]);
    const old = { ...fleet, providers: fleet.providers.map((each) => ({ ...each, configured: false })) };
    expect(offerPlaces(emptyPriceForm, old, [])).toEqual([]);
  });
});
