import type { Clock } from '@millrace/platform/clock';
import { z } from 'zod';
import { DriverError } from '../driver-error.ts';
import type { IronicConnectionOptions } from './ironic-client.ts';

/** A whole-disk image that nodes download themselves. */
export interface IronicImage {
  readonly url: string;
  readonly hash: { readonly algorithm: 'sha256' | 'sha512'; readonly value: string };
  readonly diskFormat: 'raw' | 'qcow2';
  /** The login user, to which cloud-init gives the keys. */
  readonly sshUser: string;
}

export interface IronicSettings {
  readonly images: Readonly<Record<string, IronicImage>>;
  /** The owner annotation. Installations that share an Ironic need different ones. */
  readonly owner: string;
  /** Interval between two reads of an operation in progress. */
  readonly pollMs: number;
}

export type IronicDriverOptions = IronicConnectionOptions &
  Partial<Omit<IronicSettings, 'images'>> & {
    readonly images: IronicSettings['images'];
    readonly clock: Clock;
  };

const sshUser = z.string().regex(/^[a-z_][a-z0-9_-]{0,31}$/, 'must be a valid user name');

const imageShape = z.strictObject({
  url: z.url({ protocol: /^(?:https?|file)$/, error: 'must be an http(s) or file URL' }).max(2_048),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits')
    .optional(),
  sha512: z
    .string()
    .regex(/^[0-9a-f]{128}$/, 'must be 128 hexadecimal digits')
    .optional(),
  diskFormat: z.enum(['raw', 'qcow2']).default('qcow2'),
  sshUser: sshUser.optional(),
});

const imageName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,254}$/, 'must be a plain name');

const ironicSettings = z
  .strictObject({
    images: z
      .record(imageName, imageShape)
      .refine((images) => Object.keys(images).length > 0, 'must name at least one image'),
    sshUser: sshUser.default('ubuntu'),
    owner: z.string().min(1).max(63).optional(),
    pollMs: z.int().min(50).max(60_000).optional(),
    /** The image of each CUDA version: `{"cuda12.8": "ubuntu-24.04-cuda12.8"}`; read by rentals. */
    cudaImages: z
      .record(
        z.string().regex(/^(?:cuda)?\d{1,2}\.\d{1,2}$/, 'must be a version such as cuda12.8'),
        imageName,
      )
      .optional(),
    /** The image of machines without a requested image; read by rentals. */
    defaultImage: imageName.optional(),
    /** The fast network that all its nodes share; read by fleet sync. */
    fabric: z.string().min(1).max(100).optional(),
  })
  .superRefine(({ images, cudaImages, defaultImage }, issue) => {
    for (const [name, { sha256, sha512 }] of Object.entries(images)) {
      if ((sha256 === undefined) === (sha512 === undefined)) {
        issue.addIssue({ code: 'custom', message: 'needs sha256 or sha512', path: ['images', name] });
      }
    }
    const named = Object.entries({ ...cudaImages, ...(defaultImage !== undefined && { defaultImage }) });
    for (const [from, name] of named) {
      if (images[name] === undefined) {
        issue.addIssue({ code: 'custom', message: `${from} names ${name}, which is not among the images` });
      }
    }
  });

export type IronicConfig = Pick<IronicDriverOptions, 'images' | 'owner' | 'pollMs'>;

/** A configuration error becomes the reason why the cluster is unreachable. */
export function readIronicSettings(written: unknown): IronicConfig {
  const settings = ironicSettings.safeParse(written);
  if (!settings.success) {
    throw new DriverError(
      'refused',
      `The settings of the cluster are invalid: ${problemsOf(settings.error)}.`,
    );
  }
  const { images, owner, pollMs, sshUser: usual } = settings.data;
  return {
    images: Object.fromEntries(
      Object.entries(images).map(([name, image]) => [name, imageOf(image, image.sshUser ?? usual)]),
    ),
    ...(owner !== undefined && { owner }),
    ...(pollMs !== undefined && { pollMs }),
  };
}

function imageOf(
  { url, sha256, sha512, diskFormat }: z.output<typeof imageShape>,
  user: string,
): IronicImage {
  const hash =
    sha512 === undefined
      ? ({ algorithm: 'sha256', value: sha256 ?? '' } as const)
      : ({ algorithm: 'sha512', value: sha512 } as const);
  return { url, hash, diskFormat, sshUser: user };
}

/** One line, because operators see it as the status reason. */
function problemsOf({ issues }: z.ZodError): string {
  return issues
    .map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`))
    .join('; ');
}

export function settingsOf({ images, owner, pollMs }: IronicDriverOptions): IronicSettings {
  return { images, owner: owner ?? 'millrace', pollMs: pollMs ?? 2_000 };
}
