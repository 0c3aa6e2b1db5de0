import type { RestoreGuard } from '@millrace/core/restore';
import { startLoop, type StartLoop } from '@millrace/platform/lifecycle';

/**
 * Loops that may run while the database is not known to be the newest state, and why that is safe. Other loops wait: a restored
 * database would reuse numbers, repeat deliveries, apply postponed ends early and miss payments. A test requires each loop of the
 * catalog to be named here or started by the gate.
 */
export const ungatedLoops: Readonly<Record<string, string>> = {
  'compare the restore mark': 'Opens the gate.',
  'compare clocks': 'Reads one timestamp.',
  'register with Restate': 'Registers the address of this process with Restate.',
  'keep the event stream': 'Maintains stream settings and publishes nothing.',
  'keep the usage stream': 'Maintains stream settings and publishes nothing.',
  'keep the usage tables': 'Creates partitions by day.',
  'work through usage': 'Charges usage to known leases and records the rest.',
  'charge deferred usage': 'Charges usage to known leases and records the rest.',
  'call in leases of pots': 'Only closes leases. Grants check the guard in their own transaction.',
  'close leases of pots': 'Only closes leases. Grants check the guard in their own transaction.',
  'give up silent gateways': 'Only closes leases. Grants check the guard in their own transaction.',
  'settle ended gateways': 'Only closes leases. Grants check the guard in their own transaction.',
  'write the gateway book': 'Revoked keys must stop working at once.',
  'keep the gateway book': 'Revoked keys must stop working at once.',
  'watch deployments': 'Probes engines.',
  'compare rentals':
    'Compares engines and corrects rows. The guard controls orphan removal; calls wait in the outbox.',
  'repair late rentals': 'Writes calls to the outbox, where they wait.',
  'watch clusters': 'Reads engines and corrects rows.',
  'read cluster': 'Reads engines and corrects rows.',
  'listen to cluster': 'Reads engines and corrects rows.',
  'tell fleet figures': 'Reads sums for metrics.',
  'measure machines of suppliers': 'Computes figures from rows.',
  'judge machines of suppliers': 'Quarantines failing machines, which is safe.',
  'tell figures of suppliers': 'Reads sums for metrics.',
  'forget days of machines': 'Deletes by age.',
  'serve names': 'Serves hostnames of running machines.',
  'follow the listing': 'Reads rows into memory.',
  'check feed heads': 'Reads rows.',
  audit: 'Reads rows.',
  'keep webhooks': 'Renews leases of deliveries in progress and starts none.',
  'measure webhooks': 'Reads sums for metrics.',
  'measure outbox': 'Reads sums for metrics.',
  'record metrics of the installation': 'Reads sums for metrics.',
  // Loops of other processes.
  'gateway deadlines': 'Runs in gateways.',
  'gateway leases': 'Runs in gateways.',
  'TLS files': 'Runs in the API and in gateways: reads two files.',
  'check the public status': 'Runs in the API: only reads.',
  'expired sessions': 'Runs in the API: deletes by age.',
  supervision: 'Runs on storage nodes.',
  'accepted clients': 'Runs on storage nodes: reads one file.',
};

export function gateLoops(guard: Pick<RestoreGuard, 'isOpen'>): StartLoop {
  return (options, step) =>
    options.name in ungatedLoops
      ? startLoop(options, step)
      : startLoop(options, async (signal) => (guard.isOpen() ? step(signal) : 'idle'));
}
