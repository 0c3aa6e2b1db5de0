import {
  bareMetalRegions,
  providerVariantNames,
  virtualMachineRegions,
  type ProviderVariant,
} from '@millrace/contract';
import type { ProviderSetting } from '@millrace/platform/config';
import type { Mode } from '@millrace/platform/envelope';
import { afterAll, describe, expect, it } from 'vitest';
import { reconcileUntil } from '../reconcile/reconcile.fixture.ts';
import { startRentalQueryApi, type RentalQueryResponse } from '../read/rental-queries.fixture.ts';
import type { Tenant } from '../model/rental.fixture.ts';
import type { Rental } from '../model/rental.ts';
import { findRentalByWireId } from '../model/rentals.store.ts';

/**
 * One installation with ten providers, one of each variant. Live providers use mock engines, because records do not depend on the
 * engine. Each variant has its own region, so that an order there gets it.
 */

const paths = {
  'virtual-machine': '/v2/on-demand/virtual-machine-rentals',
  'bare-metal': '/v2/on-demand/bare-metal-rentals',
} as const;
type RentalType = keyof typeof paths;

const thirdParty = providerVariantNames.filter((variant) => variant.startsWith('V'));
const regionOf = (variant: ProviderVariant): string =>
  virtualMachineRegions[thirdParty.indexOf(variant)] ?? '';
/** There are seven regions, so the last variant has none. */
const metalRegionOf = (variant: ProviderVariant): string | undefined =>
  bareMetalRegions[thirdParty.indexOf(variant)];
const idOf = (variant: ProviderVariant): string =>
  variant.startsWith('V') ? `provider-${variant.toLowerCase()}` : variant;

function clusterOf(name: string, region: string, offer: RentalType): ProviderSetting['clusters'][number] {
  return {
    name,
    region,
    endpoint: `https://${name}.example:8443`,
    offer,
    connectionType: 'infiniband',
    credential: null,
    ports: { first: 20_000, last: 29_999 },
    settings: { defaultImage: 'ubuntu-24.04' },
  };
}

/** Every harness already has V1 and `mock`. */
const others = thirdParty.slice(1).map((variant): ProviderSetting => {
  const [region, metal] = [regionOf(variant), metalRegionOf(variant)];
  return {
    id: idOf(variant),
    variant,
    driver: 'incus',
    regions: [region, ...(metal === undefined ? [] : [metal])].map((name) => ({
      region: name,
      customPorts: true,
    })),
    clusters: [
      clusterOf(`${variant.toLowerCase()}-vm`, region, 'virtual-machine'),
      ...(metal === undefined ? [] : [clusterOf(`${variant.toLowerCase()}-metal`, metal, 'bare-metal')]),
    ],
  };
});
const privateCloud: ProviderSetting = {
  id: 'private-cloud',
  variant: 'private-cloud',
  driver: 'incus',
  regions: [],
  clusters: [],
};

const api = await startRentalQueryApi({
  variant: 'V1',
  portListeners: true,
  more: [...others, privateCloud],
});
afterAll(() => api.close());

async function ok(
  response: Promise<RentalQueryResponse>,
  status = 200,
): Promise<RentalQueryResponse['json']> {
  const { status: actual, text, json } = await response;
  expect([actual, text]).toEqual([status, text]);
  return json;
}

const found = async (tenant: Tenant, mode: Mode, wireId: number): Promise<Rental> =>
  (await findRentalByWireId(api.harness.db, tenant.orgId, mode, wireId)) ??
  expect.fail('The rental does not exist.');

interface Case {
  readonly variant: ProviderVariant;
  readonly rentalType: RentalType;
  readonly body: object;
}

const cases: readonly Case[] = [
  ...thirdParty.map((variant) => ({
    variant,
    rentalType: 'virtual-machine' as const,
    body: {
      gpuCount: 2,
      region: regionOf(variant),
      networkType: variant === 'V1' ? 'ethernet' : 'infiniband',
      customPorts: [8080],
    },
  })),
  ...thirdParty.flatMap((variant) => {
    const region = metalRegionOf(variant);
    const body = { gpuCount: 16, networkType: 'infiniband', region };
    return region === undefined ? [] : [{ variant, rentalType: 'bare-metal' as const, body }];
  }),
  {
    variant: 'mock',
    rentalType: 'virtual-machine',
    body: { gpuCount: 1, region: 'mock-region', customPorts: [8080] },
  },
];

/** Names of the CPU fields by variant, as the interface specifies. */
const cpuFields: Partial<Record<ProviderVariant, readonly string[]>> = {
  V2: ['cpuCount', 'vcpuCount'],
  V3: ['cpuCount'],
  V8: ['cpuCount', 'vcpuCount'],
};

