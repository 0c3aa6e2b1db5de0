import type { ContractSchemas } from '../records/index.ts';
import { inferenceOperations } from './interface-inference.ts';
import { marketplaceOperations } from './interface-marketplace.ts';
import { rentalOperations } from './interface-rentals.ts';
import { serviceOperations } from './interface-service.ts';
import { volumeOperations } from './interface-volumes.ts';

/** Every operation that docs/interface.md lists, v2 and v1. */
export function baselineOperations(schemas: ContractSchemas) {
  return {
    ...serviceOperations(),
    ...rentalOperations(schemas),
    ...volumeOperations(),
    ...marketplaceOperations(),
    ...inferenceOperations(schemas),
  } as const;
}
