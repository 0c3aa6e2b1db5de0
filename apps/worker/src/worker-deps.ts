import type { DriverPool } from '@millrace/core/fleet';
import type { RestoreGuard } from '@millrace/core/restore';
import type { Db } from '@millrace/platform/db';
import type { Lifecycle, StartLoop } from '@millrace/platform/lifecycle';
import type { Logger } from '@millrace/platform/log';
import type { BackgroundNatsClient } from '@millrace/platform/nats';
import type { ValkeyClient } from '@millrace/platform/valkey';

/** Connections and services that the components of the process share. */
export interface WorkerDeps {
  readonly db: Db;
  readonly nats: BackgroundNatsClient;
  /** Null if this worker grants no credit leases. */
  readonly valkey: ValkeyClient | null;
  readonly drivers: DriverPool;
  readonly guard: RestoreGuard;
  /** Starts loops that wait while the guard is closed. */
  readonly startLoop: StartLoop;
  readonly lifecycle: Lifecycle;
  readonly log: Logger;
  /** Identifies this process among the workers. */
  readonly holder: string;
}
