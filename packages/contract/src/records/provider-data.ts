import { z } from 'zod';
import { customPorts, gpuFormFactor, networkType } from './vocabulary.ts';

/**
 * Where a rental runs. The operator configures each provider with an id and a variant; the variant sets the
 * closed shape of `providerData`, and the id selects it.
 */

export const providerVariantNames = [
  'V1',
  'V2',
  'V3',
  'V4',
  'V5',
  'V6',
  'V7',
  'V8',
  'private-cloud',
  'mock',
] as const;

export type ProviderVariant = (typeof providerVariantNames)[number];

export interface ProviderConfig {
  readonly id: string;
  readonly variant: ProviderVariant;
}

const commonFields = {
  providerId: z.string(),
  externalId: z.string().optional(),
  sshNetworking: z.array(z.strictObject({ host: z.string(), port: z.number(), user: z.string() })).optional(),
  nodeNetworking: z.array(z.strictObject({ publicIp: z.string(), privateIp: z.string() })).optional(),
  networkType: networkType.optional(),
  gpuFormFactor: gpuFormFactor.optional(),
};

const resourceFields = {
  cpuModel: z.string(),
  gpuCount: z.number(),
  ramGb: z.number(),
  storageGb: z.number(),
};

const countedInCpus = z.strictObject({ ...resourceFields, cpuCount: z.number() });
const countedInVcpus = z.strictObject({ ...resourceFields, vcpuCount: z.number() });

/** `resources` has exactly one of the two CPU counts. */
const resources = {
  cpu: countedInCpus,
  vcpu: countedInVcpus,
  either: z.union([countedInCpus, countedInVcpus]),
};

const privateCloudNode = z.strictObject({
  role: z.enum(['login', 'head', 'compute']).default('compute'),
  hostname: z.string().optional(),
  publicIp: z.string().optional(),
  privateIp: z.string(),
});

const freeObject = z.record(z.string(), z.unknown());

/** The closed shape of each variant, before the configured id closes `providerId` as well. */
const variants = {
  V1: z.strictObject({ ...commonFields, resources: resources.vcpu }),
  V2: z.strictObject({
    ...commonFields,
    resources: resources.either,
    networkType,
    subOrder: z.string().optional(),
    portForwards: z.array(z.strictObject({ externalPort: z.number(), internalPort: z.number() })).optional(),
  }),
  V3: z.strictObject({ ...commonFields, resources: resources.cpu }),
  V4: z.strictObject({
    ...commonFields,
    resources: resources.vcpu,
    publicIpAddressId: z.string().optional(),
  }),
  V5: z.strictObject({
    ...commonFields,
    resources: resources.vcpu,
    poolType: z.enum(['public', 'contracted']).nullable().optional(),
  }),
  V6: z.strictObject({ ...commonFields, resources: resources.vcpu }),
  V7: z.strictObject({ ...commonFields, resources: resources.vcpu }),
  V8: z.strictObject({ ...commonFields, resources: resources.either, customPorts: customPorts.optional() }),
  'private-cloud': z.strictObject({
    ...commonFields,
    resources: resources.either,
    gpuModel: z.string().optional(),
    location: z.string().optional(),
    benchmark: freeObject.optional(),
    nodes: z.array(privateCloudNode),
    sshUser: z.string(),
    sshPort: z.number().optional(),
    extra: freeObject.optional(),
  }),
  mock: z.strictObject({ ...commonFields, resources: resources.vcpu, customPorts: customPorts.optional() }),
} as const satisfies Record<ProviderVariant, z.ZodObject>;

type Variants = typeof variants;

/** The provider data of one variant, under any configured id. */
export type ProviderDataOf<Variant extends ProviderVariant> = z.output<Variants[Variant]>;
export type ProviderDataInputOf<Variant extends ProviderVariant> = z.input<Variants[Variant]>;

export type ProviderData = ProviderDataOf<ProviderVariant>;
export type ProviderDataInput = ProviderDataInputOf<ProviderVariant>;

export type ProviderDataSchema = z.ZodType<ProviderData, ProviderDataInput>;

/** docs/interface.md fixes these ids; the operator chooses those of the eight third-party variants. */
export const defaultProviders: readonly ProviderConfig[] = providerVariantNames.map((variant) => ({
  id: variant.startsWith('V') ? `provider-${variant.toLowerCase()}` : variant,
  variant,
}));

function assertProviders(providers: readonly ProviderConfig[]): void {
  if (providers.length === 0) throw new Error('At least one provider must be configured.');
  const seen = new Set<string>();
  for (const { id, variant } of providers) {
    if (!/^[a-z0-9][a-z0-9._-]{0,62}$/.test(id)) {
      throw new Error(
        `Provider id "${id}" must be 1 to 63 lower-case letters, digits, dots, hyphens, underscores.`,
      );
    }
    if (!Object.hasOwn(variants, variant)) {
      throw new Error(
        `Provider "${id}" has the unknown variant "${variant}". Use one of ${providerVariantNames.join(', ')}.`,
      );
    }
    const fixed = variant === 'private-cloud' || variant === 'mock';
    if (fixed && id !== variant)
      throw new Error(`A provider of variant ${variant} must have the id ${variant}.`);
    if (!fixed && (id === 'private-cloud' || id === 'mock')) {
      throw new Error(
        `The id ${id} is reserved for the variant of that name and cannot be used for ${variant}.`,
      );
    }
    if (seen.has(id)) throw new Error(`Two providers have the id "${id}". Give one of them another id.`);
    seen.add(id);
  }
}

/** The union of `providerData` over the configured providers, one closed branch per provider id. */
export function createProviderDataSchema(providers: readonly ProviderConfig[]): ProviderDataSchema {
  assertProviders(providers);
  const branches = providers.map(({ id, variant }) =>
    variants[variant].extend({ providerId: z.literal(id) }),
  );
  const [first, ...rest] = branches;
  if (first === undefined) throw new Error('At least one provider must be configured.');
  const union = z.discriminatedUnion('providerId', [first, ...rest]).meta({ id: 'ProviderData' });
  // The branches are known only at run time; each one is a member of the static union.
  return union as unknown as ProviderDataSchema;
}
