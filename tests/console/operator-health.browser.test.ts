import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { readEndpoints } from '@millrace/services';
import { freePorts, startTcpProxy, type TcpProxy } from '@millrace/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addDeployment, addModel, createCaller } from '../stack/inference-tenant.ts';
import { createOwner, withMode, type Owner } from './accounts.ts';
import { expectAccessible, overflowOf } from './axe.ts';
import { desktopViewport, openBrowser, type TestBrowser } from './browser.ts';
import { openConsoleStack, type ConsoleStack } from './console-stack.ts';
import { waitUntilLoaded } from './open-page.ts';

// The health page in a real browser, while NATS, a gateway and an inference engine are down.

const MODEL = 'unreachable-chat';
const WAIT = { timeout: 180_000 };
/** `.millrace/console-shots`, beside those of `npm run console:shots`. */
const folder = path.join(import.meta.dirname, '..', '..', '.millrace', 'console-shots');

const natsUrl = readEndpoints().natsUrls[0] ?? '';
let nats: TcpProxy;
let stack: ConsoleStack;
let browser: TestBrowser;
let operator: Owner;

beforeAll(async () => {
  nats = await startTcpProxy(natsUrl);
  const [workerPort = 0, gatewayPort = 0] = await freePorts(2);
  const processes = `worker=http://127.0.0.1:${workerPort},gateway=http://127.0.0.1:${gatewayPort}`;
  [stack, browser] = await Promise.all([
    openConsoleStack({
      // The gateway that the setting names does not run.
      gateway: false,
      env: {
        MILLRACE_NATS_URLS: nats.rewrite(natsUrl),
        MILLRACE_WORKER_HEALTH_PORT: String(workerPort),
        MILLRACE_HEALTH_PROCESSES: processes,
      },
    }),
    openBrowser(),
  ]);
  operator = await createOwner(stack, { organisation: 'Mill Cloud', isOperator: true });
  await deployUnreachableEngine();
  nats.cut();
});

afterAll(async () => {
  nats.heal();
  await browser?.[Symbol.asyncDispose]();
  await stack?.[Symbol.asyncDispose]();
  await nats.close();
});

async function deployUnreachableEngine(): Promise<void> {
  const [closed = 0] = await freePorts(1);
  const call = createCaller(stack.apiUrl, await operator.key('live'));
  const admin = {
    call,
    do: async (method: string, at: string, body: object) => {
      const { status, json } = await call(method, at, body);
      if (status >= 300) throw new Error(JSON.stringify(json));
      return json;
    },
  };
  await addModel(admin, { name: MODEL, modality: 'chat', prices: {}, contextLength: 4_096 });
  await addDeployment(admin, { model: MODEL, engine: 'vllm', address: `http://127.0.0.1:${closed}` });
}

const problems: readonly (readonly [title: RegExp, runbook: RegExp])[] = [
  [/^NATS is unreachable from .*api.*worker/, /\/docs\/runbooks\/alerts\/engines#millracenatsunreachable$/],
  [/^gateway does not report its health$/, /\/docs\/runbooks\/alerts\/processes#millraceprocessdown$/],
  [
    new RegExp(`^1 inference engine down, of ${MODEL}$`),
    /\/docs\/runbooks\/alerts\/requests#millraceengineerrors$/,
  ],
];

test('the health page names NATS, a gateway and an engine that are down, each with a link to a served runbook', async () => {
  const session = withMode(operator.session, stack.apiUrl, operator.orgId, 'live');
  mkdirSync(folder, { recursive: true });
  await browser.withTab({ url: stack.apiUrl, session }, async ({ page, goto }) => {
    await goto('/operator/health');
    await waitUntilLoaded(page);
    const list = page.getByRole('list', { name: 'Problems' });
    for (const [title, runbook] of problems) {
      const item = list.getByRole('listitem').filter({ has: page.getByText(title) });
      await item.waitFor(WAIT);
      const link = await item.getByRole('link', { name: /^What to do/ }).getAttribute('href');
      expect(link).toMatch(runbook);
      const [address = '', section] = String(link).split('#');
      const response = await fetch(stack.apiUrl + address);
      expect(response.status).toBe(200);
      expect(await response.text()).toContain(`id="${section}"`);
    }
    const table = page.getByRole('table', { name: 'Processes' });
    expect(await table.getByRole('row', { name: /gateway/ }).innerText()).toContain('unreachable');
    await expectAccessible(page);
    for (const viewport of [desktopViewport, { width: 390, height: 844 }]) {
      await page.setViewportSize(viewport);
      expect(await overflowOf(page, viewport)).toEqual([]);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        const file = `operator-health-broken-${colorScheme}-${viewport.width}.png`;
        await page.screenshot({ path: path.join(folder, file), fullPage: true });
      }
    }
  });
});

test('the public status page shows the same faults in words for tenants, without a session', async () => {
  await browser.withTab({ url: stack.apiUrl }, async ({ page }) => {
    await expect
      .poll(async () => {
        await page.goto('/status');
        return page.locator('li strong').allInnerTexts();
      }, WAIT)
      .toEqual(expect.arrayContaining(['Inference is not available', 'Events and webhooks are late']));
    expect(await page.content()).not.toMatch(new RegExp(`NATS|gateway|worker|${MODEL}|127\\.0\\.0\\.1`));
    await expectAccessible(page);
  });
});

test('the api answers within its limits while all of that is down', async () => {
  const call = createCaller(stack.apiUrl, await operator.key('live'));
  const { status, json } = await call('GET', '/v2/admin/health');
  expect(status).toBe(200);
  const { engines, unread } = json as { engines: { name: string; ok: boolean }[]; unread: string[] };
  expect(engines).toContainEqual(expect.objectContaining({ name: 'NATS', ok: false }));
  expect(engines).toContainEqual(expect.objectContaining({ name: 'PostgreSQL', ok: true }));
  expect(unread).toEqual([]);
});
