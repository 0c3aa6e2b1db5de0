import { z } from 'zod';

/** The words of the interface that several records share: regions, GPUs, networks, statuses. */

/** The regions a virtual machine may be asked for in. */
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

/** The regions a bare-metal rental may be asked for in. */
export const bareMetalRegions = ['us-central-1', ...bareMetalOnlyRegions] as const;

/** The regions a volume may be in, and may be asked for in: every region but the operator's private ones. */
export const volumeRegions = [...virtualMachineRegions, ...bareMetalOnlyRegions] as const;

/** Every region a record may name. */
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

/** The terms a tenant may ask for; `private-cloud` terms are made by the operator only. */
export const requestedTermType = z.enum(['on-demand', 'reserved']).meta({ id: 'RequestedTermType' });

/** A positive integer that JSON carries exactly: 1..9007199254740991. */
export const positiveInt = z.int().positive();

/** As long as the largest body that a gateway can be set to take: a bound, and none that a caller could meet. */
export const bodyText = z.string().max(268_435_456);

/** More values than this are refused in one body, whatever they are. */
export const bodyValues = 20_000;

/** A map with a bound on its names, their length and their number. */
export function boundedRecord<Value extends z.ZodType>(
  value: Value,
  { names, nameLength }: { readonly names: number; readonly nameLength: number },
) {
  return z
    .record(z.string().max(nameLength), value)
    .refine((map) => Object.keys(map).length <= names, `at most ${names} names`)
    .meta({ maxProperties: names });
}

/** A value the interface does not constrain. It must be present, though it may be anything JSON can say. */
export const unconstrained = z.unknown();

/** RFC 3339 in UTC with `Z`. The interface promises a string, so that is all the schema asks for. */
export const time = z.string().meta({ description: 'RFC 3339 in UTC, ending in `Z`.' });

export const volumeLabel = z
  .string()
  .min(4)
  .max(255)
  .regex(/^[A-Za-z0-9_-]+$/, 'must hold only letters, digits, underscore and hyphen');

export const volumeSizeInGb = z.int().min(256).max(64000);

export const customPorts = z.array(z.int().min(1).max(65535)).max(20);
