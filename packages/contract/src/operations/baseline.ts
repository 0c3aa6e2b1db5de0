import type { ContractSchemas } from '../records/index.ts';
import { inferenceOperations } from './v1/inference.ts';
import { marketplaceOperations } from './v1/marketplace.ts';
import { rentalOperations } from './v2/rentals.ts';
import { serviceOperations } from './v2/service.ts';
import { volumeOperations } from './v2/volumes.ts';

/** All baseline operations: those in docs/interface.md, v2 and v1. */
export function baselineOperations(schemas: ContractSchemas) {
  return {
    ...serviceOperations(),
    ...rentalOperations(schemas),
    ...volumeOperations(),
    ...marketplaceOperations(),
    ...inferenceOperations(schemas),
  } as const;
}
