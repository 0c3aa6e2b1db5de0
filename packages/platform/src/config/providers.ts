import { bareMetalRegions, virtualMachineRegions } from '@millrace/contract';
import { z } from 'zod';
import { demoVariable } from './demo.ts';
import { hostOf } from '../net/loopback.ts';
import { checkEngineTls, engineTls } from './engine-tls.ts';
import { fragment } from './fragment.ts';
import type { ConfigProblem } from './fragment.ts';
import { values } from './values.ts';

/** The providers of an installation and their clusters. */

const regionName = z.string().min(1).max(64);
const credentialName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$/, 'must be a plain name');

const clusterShape = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'must be 1 to 63 lowercase letters, digits and hyphens'),
  region: regionName,
  /** The address of the engine. A cluster with several members has several endpoints. */
  endpoint: z.string().min(1).max(2048).optional(),
  endpoints: z.array(z.string().min(1).max(2048)).min(1).max(16).optional(),
  offer: z.enum(['virtual-machine', 'bare-metal', 'marketplace']).default('virtual-machine'),
  connectionType: z.enum(['ethernet', 'infiniband']).default('ethernet'),
  credential: credentialName.nullable().default(null),
  /** The ports of a node's address that its machines may use. */
  ports: z
    .strictObject({ first: z.int().min(1_024).max(65_535), last: z.int().min(1_024).max(65_535) })
    .refine(({ first, last }) => first <= last, 'first must not be after last')
    .default({ first: 20_000, last: 29_999 }),
  /** Further settings, which each driver documents. */
  settings: z.record(z.string().max(100), z.json()).default({}),
});

const providerShape = z.strictObject({
  id: z
    .string()
    .regex(
      /^[a-z0-9][a-z0-9._-]{0,62}$/,
      'must be 1 to 63 lowercase letters, digits, dots, hyphens, underscores',
    ),
  variant: z.enum(['V1', 'V2', 'V3', 'V4', 'V5', 'V6', 'V7', 'V8', 'private-cloud', 'mock']),
  driver: z.enum(['incus', 'ironic', 'mock']).optional(),
  regions: z
    .array(z.strictObject({ region: regionName, customPorts: z.boolean().default(false) }))
    .max(1_000)
    .default([]),
  clusters: z.array(clusterShape).max(10_000).default([]),
});

type ProviderInput = z.output<typeof providerShape>;
type ClusterInput = z.output<typeof clusterShape>;

export interface ClusterSetting extends Omit<ClusterInput, 'endpoint' | 'endpoints'> {
  readonly endpoint: string;
}

export interface ProviderSetting extends Omit<ProviderInput, 'driver' | 'clusters'> {
  readonly driver: 'incus' | 'ironic' | 'mock';
  readonly clusters: readonly ClusterSetting[];
}

const mockImages = ['ubuntu-24.04', 'ubuntu-22.04', 'debian-12'];

/** The interface has no mock region for bare metal, so test keys rent it in the regions of live keys. */
const mockMetal: readonly ClusterSetting[] = bareMetalRegions.map((region, index) => ({
  name: `mock-metal-${region}`,
  region,
  endpoint: 'mock:',
  offer: 'bare-metal',
  connectionType: 'infiniband',
  credential: null,
  ports: { first: 20_000, last: 29_999 },
  settings: { firstAddress: `127.0.${82 + index}.1`, images: mockImages },
}));

/** The default fleet for test keys: rentals and marketplace machines. */
const mockFleet: Pick<ProviderSetting, 'regions' | 'clusters'> = {
  regions: [
    { region: 'mock-region', customPorts: true },
    ...bareMetalRegions.map((region) => ({ region, customPorts: false })),
  ],
  clusters: [
    {
      name: 'mock',
      region: 'mock-region',
      endpoint: 'mock:',
      offer: 'virtual-machine',
      connectionType: 'infiniband',
      credential: null,
      ports: { first: 20_000, last: 29_999 },
      settings: { images: mockImages },
    },
    {
      name: 'mock-market',
      region: 'mock-region',
      endpoint: 'mock:',
      offer: 'marketplace',
      connectionType: 'ethernet',
      credential: null,
      ports: { first: 20_000, last: 29_999 },
      settings: {
        firstAddress: '127.0.81.1',
        // Shown in the listing; test keys pay nothing.
        pricePerGpuHourUsd: 1.99,
        defaultImage: 'ubuntu-24.04',
        images: mockImages,
      },
    },
    ...mockMetal,
  ],
};

