import { ensureUp } from '@millrace/services';
import { dropAbandonedDatabases, ensureTemplate } from './postgres/database.ts';
import { releaseIncusCluster } from './incus/incus-cluster.ts';
import { clearStorageNodes } from './processes/storage-node.ts';
import { dropAbandonedStreams } from './messaging/streams.ts';
import { stopSupplierHosts } from './incus/supplier-hosts.ts';

/** Runs once before the project `int`: starts engines, removes leftovers of killed runs, builds the template. */
export async function setup(): Promise<void> {
  await ensureUp(['postgres', 'valkey', 'nats', 'restate']);
  await dropAbandonedDatabases();
  await dropAbandonedStreams();
  await releaseIncusCluster();
  await stopSupplierHosts();
  await clearStorageNodes({ own: false });
  await ensureTemplate();
}

/** Runs once afterwards. The engines stay for the next run; hosts that test files started do not. */
export async function teardown(): Promise<void> {
  await releaseIncusCluster();
  await stopSupplierHosts();
  await clearStorageNodes({ own: true });
}