it('the installation has ten providers, one of each variant', async () => {
  const providers = await api.harness.rows<{ variant: string }>('select variant from providers');
  expect(providers.map(({ variant }) => variant).toSorted()).toEqual([...providerVariantNames].toSorted());
});

describe.each(cases)('a $rentalType of $variant', ({ variant, rentalType, body }) => {
  it('can be rented, and every response matches the closed schema of its variant', async () => {
    const { harness, operations } = api;
    const mode: Mode = variant === 'mock' ? 'test' : 'live';
    const tenant = await harness.tenant();
    const path = paths[rentalType];
    await harness.watch();
    const created = await ok(api.send(tenant, mode, { path, method: 'POST', body }));
    expect(operations.createVirtualMachineRental.response.schema.parse(created)).toEqual(created);
    expect(created.providerData.providerId).toBe(idOf(variant));
    expect(created.providerData.sshNetworking).toBeUndefined();

    const rental = await found(tenant, mode, created.id);
    await reconcileUntil(harness, rental, { until: 'Running' });
    const shown = await ok(api.send(tenant, mode, { path: `/v2/on-demand/rentals/${created.id}` }));
    expect(operations.getRental.response.schema.parse(shown)).toEqual(shown);
    const { providerData } = shown;
    const counted = ['cpuCount', 'vcpuCount'].filter((field) => field in providerData.resources);
    expect(counted).toHaveLength(1);
    expect(cpuFields[variant] ?? ['vcpuCount']).toContain(counted[0]);
    expect(providerData.sshNetworking).toHaveLength(rental.nodeCount);
    expect(providerData.nodeNetworking).toHaveLength(rental.nodeCount);
    expect(providerData.resources.gpuCount).toBe(rental.gpuCount);

    const listed = await ok(api.send(tenant, mode, { path }));
    if (rentalType === 'bare-metal') {
      expect(operations.listBareMetalRentals.response.schema.parse(listed)).toEqual(listed);
      expect(listed).toHaveLength(1);
      expect(listed[0]).toMatchObject({ id: created.id, status: 'Running', providerData });
    } else expect(listed.items).toMatchObject([{ id: created.id, status: 'Running', providerData }]);

    const end = { path: `${path}/terminate`, method: 'POST', body: { rentalId: created.id } } as const;
    await ok(api.send(tenant, mode, end));
    await reconcileUntil(harness, rental, { until: 'Terminated' });
    expect(await harness.violations()).toEqual([]);
  });
});

describe('a rental of private-cloud', () => {
  it('is created by the operator, matches its closed schema, and has no meter', async () => {
    const { harness, operations } = api;
    const tenant = await harness.tenant();
    const body = {
      organisationId: tenant.orgId,
      name: 'apollo',
      gpuType: 'h200',
      gpuCount: 1_024,
      gpuModel: 'NVIDIA H200',
      location: 'Reykjavik',
      nodes: [
        { role: 'login', hostname: 'login-1', publicIp: '203.0.113.7', privateIp: '10.1.0.1' },
        { privateIp: '10.1.0.2' },
      ],
      sshUser: 'ada',
      salesContractExternalId: 'SC-77',
      reason: 'contract SC-77',
    };
    const created = await ok(
      api.send(tenant, 'live', { path: '/v2/admin/private-cloud-rentals', method: 'POST', body }),
      201,
    );
    expect(operations.adminCreatePrivateCloudRental.response.schema.parse(created)).toEqual(created);
    const listed = await ok(api.send(tenant, 'live', { path: paths['bare-metal'] }));
    expect(operations.listBareMetalRentals.response.schema.parse(listed)).toEqual(listed);
    expect(listed).toMatchObject([
      {
        id: created.id,
        region: 'private-cloud',
        status: 'Running',
        gpuCount: 1_024,
        currentTerm: { termType: 'private-cloud', costPerHour: 0, reservedUntil: null },
        meta: { sales_contract_external_id: 'SC-77' },
        supportsFeature: { attachedStorage: false },
        providerData: {
          providerId: 'private-cloud',
          location: 'Reykjavik',
          sshUser: 'ada',
          sshPort: 22,
          sshNetworking: [{ host: '203.0.113.7', port: 22, user: 'ada' }],
          nodes: [{ role: 'login' }, { role: 'compute', privateIp: '10.1.0.2' }],
        },
      },
    ]);
    expect(await harness.rows(`select 1 from meters where cause_id = '${created.id}'`)).toEqual([]);
  });
});
