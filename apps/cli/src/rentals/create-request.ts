import { randomInt } from 'node:crypto';
import type { Flags } from '../framework/command.ts';
import type { Context } from '../framework/context.ts';
import { UsageError } from '../framework/errors.ts';
import type { Input } from '../sdk.ts';
import { findVolumeId } from '../volumes/find.ts';
import { parseDurationFlag, parsePortFlags, parseTagFlags } from './flags.ts';
import { randomRentalName } from '@millrace/sdk/text';
import type { QuoteRequest } from './quote-request.ts';

/** Flags of a create request beyond those of a quote: names, limits, keys, storage. */

type VirtualMachineRequest = Input<'createVirtualMachineRental'>;
type BareMetalRequest = Input<'createBareMetalRental'>;

export const createFlags = {
  name: { type: 'text', value: 'NAME', describe: 'the name; default: a random name' },
  'ssh-key': { type: 'list', value: 'ID', describe: 'only these of your SSH keys; default: all' },
  image: { type: 'text', value: 'NAME', describe: 'an image other than the default' },
  port: { type: 'list', value: 'PORT', describe: 'open this port too' },
  ttl: { type: 'text', value: 'TIME', describe: 'terminate it after this time: 90m, 2h, 3d' },
  'max-usd': { type: 'number', min: 0, value: 'USD', describe: 'terminate it before it costs more' },
  'idle-after': { type: 'text', value: 'TIME', describe: 'stop it after this idle time' },
  'idle-terminate': { type: 'boolean', describe: 'terminate an idle rental instead of stopping it' },
  'user-data': { type: 'text', value: 'FILE', describe: 'a script to run once at the first start' },
  tag: { type: 'list', value: 'NAME=VALUE', describe: 'a tag' },
  monitoring: { type: 'boolean', describe: 'enable monitoring' },
  convert: {
    type: 'boolean',
    describe: 'continue on demand after a reserved term; --no-convert terminates it',
  },
  volume: { type: 'text', value: 'LABEL', describe: 'bare metal: attach this volume' },
  'new-volume': {
    type: 'text',
    value: 'LABEL',
    describe: 'bare metal: create and attach a volume with this label',
  },
  'storage-gb': {
    type: 'number',
    integer: true,
    min: 256,
    value: 'GB',
    describe: 'the size of the new volume',
  },
} as const satisfies Flags;

export interface CreateFlags {
  readonly name: string | undefined;
  readonly 'ssh-key': readonly string[];
  readonly image: string | undefined;
  readonly port: readonly string[];
  readonly ttl: string | undefined;
  readonly 'max-usd': number | undefined;
  readonly 'idle-after': string | undefined;
  readonly 'idle-terminate': boolean | undefined;
  readonly 'user-data': string | undefined;
  readonly tag: readonly string[];
  readonly monitoring: boolean | undefined;
  readonly convert: boolean | undefined;
  readonly volume: string | undefined;
  readonly 'new-volume': string | undefined;
  readonly 'storage-gb': number | undefined;
}

export type CreateRequest =
  | { readonly type: 'virtual-machine'; readonly body: VirtualMachineRequest }
  | { readonly type: 'bare-metal'; readonly body: BareMetalRequest };

export async function readCreateRequest(
  context: Context,
  flags: CreateFlags,
  request: QuoteRequest,
): Promise<CreateRequest> {
  const common = {
    name: flags.name ?? randomRentalName(randomInt),
    gpuCount: request.gpuCount,
    gpuType: request.gpuType,
    termType: request.termType,
    termPeriodDays: request.termPeriodDays,
    discountPercentage: request.discountPercentage,
    sshKeyIds: flags['ssh-key'].length === 0 ? undefined : [...flags['ssh-key']],
    image: flags.image,
    ttlSeconds: flags.ttl === undefined ? undefined : parseDurationFlag('ttl', flags.ttl),
    maxUsd: flags['max-usd'],
    idle: idleRule(flags),
    userData: flags['user-data'] === undefined ? undefined : await context.files.readText(flags['user-data']),
    tags: parseTagFlags(flags.tag),
    monitoringEnabled: flags.monitoring,
    convertToOnDemandOnExpiry: flags.convert,
  };
  if (request.rentalType === 'bare-metal') {
    if (flags.port.length > 0)
      throw new UsageError('--port is only for virtual machines: all ports of bare metal are open.');
    const body = {
      ...common,
      networkType: request.networkType ?? 'ethernet',
      region: request.region as BareMetalRequest['region'],
      cudaVersion: request.cudaVersion,
      storageVolume: await readStorageVolume(context, flags),
    };
    return { type: 'bare-metal', body };
  }
  const forBareMetal = (['volume', 'new-volume', 'storage-gb'] as const).find(
    (name) => flags[name] !== undefined,
  );
  if (forBareMetal !== undefined)
    throw new UsageError(`--${forBareMetal} is only for bare metal. Add --bare-metal.`);
  const body = {
    ...common,
    networkType: request.networkType,
    region: request.region as VirtualMachineRequest['region'],
    customPorts: parsePortFlags(flags.port),
  };
  return { type: 'virtual-machine', body };
}

function idleRule(flags: CreateFlags): VirtualMachineRequest['idle'] {
  const after = flags['idle-after'];
  if (after === undefined) {
    if (flags['idle-terminate'] === true) throw new UsageError('--idle-terminate requires --idle-after.');
    return undefined;
  }
  const action = flags['idle-terminate'] === true ? 'terminate' : 'stop';
  return { afterSeconds: parseDurationFlag('idle-after', after), action };
}

async function readStorageVolume(
  context: Context,
  flags: CreateFlags,
): Promise<BareMetalRequest['storageVolume']> {
  const label = flags['new-volume'];
  const sizeInGb = flags['storage-gb'];
  if (flags.volume !== undefined) {
    if (label !== undefined)
      throw new UsageError('Use either --volume or --new-volume: a rental starts with at most one volume.');
    return { isNew: false, id: await findVolumeId(context, flags.volume) };
  }
  if (label === undefined && sizeInGb === undefined) return undefined;
  if (label === undefined || sizeInGb === undefined) {
    throw new UsageError('A new volume requires both --new-volume LABEL and --storage-gb GB.');
  }
  return { isNew: true, label, sizeInGb };
}
