import { startHostnames } from '@millrace/core/marketplace';
import { systemClock } from '@millrace/platform/clock';
import { caddyAddress } from '@millrace/platform/config';
import { createNetGuard } from '@millrace/platform/net';
import type { WorkerConfig } from './config.ts';
import type { WorkerDeps } from './worker-deps.ts';

/** Configures Caddy, only if this worker has its address. */
export function startCaddySync(
  config: WorkerConfig,
  deps: Pick<WorkerDeps, 'db' | 'lifecycle' | 'log'>,
): void {
  const { db, lifecycle, log } = deps;
  const { domain } = config.names;
  const { admin, listen, certificateFile, keyFile } = config.caddy;
  const address = admin === null ? null : caddyAddress(admin);
  if (domain === null || admin === null || address === null) return;
  // Config validation requires both, so this is unreachable.
  if (certificateFile === null || keyFile === null) throw new Error('Caddy has no certificate.');
  const names = startHostnames({
    db,
    clock: systemClock,
    log,
    guard: createNetGuard({ allowedNetworks: config.marketplace.allowedNetworks }),
    domain,
    caddy: { address, adminListen: admin, listen, certificateFile, keyFile },
  });
  lifecycle.onDrain('consumers', 'names', () => names.stop());
}
