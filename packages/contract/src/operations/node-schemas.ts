import { z } from 'zod';
import { machineStateNames } from '../states/machine.ts';
import { prefixedId } from './operation-builders.ts';

/** How nodes are named and what they can be: operators, suppliers and maintenance all speak of them. */

export const nodeId = prefixedId('nod', 'a node');
export const nodeStatus = z.enum(machineStateNames).meta({ id: 'NodeStatus' });
