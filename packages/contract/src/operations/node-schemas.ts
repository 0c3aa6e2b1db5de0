import { z } from 'zod';
import { machineStateNames } from '../states/machine.ts';
import { prefixedId } from '../operation-builders.ts';

/** Node schemas that operator, supplier and maintenance operations share. */

export const nodeId = prefixedId('nod', 'a node');
export const nodeStatus = z.enum(machineStateNames).meta({ id: 'NodeStatus' });

const gpu = z.object({
  id: z.string(),
  model: z.string(),
  gpuType: z.string().meta({
    description: 'The GPU type that tenants rent; `unknown` for a model that rentals do not offer.',
  }),
  ramMb: z.int().nonnegative().meta({ description: '0 if the engine does not report it.' }),
  pciAddress: z.string(),
  numaNode: z.int().nullable(),
  allocatedTo: z.string().nullable().meta({ description: 'The external id of the rental or instance.' }),
});

/** Further verification methods may be added. */
export const gpuVerification = z.enum(['unverified']).meta({
  id: 'GpuVerification',
  'x-extensible': true,
  description:
    'unverified: the engine of the host reports the GPU, and no computation has verified its model.',
});

export const nodeGpu = gpu.extend({
  verification: gpuVerification,
  deviceUuid: z.string().nullable().meta({ description: 'The id that its manufacturer assigned.' }),
  state: z.enum(['present', 'missing', 'faulty', 'replaced']).meta({
    description:
      'Only GPUs that are present are rented. missing: the engine does not list it. faulty: taken out of service. replaced: another device is at its address.',
  }),
  stateReason: z.string().nullable(),
});
