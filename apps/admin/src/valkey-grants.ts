import { restoreMarkGrant } from '@millrace/core/restore';
import { gatewayLeaseGrants, workerLeaseGrants } from '@millrace/credit-leases/protocol';
import { engineSlotsGrant } from '@millrace/inference/engine-slots';
import { limiterGrant } from '@millrace/platform/limiter';
import type { ValkeyGrant } from '@millrace/platform/valkey';

export const valkeyRoles = ['api', 'worker', 'gateway'] as const;
export type ValkeyRole = (typeof valkeyRoles)[number];

/** The commands and keys of a role, derived from its scripts. `prefix` is MILLRACE_NATS_PREFIX. */
export function valkeyGrants(role: ValkeyRole, prefix: string): readonly ValkeyGrant[] {
  switch (role) {
    case 'api':
      return [limiterGrant];
    case 'worker':
      return [...workerLeaseGrants, restoreMarkGrant(prefix)];
    case 'gateway':
      return [limiterGrant, ...gatewayLeaseGrants, engineSlotsGrant];
  }
}
