import { limitFunctions, limitKeys } from '@millrace/platform/limiter';
import { commandsOf, type ValkeyGrant } from '@millrace/platform/valkey';
import { leaseScripts } from './lease-scripts.ts';
import { leaseKeys } from './valkey-leases.ts';

/** The commands of gateways and workers on the keys of credit leases. */

/** The texts differ between servers only in names and numbers. */
const scripts = leaseScripts({ namespace: '', generation: 0n, incarnation: '0'.repeat(40) });

/** The part of the scripts of gateways that uses the lease. The other part uses rate limits, for which gateways have a grant. */
const onLease = [scripts.reserve, scripts.settle].map(({ source }) => ({
  source: source.replace(limitFunctions, ''),
}));

/** Gateways only run prepared scripts, by their digest, and settle and reserve together with rate limits. */
export const gatewayLeaseGrants: readonly ValkeyGrant[] = [
  { commands: ['evalsha'], keys: [leaseKeys, limitKeys] },
  { commands: commandsOf(onLease), keys: [leaseKeys] },
];

const { open, enlarge, recall, close, remove } = scripts;
/** Commands of `valkey-leases.ts`, and of the comparison with the ledger after a restore. */
const plain = ['hgetall', 'hmget', 'hset', 'info', 'scan', 'script|exists', 'script|load', 'unlink'];

/** Workers prepare the server, and open, enlarge, recall and remove leases. */
export const workerLeaseGrants: readonly ValkeyGrant[] = [
  {
    commands: [
      ...new Set(['evalsha', ...plain, ...commandsOf([open, enlarge, recall, close, remove])]),
    ].toSorted(),
    keys: [leaseKeys],
  },
];