/** The fleet of an installation without configured providers. */
export const defaultFleet: readonly ProviderSetting[] = [
  { id: 'mock', variant: 'mock', driver: 'mock', ...mockFleet, regions: [...mockFleet.regions] },
];

function toSetting(provider: ProviderInput): ProviderSetting {
  const driver = provider.driver ?? (provider.variant === 'mock' ? 'mock' : 'incus');
  if (provider.variant === 'mock' && provider.regions.length === 0 && provider.clusters.length === 0) {
    return { ...provider, driver, regions: [...mockFleet.regions], clusters: mockFleet.clusters };
  }
  const clusters = provider.clusters.map(({ endpoint, endpoints, ...cluster }) => ({
    ...cluster,
    endpoint: endpoint ?? endpoints?.join(',') ?? 'mock:',
  }));
  return { ...provider, driver, clusters };
}

/** Variants that have exactly one id in the interface. */
const fixedIds: ReadonlySet<string> = new Set(['private-cloud', 'mock']);

/** The regions of live keys, and private-cloud, which operators rent out manually. Others could not be rented. */
const regionsOf: Readonly<Record<'virtual-machine' | 'bare-metal', readonly string[]>> = {
  'virtual-machine': [...virtualMachineRegions.filter((region) => region !== 'mock-region'), 'private-cloud'],
  'bare-metal': [...bareMetalRegions, 'private-cloud'],
};

function checkProvider(provider: ProviderInput, issue: z.core.$RefinementCtx, index: number): void {
  const addIssue = (message: string, ...path: (string | number)[]): void => {
    issue.addIssue({ code: 'custom', message, path: [index, ...path] });
  };
  const isMock = provider.variant === 'mock';
  if (isMock && provider.driver !== undefined && provider.driver !== 'mock') {
    addIssue('must be mock for the variant mock, because test keys reach only mock machines', 'driver');
  }
  const isFixed = isMock || provider.variant === 'private-cloud';
  if (isFixed && provider.id !== provider.variant) {
    addIssue(`must be ${provider.variant}, which is the id of this variant in the API`, 'id');
  }
  if (!isFixed && fixedIds.has(provider.id)) {
    addIssue('is reserved for the variant of that name', 'id');
  }
  const regions = new Set(provider.regions.map(({ region }) => region));
  if (regions.size !== provider.regions.length) addIssue('regions must be unique', 'regions');
  provider.clusters.forEach((cluster, at) => {
    if (!regions.has(cluster.region))
      addIssue('is not among the regions of its provider', 'clusters', at, 'region');
    const named = isMock || cluster.offer === 'marketplace' ? null : regionsOf[cluster.offer];
    if (named !== null && !named.includes(cluster.region)) {
      addIssue(
        `the API does not rent ${cluster.offer} in this region: use one of ${named.join(', ')}`,
        'clusters',
        at,
        'region',
      );
    }
    const given = Number(cluster.endpoint !== undefined) + Number(cluster.endpoints !== undefined);
    if (given > 1 || (given === 0 && !isMock && provider.driver !== 'mock'))
      addIssue('needs endpoint or endpoints', 'clusters', at);
  });
}

const listShape = z
  .array(providerShape)
  .min(1)
  .superRefine((list, issue) => {
    const ids = new Set(list.map(({ id }) => id));
    if (ids.size !== list.length) issue.addIssue({ code: 'custom', message: 'provider ids must differ' });
    list.forEach((provider, index) => checkProvider(provider, issue, index));
    const names = list.flatMap(({ clusters }) => clusters.map(({ name }) => name));
    if (new Set(names).size !== names.length) {
      issue.addIssue({ code: 'custom', message: 'cluster names must differ, also between providers' });
    }
  })
  .transform((list) => list.map(toSetting));

