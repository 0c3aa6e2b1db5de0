import { z } from 'zod';
import { DriverError } from '../driver-error.ts';
import type { IncusDriverOptions } from './incus-settings.ts';

const needed = z
  .string({ error: ({ input }) => (input === undefined ? 'it is missing' : undefined) })
  .min(1)
  .max(63);

const incusSettings = z
  .strictObject({
    instanceType: z.enum(['container', 'virtual-machine']).default('virtual-machine'),
    network: needed,
    storagePool: needed,
    sshUser: z.string().min(1).max(32).default('ubuntu'),
    portAddresses: z.record(z.string(), z.string()).optional(),
    owner: z.string().min(1).max(63).optional(),
    allowsNesting: z.boolean().optional(),
    instancesPerOrg: z.int().min(1).optional(),
    /** The project to which the certificate is restricted on a supplier's daemon. */
    project: z
      .string()
      .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'must be 1 to 63 small letters, digits and hyphens')
      .refine((name) => name !== 'default', 'must not be the default project')
      .optional(),
    listenAddress: z.union([z.ipv4(), z.ipv6()]).optional(),
    /** PEM. The pinned certificate, if the credential names none. */
    serverCertificate: z.string().max(16_384).optional(),
    /** A supplier entered the endpoint, so every connection uses the guard. */
    guarded: z.boolean().optional(),
    /** Price of a GPU on an operator's own marketplace machine; read by suppliers. */
    pricePerGpuHourUsd: z.number().min(0).optional(),
    /** The fast network that all its nodes share; read by fleet sync. */
    fabric: z.string().optional(),
    /** The image of machines without a requested image; read by rentals. */
    defaultImage: z.string().min(1).max(255).optional(),
    /** The images that tenants may request; read by rentals. */
    images: z.array(z.string().min(1).max(255)).max(1_000).optional(),
  })
  .transform(
    ({
      fabric: _fabric,
      defaultImage: _image,
      images: _images,
      pricePerGpuHourUsd: _price,
      project,
      listenAddress,
      serverCertificate,
      guarded,
      portAddresses,
      owner,
      allowsNesting,
      instancesPerOrg,
      ...others
    }) => ({
      serverCertificate: serverCertificate ?? null,
      isGuarded: guarded ?? false,
      options: {
        ...others,
        ...(portAddresses === undefined ? {} : { portAddresses }),
        ...(owner === undefined ? {} : { owner }),
        ...(allowsNesting === undefined ? {} : { allowsNesting }),
        ...(instancesPerOrg === undefined ? {} : { instancesPerOrg }),
        ...(project === undefined ? {} : { project }),
        ...(listenAddress === undefined ? {} : { listenAddress }),
      },
    }),
  );

export interface IncusConfig {
  readonly options: Omit<IncusDriverOptions, 'clock' | 'log' | 'socketPath' | 'endpoints' | 'tls' | 'guard'>;
  /** PEM. The pinned certificate; null: that of the credential. */
  readonly serverCertificate: string | null;
  /** Whether a supplier entered the endpoint. */
  readonly isGuarded: boolean;
}

/** A configuration error becomes the reason why the cluster is unreachable. */
export function readIncusSettings(written: unknown): IncusConfig {
  const settings = incusSettings.safeParse(written);
  if (settings.success) return settings.data;
  throw new DriverError('refused', `The settings of the cluster are invalid: ${problemsOf(settings.error)}.`);
}

/** One line, because operators see it as the status reason. */
function problemsOf({ issues }: z.ZodError): string {
  return issues
    .map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`))
    .join('; ');
}
