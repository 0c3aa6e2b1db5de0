import { z } from 'zod';
import { machineStateNames } from '../states/machine.ts';
import { prefixedId } from '../operation-builders.ts';

/** How nodes are named and what they can be: operators, suppliers and maintenance all speak of them. */

export const nodeId = prefixedId('nod', 'a node');
export const nodeStatus = z.enum(machineStateNames).meta({ id: 'NodeStatus' });

const gpu = z.object({
  id: z.string(),
  model: z.string(),
  gpuType: z
    .string()
    .meta({ description: 'What it is sold as; `unknown` for a model that rentals do not offer.' }),
  ramMb: z.int().nonnegative().meta({ description: '0 where the engine does not say.' }),
  pciAddress: z.string(),
  numaNode: z.int().nullable(),
  allocatedTo: z.string().nullable().meta({ description: 'The external id of the rental or instance.' }),
});

/** More ways of proof may follow. */
export const gpuVerification = z.enum(['unverified']).meta({
  id: 'GpuVerification',
  'x-extensible': true,
  description:
    'unverified: the engine of its host reports the GPU, and no computation has proven that it is one of this model.',
});

export const nodeGpu = gpu.extend({
  verification: gpuVerification,
  deviceUuid: z.string().nullable().meta({ description: 'The id that its maker gave it.' }),
  state: z.enum(['present', 'missing', 'faulty', 'replaced']).meta({
    description:
      'Only present ones are sold. missing: the engine no longer lists it. faulty: taken out. replaced: another ' +
      'device is at its address.',
  }),
  stateReason: z.string().nullable(),
});