const variables = {
  isDemo: demoVariable,
  allowPlaintext: engineTls.allowPlaintext,
  list: {
    env: 'MILLRACE_PROVIDERS',
    schema: values.json(listShape).nullable().default(null),
    expected: 'a JSON list of providers, each with id and variant',
    example: '[{"id":"provider-v1","variant":"V1"},{"id":"mock","variant":"mock"}]',
  },
  file: {
    env: 'MILLRACE_PROVIDERS_FILE',
    schema: values.fileText.pipe(values.json(listShape)).nullable().default(null),
    expected: 'the path of a file with a JSON list of providers, in the format of MILLRACE_PROVIDERS',
    example: '/etc/millrace/providers.json',
  },
} as const;

interface ProviderValues {
  readonly isDemo: boolean;
  readonly allowPlaintext: boolean;
  readonly list: readonly ProviderSetting[] | null;
  readonly file: readonly ProviderSetting[] | null;
}

function checkProviders(settings: ProviderValues): readonly ConfigProblem[] {
  const { isDemo, list, file } = settings;
  if (list !== null && file !== null) {
    return [
      { env: 'MILLRACE_PROVIDERS_FILE', problem: 'and MILLRACE_PROVIDERS are both set; remove one of them' },
    ];
  }
  const live = (list ?? file ?? []).filter(({ variant, driver }) => driver === 'mock' && variant !== 'mock');
  const unencrypted = checkIronicTls(settings);
  if (isDemo || live.length === 0) return unencrypted;
  const ids = live.map(({ id }) => id).join(', ');
  const problem = `is not true, but live keys would pay for mock machines of ${ids}; use another driver`;
  return [{ env: demoVariable.env, problem }, ...unencrypted];
}

/** Ironic gets a password with each request. */
function checkIronicTls({ list, file, allowPlaintext }: ProviderValues): readonly ConfigProblem[] {
  const addresses = (list ?? file ?? [])
    .filter(({ driver }) => driver === 'ironic')
    .flatMap(({ clusters }) => clusters)
    .flatMap(({ endpoint }) => (URL.canParse(endpoint) ? [new URL(endpoint)] : []))
    .map((url) => ({ host: hostOf(url), encrypted: url.protocol !== 'http:' }));
  return checkEngineTls(list === null ? variables.file : variables.list, addresses, allowPlaintext);
}

export const providersConfig = fragment('providers', variables, checkProviders);

const path = z.string().min(1).max(4_096);

const certificateShape = z.strictObject({
  /** PEM files: our client certificate, and the only server certificates of the engine that we trust. */
  certificateFile: path,
  keyFile: path,
  /** Null if each cluster's own settings name the certificate, as those of suppliers do. */
  serverCertificateFile: path.nullable().default(null),
});

const passwordShape = z.strictObject({
  /** For engines with password authentication. The file contains only the password, in one line. */
  username: z.string().regex(/^[^\s:]{1,255}$/, 'must be a name without spaces and colons'),
  passwordFile: path,
  /** PEM: the engine's certificates or their CA. Null: public authorities. */
  serverCertificateFile: path.nullable().default(null),
});

const credentialShape = z.union([certificateShape, passwordShape]);

/** Authenticates by client certificate. */
export type CertificateSetting = z.output<typeof certificateShape>;
/** Authenticates by password. */
export type PasswordSetting = z.output<typeof passwordShape>;
export type CredentialSetting = CertificateSetting | PasswordSetting;

/** The database knows only the names. The files are compared while they are in use, so they may change. */
export const fleetConfig = fragment('fleet', {
  allowPlaintext: engineTls.allowPlaintext,
  credentials: {
    env: 'MILLRACE_FLEET_CREDENTIALS_FILE',
    schema: values.fileText.pipe(values.json(z.record(credentialName, credentialShape))).default({}),
    expected:
      'the path of a JSON file with credentials by name: {"eu-1":{"certificateFile":"…","keyFile":"…","serverCertificateFile":"…"}} or {"eu-2":{"username":"…","passwordFile":"…"}}',
    example: '/etc/millrace/fleet-credentials.json',
  },
});
