import type { ContractSchemas } from '../records/index.ts';
import { adminOrganisationOperations } from './own-admin.ts';
import { auditOperations } from './own-audit.ts';
import { eventOperations } from './own-events.ts';
import { identityOperations } from './own-identity.ts';
import { keyOperations } from './own-keys.ts';

/** Every operation that our own decisions add to the interface. */
export function ownOperations(_schemas: ContractSchemas) {
  return {
    ...identityOperations,
    ...keyOperations,
    ...auditOperations,
    ...eventOperations,
    ...adminOrganisationOperations,
  } as const;
}
