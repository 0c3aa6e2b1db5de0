import { describe, expect, it } from 'vitest';
import { createContract, contract } from '../contract.ts';
import { createProviderDataSchema, defaultProviders, providerVariantNames } from './provider-data.ts';
import type { ProviderVariant } from './provider-data.ts';

const schema = createProviderDataSchema(defaultProviders);

const hardware = { cpuModel: 'EPYC 9654', gpuCount: 8, ramGb: 2048, storageGb: 30_000 };
const withVcpus = { ...hardware, vcpuCount: 192 };
const withCpus = { ...hardware, cpuCount: 192 };

/** The minimal value of each variant. */
const least: Readonly<Record<ProviderVariant, Record<string, unknown>>> = {
  V1: { providerId: 'provider-v1', resources: withVcpus },
  V2: { providerId: 'provider-v2', resources: withVcpus, networkType: 'ethernet' },
  V3: { providerId: 'provider-v3', resources: withCpus },
  V4: { providerId: 'provider-v4', resources: withVcpus },
  V5: { providerId: 'provider-v5', resources: withVcpus },
  V6: { providerId: 'provider-v6', resources: withVcpus },
  V7: { providerId: 'provider-v7', resources: withVcpus },
  V8: { providerId: 'provider-v8', resources: withVcpus },
  'private-cloud': {
    providerId: 'private-cloud',
    resources: withCpus,
    nodes: [{ role: 'head', privateIp: '10.0.0.1' }],
    sshUser: 'ubuntu',
  },
  mock: { providerId: 'mock', resources: withVcpus },
};

/** The fields that only some variants have. */
const extras: Readonly<Record<string, { value: unknown; variants: readonly ProviderVariant[] }>> = {
  subOrder: { value: 'so-1', variants: ['V2'] },
  portForwards: { value: [{ externalPort: 31_424, internalPort: 22 }], variants: ['V2'] },
  publicIpAddressId: { value: 'ip-1', variants: ['V4'] },
  poolType: { value: null, variants: ['V5'] },
  customPorts: { value: [8080], variants: ['V8', 'mock'] },
  gpuModel: { value: 'H100', variants: ['private-cloud'] },
  location: { value: 'basement', variants: ['private-cloud'] },
  benchmark: { value: { anything: [1] }, variants: ['private-cloud'] },
  sshPort: { value: 22, variants: ['private-cloud'] },
  extra: { value: { anything: null }, variants: ['private-cloud'] },
};

const common = {
  externalId: 'x',
  sshNetworking: [{ host: 'h', port: 22, user: 'u' }],
  nodeNetworking: [{ publicIp: '192.0.2.1', privateIp: '10.0.0.1' }],
  networkType: 'infiniband',
  gpuFormFactor: 'sxm5',
};

const accepts = (value: unknown): boolean => schema.safeParse(value).success;

describe.each(providerVariantNames)('provider data of variant %s', (variant) => {
  const base = least[variant];

  it('accepts the minimum and every common field, and refuses other fields', () => {
    expect(accepts(base)).toBe(true);
    expect(accepts({ ...base, ...common })).toBe(true);
    expect(accepts({ ...base, surprise: true })).toBe(false);
    expect(accepts({ ...base, resources: { ...(base['resources'] as object), surprise: 1 } })).toBe(false);
  });

  it('requires its required fields', () => {
    for (const name of Object.keys(base)) {
      expect(accepts(Object.fromEntries(Object.entries(base).filter(([key]) => key !== name))), name).toBe(
        false,
      );
    }
    for (const name of Object.keys(hardware)) {
      const resources = Object.entries(base['resources'] as object).filter(([key]) => key !== name);
      expect(accepts({ ...base, resources: Object.fromEntries(resources) }), name).toBe(false);
    }
  });

  it('accepts the fields of its variant and refuses those of other variants', () => {
    for (const [name, { value, variants }] of Object.entries(extras)) {
      expect(accepts({ ...base, [name]: value }), name).toBe(variants.includes(variant));
    }
  });

  it('has exactly one kind of CPU count', () => {
    const either = variant === 'V2' || variant === 'V8' || variant === 'private-cloud';
    expect(accepts({ ...base, resources: withCpus })).toBe(either || variant === 'V3');
    expect(accepts({ ...base, resources: withVcpus })).toBe(variant !== 'V3');
    expect(accepts({ ...base, resources: { ...withCpus, vcpuCount: 1 } })).toBe(false);
    expect(accepts({ ...base, resources: hardware })).toBe(false);
  });

  it('refuses values outside the enums', () => {
    expect(accepts({ ...base, networkType: 'wifi' })).toBe(false);
    expect(accepts({ ...base, gpuFormFactor: 'sxm7' })).toBe(false);
    expect(accepts({ ...base, providerId: 'provider-v9' })).toBe(false);
  });
});

describe('private cloud nodes', () => {
  it('are compute nodes by default', () => {
    const parsed = schema.parse({ ...least['private-cloud'], nodes: [{ privateIp: '10.0.0.2' }] } as never);
    expect(parsed).toMatchObject({ nodes: [{ role: 'compute', privateIp: '10.0.0.2' }] });
  });
});

describe('configured providers', () => {
  it('select their variant by id, also if several have the same variant', () => {
    const configured = createProviderDataSchema([
      { id: 'north', variant: 'V3' },
      { id: 'south', variant: 'V3' },
      { id: 'west.2', variant: 'V1' },
    ]);
    expect(configured.safeParse({ providerId: 'south', resources: withCpus }).success).toBe(true);
    expect(configured.safeParse({ providerId: 'west.2', resources: withVcpus }).success).toBe(true);
    expect(configured.safeParse({ providerId: 'west.2', resources: withCpus }).success).toBe(false);
    expect(configured.safeParse({ providerId: 'provider-v3', resources: withCpus }).success).toBe(false);
  });

  it('are refused if they contradict each other or docs/interface.md', () => {
    const refused: readonly [RegExp, { id: string; variant: ProviderVariant }[]][] = [
      [/At least one provider/, []],
      [
        /Two providers/,
        [
          { id: 'a', variant: 'V1' },
          { id: 'a', variant: 'V2' },
        ],
      ],
      [/must have the id mock/, [{ id: 'a', variant: 'mock' }]],
      [/is reserved/, [{ id: 'private-cloud', variant: 'V1' }]],
      [/lower-case/, [{ id: 'No Good', variant: 'V1' }]],
      [/unknown variant/, [{ id: 'a', variant: 'V9' as ProviderVariant }]],
    ];
    for (const [message, providers] of refused) {
      expect(() => createContract({ providers })).toThrow(message);
    }
  });

  it('have every variant once by default', () => {
    expect(contract.providers.map(({ id }) => id)).toEqual([
      'provider-v1',
      'provider-v2',
      'provider-v3',
      'provider-v4',
      'provider-v5',
      'provider-v6',
      'provider-v7',
      'provider-v8',
      'private-cloud',
      'mock',
    ]);
  });
});
