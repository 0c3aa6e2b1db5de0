import { connectTrust } from '@millrace/compute/connect';
import { mockBenchmark, readMockHost } from '@millrace/compute/mock';
import { EnrolmentSweep } from '@millrace/core/suppliers';
import { systemClock } from '@millrace/platform/clock';
import { createNetGuard } from '@millrace/platform/net';
import { createSealer } from '@millrace/platform/secrets';
import type { WorkerConfig } from './config.ts';
import type { WorkerDeps } from './worker-deps.ts';

const POLL_MS = 1_000;

/** Advances enrolments of suppliers' machines step by step. */
export function startEnrolments(
  config: WorkerConfig,
  deps: Pick<WorkerDeps, 'db' | 'lifecycle' | 'log' | 'drivers' | 'startLoop'>,
): void {
  const { db, lifecycle, log, drivers, startLoop } = deps;
  const clock = systemClock;
  const { credentials } = config.fleet;
  const { provider: providerId, credential: credentialRef } = config.marketplace;
  const { sealingKeys, activeSealingKey } = config.secrets;
  const guard = createNetGuard(config.marketplace);
  const enrolment = {
    db,
    clock,
    log,
    sealer: createSealer({ keys: sealingKeys, activeId: activeSealingKey }),
    guard,
    drivers: drivers.of.bind(drivers),
    trust: (daemon: { readonly endpoint: string; readonly serverCertificate: string }) =>
      connectTrust(daemon, { clock, guard, credentials, credentialRef }),
    providerId,
    credentialRef,
    mockHosts: config.demo.isDemo ? { settingsOf: readMockHost, benchmark: mockBenchmark } : null,
  };
  const options = { name: 'enrol machines', clock, log, idleMs: POLL_MS, maxBackoffMs: POLL_MS };
  const enrolments = new EnrolmentSweep(enrolment);
  const loop = startLoop(options, async () => ((await enrolments.sweep()) > 0 ? 'busy' : 'idle'));
  lifecycle.onDrain('consumers', 'enrolments', () => loop.stop());
}
