import { isDemoDatabase, loadHistory, readHistoryHeader } from '@millrace/core/demo';
import { demoHistoryFile, demoProviders, demoStorage } from '@millrace/demo-tools';
import { systemClock } from '@millrace/platform/clock';
import { createDb } from '@millrace/platform/db';
import { createIdSource } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import { createSealer } from '@millrace/platform/secrets';
import { sealingKeyOf } from './demo-secrets.ts';

/** Fills a new database with the history of the demo. Returns whether the database belongs to a demo. */
export async function prepareHistory(
  postgresUrl: string,
  { sealingFile, print }: { readonly sealingFile: string; readonly print: (text: string) => void },
): Promise<boolean> {
  const db = createDb({
    url: postgresUrl,
    poolSize: 2,
    applicationName: 'millrace-dev',
    // Only the owner of the server may insert rows without their triggers.
    role: null,
    ids: createIdSource({ clock: systemClock, cell: 0 }),
    log: createLogger({ name: 'dev', level: 'warn' }),
    statementTimeoutMs: 60_000,
  });
  try {
    await db.ping();
    const key = sealingKeyOf(sealingFile);
    const sealer = createSealer({ keys: [key], activeId: key.id });
    const { outcome } = await loadHistory(db, { file: demoHistoryFile, sealer });
    if (outcome === 'loaded') print('The history of the demo is loaded.\n');
    if (outcome === 'other migrations') {
      print('The demo starts empty, because its history is for other migrations: npm run demo:generate\n');
    }
    return outcome === 'loaded' || (await isDemoDatabase(db));
  } finally {
    await db.close();
  }
}

/** Settings of all processes of a demo. */
export async function demoSettings(): Promise<Readonly<Record<string, string>>> {
  const { silentNode } = await readHistoryHeader(demoHistoryFile);
  return {
    MILLRACE_DEMO: 'true',
    MILLRACE_PROVIDERS: JSON.stringify(demoProviders(silentNode)),
    MILLRACE_STORAGE_NODES: JSON.stringify(demoStorage),
    // Simulated hosts of suppliers have loopback addresses.
    MILLRACE_MARKETPLACE_ALLOWED_NETWORKS: '127.0.0.0/8',
  };
}
