import { z } from 'zod';

/** Values of docs/interface.md that several records share: regions, GPUs, networks, statuses. */

export const virtualMachineRegions = [
  'us-central-1',
  'us-central-2',
  'eu-north-2',
  'eu-west-2',
  'eu-north-4',
  'eu-north-5',
  'us-east-1',
  'us-east-2',
  'ca-east-3',
  'eu-north-6',
  'eu-north-7',
  'eu-north-8',
  'ca-west-1',
  'ca-east-1',
  'us-central-3',
  'us-southeast-1',
  'me-central-1',
  'ca-east-2',
  'eu-west-1',
  'us-southeast-2',
  'jp-east-1',
  'mock-region',
] as const;

const bareMetalOnlyRegions = [
  'uk-central-3',
  'uk-southeast-3',
  'eu-southwest-3',
  'eu-southwest-3-1',
  'eu-west-3',
  'eu-west-4',
] as const;

export const bareMetalRegions = ['us-central-1', ...bareMetalOnlyRegions] as const;

/** The regions of volumes: every region except `private-cloud`. */
export const volumeRegions = [...virtualMachineRegions, ...bareMetalOnlyRegions] as const;

export const regions = [...volumeRegions, 'private-cloud'] as const;

export type Region = (typeof regions)[number];

export const region = z.enum(regions).meta({ id: 'Region' });
export const virtualMachineRegion = z.enum(virtualMachineRegions).meta({ id: 'VirtualMachineRegion' });
export const bareMetalRegion = z.enum(bareMetalRegions).meta({ id: 'BareMetalRegion' });
export const volumeRegion = z.enum(volumeRegions).meta({ id: 'VolumeRegion' });

export const gpuTypes = ['h100', 'h200', 'b200'] as const;
export type GpuType = (typeof gpuTypes)[number];
export const gpuType = z.enum(gpuTypes).meta({ id: 'GpuType' });

export const networkType = z.enum(['infiniband', 'ethernet']).meta({ id: 'NetworkType' });
export const gpuFormFactor = z.enum(['sxm5', 'sxm6', 'pcie']).meta({ id: 'GpuFormFactor' });
export const rentalType = z.enum(['virtual-machine', 'bare-metal']).meta({ id: 'RentalType' });
export const cudaVersion = z.enum(['cuda12.8', 'cuda12.9']).meta({ id: 'CudaVersion' });

/** The terms that a tenant can request; only the operator creates `private-cloud` terms. */
export const requestedTermType = z.enum(['on-demand', 'reserved']).meta({ id: 'RequestedTermType' });

/** A positive integer that JSON represents exactly: 1..9007199254740991. */
export const positiveInt = z.int().positive();

/** The largest body size that a gateway can be configured to accept, so no caller reaches this limit first. */
export const bodyText = z.string().max(268_435_456);

/** Bodies with more values are refused. */
export const bodyValues = 20_000;

/** A map with limits on the length and number of its keys. */
export function boundedRecord<Value extends z.ZodType>(
  value: Value,
  { names, nameLength }: { readonly names: number; readonly nameLength: number },
) {
  return z
    .record(z.string().max(nameLength), value)
    .refine((map) => Object.keys(map).length <= names, `at most ${names} names`)
    .meta({ maxProperties: names });
}

/** A value that docs/interface.md does not constrain: any JSON value, but it must be present. */
export const unconstrained = z.unknown();

/** RFC 3339 in UTC with `Z`. docs/interface.md promises a string, so the schema requires no more. */
export const time = z.string().meta({ description: 'RFC 3339 in UTC, ending in `Z`.' });

export const volumeLabel = z
  .string()
  .min(4)
  .max(255)
  .regex(/^[A-Za-z0-9_-]+$/, 'must contain only letters, digits, underscore and hyphen');

export const volumeSizeInGb = z.int().min(256).max(64000);

export const customPorts = z.array(z.int().min(1).max(65535)).max(20);
