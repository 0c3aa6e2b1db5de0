import { z } from 'zod';
import { DriverError } from '../driver-error.ts';
import type { IncusDriverOptions } from './incus-settings.ts';

/** What every cluster must be told. */
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
    /** Somebody else's daemon, where our certificate is good for this project alone. */
    project: z
      .string()
      .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'must be 1 to 63 small letters, digits and hyphens')
      .refine((name) => name !== 'default', 'must be a project of its own')
      .optional(),
    listenAddress: z.union([z.ipv4(), z.ipv6()]).optional(),
    /** PEM. The only certificate that is believed there, where the credential names none. */
    serverCertificate: z.string().max(16_384).optional(),
    /** Somebody else named its endpoint, so it is reached through the guard alone. */
    guarded: z.boolean().optional(),
    /** What a GPU of an operator's own machine on the marketplace costs; read by suppliers. */
    pricePerGpuHourUsd: z.number().min(0).optional(),
    /** The fast network that all of its nodes share; read by fleet sync. */
    fabric: z.string().optional(),
    /** What a machine is made from when nobody names an image; read by rentals. */
    defaultImage: z.string().min(1).max(255).optional(),
    /** The images that tenants may name; read by rentals. */
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
  /** PEM. The only certificate that is believed there; null: that of the credential. */
  readonly serverCertificate: string | null;
  /** Whether somebody else named its endpoint. */
  readonly isGuarded: boolean;
}

/** What an operator wrote about a cluster. Whatever is wrong with it becomes the reason of its silence. */
export function readIncusSettings(written: unknown): IncusConfig {
  const settings = incusSettings.safeParse(written);
  if (settings.success) return settings.data;
  throw new DriverError('refused', `Its settings are wrong: ${problemsOf(settings.error)}.`);
}

/** In one line, since it becomes the reason that an operator reads. */
function problemsOf({ issues }: z.ZodError): string {
  return issues
    .map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`))
    .join('; ');
}
