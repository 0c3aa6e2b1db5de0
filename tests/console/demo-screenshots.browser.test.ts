import { createApi } from '@millrace/api';
import { buildConsole } from '@millrace/console-tools';
import { contract } from '@millrace/contract';
import { loadHistory } from '@millrace/core/demo';
import { eventChannels } from '@millrace/core/events';
import { ensureUser, keyChangeSubject } from '@millrace/core/identity';
import { consoleSubject } from '@millrace/core/rentals';
import { demoHistoryFile } from '@millrace/demo-tools';
import { createSignIn, passwordHash, setPassword } from '@millrace/platform/auth';
import { systemClock, type Clock } from '@millrace/platform/clock';
import { createDb, type Db } from '@millrace/platform/db';
import { createIdSource } from '@millrace/platform/ids';
import { createLifecycle } from '@millrace/platform/lifecycle';
import { createLogger } from '@millrace/platform/log';
import { connectNats } from '@millrace/platform/nats';
import { createSealer } from '@millrace/platform/secrets';
import { readEndpoints } from '@millrace/services';
import { createTestDatabase, freePort, longDbTimeouts, natsAccess, testNames } from '@millrace/testing';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { openBrowser, type TestBrowser } from './browser.ts';
import { waitUntilLoaded } from './open-page.ts';

/**
 * Two histories of the demo look the same. The api, in this process, and the browser have a fixed time, so only the data could differ.
 * `MILLRACE_DEMO_HISTORIES=a.gz,b.gz` compares two generated files; without it, the file of the repository is loaded twice.
 */
const given = (process.env['MILLRACE_DEMO_HISTORIES'] ?? '').split(',').filter((file) => file !== '');
const [first = demoHistoryFile, second = first] = given;

const NOW_MS = Date.UTC(2026, 10, 18, 12);
const PASSWORD = 'a password of this test only';
const EMAIL = 'demo@example.com';
/** Keeps the pictures, to look at a difference. */
const folder = path.join(import.meta.dirname, '../../.millrace/demo-screenshots');
const SAME_PICTURES = 4;
const TRIES = 120;
const pages = ['/overview', '/rentals', '/usage'];
const log = createLogger({ name: 'demo', level: 'silent' });
const clock: Clock = { ...systemClock, nowMs: () => NOW_MS, now: () => new Date(NOW_MS) };
const unlimited = { allowed: true, degraded: false, policies: [], refusedBy: null };

test('overview, rentals and usage of two histories with one seed are the same pictures', async () => {
  buildConsole();
  await using browser = await openBrowser();
  const before = await picturesOf(browser, first);
  const after = await picturesOf(browser, second);
  mkdirSync(folder, { recursive: true });
  for (const [index, page] of pages.entries()) {
    for (const [number, pictures] of [before, after].entries()) {
      writeFileSync(path.join(folder, `${page.slice(1)}-${number + 1}.png`), pictures[index] ?? '');
    }
    expect(before[index]?.length, page).toBeGreaterThan(10_000);
    expect(after[index]?.equals(before[index] ?? Buffer.alloc(0)), page).toBe(true);
  }
});

async function picturesOf(browser: TestBrowser, file: string): Promise<readonly Buffer[]> {
  await using stack = new AsyncDisposableStack();
  const database = await createTestDatabase({ statementTimeoutMs: 120_000 });
  stack.defer(() => database.drop());
  const ids = createIdSource({ clock, cell: 0 });
  // Only the owner of the server may insert rows without their triggers.
  const db = createDb({ ...longDbTimeouts, url: database.url, poolSize: 8, role: null, clock, ids, log });
  stack.defer(() => db.close());
  const sealer = createSealer({ keys: [{ id: 'test', key: new Uint8Array(32).fill(7) }], activeId: 'test' });
  expect(await loadHistory(db, { file, sealer })).toMatchObject({ outcome: 'loaded' });
  await db.transaction({ name: 'set password', isolation: 'read committed' }, async (tx) => {
    const { id } = await ensureUser(tx, { email: EMAIL });
    await setPassword(tx, id, await passwordHash(PASSWORD));
  });
  const url = await serve(stack, { db, ids, sealer });
  return await browser.withTab({ url, viewport: { width: 1280, height: 900 } }, async ({ page, goto }) => {
    await page.clock.setFixedTime(NOW_MS);
    await goto('/sign-in');
    await page.getByLabel('Email').fill(EMAIL);
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    const pictures: Buffer[] = [];
    for (const where of pages) {
      await goto(where);
      await waitUntilLoaded(page);
      pictures.push(await settledPicture(page));
    }
    return pictures;
  });
}

/** The picture after it has stopped changing: data arrives in several requests. */
async function settledPicture(page: Page): Promise<Buffer> {
  const take = (): Promise<Buffer> => page.screenshot({ animations: 'disabled', caret: 'hide' });
  let last = await take();
  for (let same = 0, tries = 0; same < SAME_PICTURES && tries < TRIES; tries += 1) {
    await page.waitForTimeout(500);
    const next = await take();
    same = next.equals(last) ? same + 1 : 0;
    last = next;
  }
  // Draws everything again: corners of parts that moved while data arrived are otherwise blended twice.
  await page.evaluate(`document.documentElement.style.display = 'none'`);
  await take();
  await page.evaluate(`document.documentElement.style.display = ''`);
  return take();
}

async function serve(
  stack: AsyncDisposableStack,
  {
    db,
    ids,
    sealer,
  }: {
    readonly db: Db;
    readonly ids: ReturnType<typeof createIdSource>;
    readonly sealer: ReturnType<typeof createSealer>;
  },
): Promise<string> {
  const port = await freePort();
  const publicUrl = `http://127.0.0.1:${port}`;
  const prefix = testNames().natsPrefix;
  const nats = await connectNats({
    ...natsAccess(),
    servers: readEndpoints().natsUrls,
    name: 'demo-screenshots',
    log,
  });
  stack.defer(() => nats.close());
  const signInSettings = {
    ...{ name: 'Millrace', publicUrl, secret: 'cookie secret for this test only', signUp: 'closed' as const },
    ...{ oidc: [], addressTries: 1_000 },
  };
  const api = createApi({
    ...{ contract, cell: 0, clock, ids, log, db, nats, natsPrefix: prefix, sealer, feedSealer: sealer },
    signIn: await createSignIn(signInSettings, { db, clock: systemClock, ids, log, mailer: null }),
    limiter: {
      consume: async () => unlimited,
      peek: async () => unlimited,
      giveBack: async () => undefined,
    },
    lifecycle: createLifecycle({ clock: systemClock, log, drainDeadlineMs: 5_000 }),
    channels: eventChannels(prefix),
    keyChangeSubject: keyChangeSubject(prefix),
    consoleSubject: consoleSubject(prefix, 0),
    ...{ organisationRpm: 1_000_000, trustedProxies: [], validateResponses: true, isDemo: true },
    ...{ openDocuments: false, publicUrl, inferenceUrl: null },
    console: {
      folder: path.join(import.meta.dirname, '../../apps/console/dist'),
      inferenceUrl: null,
      https: false,
    },
  });
  stack.defer(async () => {
    await api.server.close();
    await api.close();
  });
  await api.server.listen({ host: '127.0.0.1', port });
  return publicUrl;
}
