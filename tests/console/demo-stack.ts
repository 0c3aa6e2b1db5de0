import { buildConsole } from '@millrace/console-tools';
import { loadHistory, readHistoryHeader } from '@millrace/core/demo';
import { ensureUser } from '@millrace/core/identity';
import { demoHistoryFile, demoProviders, demoStorage } from '@millrace/demo-tools';
import { passwordHash, setPassword } from '@millrace/platform/auth';
import { systemClock } from '@millrace/platform/clock';
import { createDb } from '@millrace/platform/db';
import { createIdSource } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import { createSealer } from '@millrace/platform/secrets';
import {
  createTestDatabase,
  longDbTimeouts,
  startApiProcess,
  startSmtpServer,
  testNames,
} from '@millrace/testing';
import { closeAll } from '../stack/ledger-audit.ts';
import { signIn } from './accounts.ts';
import type { StorageState } from './browser.ts';
import { accountsEnv } from './console-stack.ts';

/** The api with the history of the demo. No worker runs, so that nothing changes while a test measures. */
export interface DemoStack extends AsyncDisposable {
  readonly apiUrl: string;
  /** Of the owner of the demo organisation. */
  readonly session: StorageState;
}

const EMAIL = 'demo@example.com';
const PASSWORD = 'a mill by the quiet river';

export async function openDemoStack(): Promise<DemoStack> {
  buildConsole();
  const database = await createTestDatabase({ statementTimeoutMs: 120_000 });
  await loadDemo(database.url);
  await database.db.transaction({ name: 'set password', isolation: 'read committed' }, async (tx) => {
    const { id } = await ensureUser(tx, { email: EMAIL });
    await setPassword(tx, id, await passwordHash(PASSWORD));
  });
  const smtp = await startSmtpServer();
  const { silentNode } = await readHistoryHeader(demoHistoryFile);
  const api = await startApiProcess({
    database,
    names: testNames(),
    env: {
      ...accountsEnv(smtp),
      MILLRACE_DEMO: 'true',
      // As in production.
      MILLRACE_HTTP_VALIDATE_RESPONSES: 'false',
      MILLRACE_PROVIDERS: JSON.stringify(demoProviders(silentNode)),
      MILLRACE_STORAGE_NODES: JSON.stringify(demoStorage),
      MILLRACE_MARKETPLACE_ALLOWED_NETWORKS: '127.0.0.0/8',
    },
  });
  return {
    apiUrl: api.url,
    session: await signIn(api.url, { email: EMAIL, password: PASSWORD }),
    [Symbol.asyncDispose]: () => closeAll([() => database.drop(), () => smtp.close(), () => api.stop()]),
  };
}

async function loadDemo(url: string): Promise<void> {
  const db = createDb({
    ...longDbTimeouts,
    url,
    poolSize: 1,
    // Only the owner of the server may insert rows without their triggers.
    role: null,
    ids: createIdSource({ clock: systemClock, cell: 0 }),
    log: createLogger({ name: 'test', level: 'silent' }),
  });
  try {
    // The key of `engineEnv`.
    const sealer = createSealer({
      keys: [{ id: 'test', key: new Uint8Array(32).fill(7) }],
      activeId: 'test',
    });
    const { outcome } = await loadHistory(db, { file: demoHistoryFile, sealer });
    if (outcome !== 'loaded') throw new Error(`The history of the demo was not loaded: ${outcome}`);
  } finally {
    await db.close();
  }
}
