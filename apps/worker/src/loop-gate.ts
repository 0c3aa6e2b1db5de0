import type { RestoreGuard } from '@millrace/core/restore';
import { startLoop, type StartLoop } from '@millrace/platform/lifecycle';

/**
 * Loops that run while the database is not known to be the newest state, and why that is safe. Every other loop of a worker waits:
 * a restored database gives numbers that were given, sends what was sent, ends what was put off since and misses money that was
 * paid in. A test requires each loop of the catalog to be named here or to be started by the gate.
 */
export const ungatedLoops: Readonly<Record<string, string>> = {
  'compare the restore mark': 'It opens the gate.',
  'compare clocks': 'Reads one time.',
  'register with Restate': 'Tells Restate where this process listens.',
  'keep the event stream': 'Keeps settings of a stream, and publishes nothing.',
  'keep the usage stream': 'Keeps settings of a stream, and publishes nothing.',
  'keep the usage tables': 'Creates partitions by day.',
  'work through usage': 'Charges usage to leases that the database knows, and records the rest.',
  'charge deferred usage': 'Charges usage to leases that the database knows, and records the rest.',
  'call in leases of pots': 'Only ends lending. Lending asks the guard in its own transaction.',
  'close leases of pots': 'Only ends lending. Lending asks the guard in its own transaction.',
  'give up silent gateways': 'Only ends lending. Lending asks the guard in its own transaction.',
  'settle ended gateways': 'Only ends lending. Lending asks the guard in its own transaction.',
  'write the gateway book': 'Keys that are revoked now must stop working now.',
  'keep the gateway book': 'Keys that are revoked now must stop working now.',
  'watch deployments': 'Asks engines whether they answer.',
  'compare rentals':
    'Compares engines and corrects rows. Orphans are removed only when the guard allows it; calls wait in the outbox.',
  'repair late rentals': 'Notes calls in the outbox, where they wait.',
  'watch clusters': 'Looks at engines and corrects rows.',
  'read cluster': 'Looks at engines and corrects rows.',
  'listen to cluster': 'Looks at engines and corrects rows.',
  'tell fleet figures': 'Reads sums for metrics.',
  'measure machines of suppliers': 'Computes figures from rows.',
  'judge machines of suppliers': 'Takes failing machines out of sale, which is safe.',
  'tell figures of suppliers': 'Reads sums for metrics.',
  'forget days of machines': 'Deletes by age.',
  'serve names': 'Serves names of machines that run.',
  'follow the listing': 'Reads rows into memory.',
  'check feed heads': 'Reads rows.',
  audit: 'Reads rows.',
  'keep webhooks': 'Renews leases of deliveries that are under way; no other is begun.',
  'measure webhooks': 'Reads sums for metrics.',
  'measure outbox': 'Reads sums for metrics.',
  // other processes
  'gateway deadlines': 'Runs in gateways.',
  'gateway leases': 'Runs in gateways.',
  'expired sessions': 'Runs in the API: deletes by age.',
  supervision: 'Runs on storage nodes.',
};

/** Starts loops whose steps run only while the guard is open. */
export function gateLoops(guard: Pick<RestoreGuard, 'isOpen'>): StartLoop {
  return (options, step) =>
    options.name in ungatedLoops
      ? startLoop(options, step)
      : startLoop(options, async (signal) => (guard.isOpen() ? step(signal) : 'idle'));
}
