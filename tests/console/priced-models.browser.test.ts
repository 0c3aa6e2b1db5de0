import { eventually, startChatDouble, type ChatDouble } from '@millrace/testing';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MOCK_MODEL } from '../stack/mock-stack.ts';
import { createOwner, withMode, type Owner } from './accounts.ts';
import { openBrowser, type TabSession, type TestBrowser } from './browser.ts';
import { openConsoleStack, type ConsoleStack } from './console-stack.ts';
import { waitUntilLoaded } from './open-page.ts';

// The cost of one request in the playground, its details, the ledger and the usage page.

const PROMPT_TOKENS = 11;
const tokens = ['Water', ' turns', ' the', ' wheel', '.'];
const promptPrice = 100n;
const completionPrice = 1_000n;
const COST = BigInt(PROMPT_TOKENS) * promptPrice + BigInt(tokens.length) * completionPrice;

let stack: ConsoleStack;
let browser: TestBrowser;
let engine: ChatDouble;
let owner: Owner;
beforeAll(async () => {
  [stack, browser, engine] = await Promise.all([
    openConsoleStack(),
    openBrowser(),
    startChatDouble({ engine: 'vllm', tokens, promptTokens: PROMPT_TOKENS }),
  ]);
  owner = await createOwner(stack, { organisation: 'Quiet River Labs', isOperator: true });
  await call(`/v2/admin/organisations/${owner.orgId}/grants`, {
    amountNanoUsd: '100000000000',
    reason: 'Welcome credit',
  });
  await call('/v2/admin/deployments', {
    model: MOCK_MODEL,
    engine: 'vllm',
    address: engine.address,
    region: 'us-central-1',
  });
  await setPrice('prompt_token', promptPrice);
  await setPrice('completion_token', completionPrice);
});
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await engine?.close();
  await stack?.[Symbol.asyncDispose]();
});

async function call(path: string, body?: object): Promise<unknown> {
  const response = await fetch(stack.apiUrl + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${await owner.key('live')}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${String(response.status)} ${text}`);
  return JSON.parse(text);
}

const setPrice = (unit: string, price: bigint) =>
  call('/v2/admin/prices', {
    subject: { kind: 'model', model: MOCK_MODEL, unit },
    unit: 'token',
    priceNanoUsd: String(price),
    validFrom: new Date().toISOString(),
    reason: 'The list of this year',
  });

/** The console asks for a request until it is recorded, about a second after its end. */
const notRecordedYet = /\/v2\/usage\/requests\/req_\w+ 404$/;

const inMode = (mode: 'live' | 'test', work: (tab: TabSession) => Promise<void>) =>
  browser.withTab(
    {
      url: stack.apiUrl,
      session: withMode(owner.session, stack.apiUrl, owner.orgId, mode),
      expected: [notRecordedYet],
    },
    work,
  );

async function send(page: Page, question: string): Promise<Locator> {
  await page.getByRole('textbox', { name: 'Your message' }).fill(question);
  await page.keyboard.press('Enter');
  const answered = page.getByRole('article', { name: `You: ${question}` });
  await answered.getByRole('button', { name: 'Regenerate' }).waitFor();
  return answered;
}

const amount = (place: Page | Locator, nano: bigint): Locator =>
  place.locator(`data[value="${String(nano)}"]`).first();

/** The gateway learns a new price from its key feed. */
const waitForPrice = (page: Page): Promise<unknown> =>
  eventually({ what: 'the price of the model', timeoutMs: 300_000 }, async () => {
    await page.reload();
    await waitUntilLoaded(page);
    return (await amount(page, promptPrice * 1_000_000n).count()) > 0;
  });

test('a response in live mode costs the same in the playground, its details, the ledger and the usage', () =>
  inMode('live', async ({ page, goto }) => {
    await goto(`/playground?model=${MOCK_MODEL}`);
    await waitForPrice(page);
    const answered = await send(page, 'How does a water mill work?');
    expect(await answered.innerText()).toContain(tokens.join(''));
    expect(await answered.innerText()).toMatch(/Input tokens\s+11\s+Output tokens\s+5\s+Cost\s+\$0\.0000061/);
    expect(await answered.innerText()).toMatch(/First token\s+\d+\.\d\d s\s+Total time\s+\d+\.\d\d s/);

    await answered.getByRole('link', { name: 'Request details' }).click();
    await page.getByRole('table', { name: 'Attempts' }).waitFor();
    await amount(page.getByRole('main'), COST).waitFor();

    const entries = page.getByRole('table', { name: 'Ledger entries, newest first' });
    await eventually({ what: 'the charge in the ledger', timeoutMs: 300_000 }, async () => {
      await goto('/ledger?causeKind=inference');
      await waitUntilLoaded(page);
      return (await amount(entries, -COST).count()) > 0;
    });
    await entries.getByRole('link', { name: 'Inference requests' }).first().click();
    await amount(page.getByRole('table', { name: /Requests of the ledger entry/ }), COST).waitFor();

    await page.getByRole('tab', { name: 'Spending' }).click();
    await page.getByLabel('Group by').selectOption('model');
    const row = page.getByRole('table', { name: 'Usage by model' }).getByRole('row', { name: MOCK_MODEL });
    await amount(row, COST).waitFor();
  }));

test('a response in test mode is free and shows what it costs in live mode', () =>
  inMode('test', async ({ page, goto }) => {
    await goto(`/playground?model=${MOCK_MODEL}`);
    await waitForPrice(page);
    const answered = await send(page, 'How does a water mill work?');
    const text = await answered.innerText();
    const [, input = '0', output = '0'] = /Input tokens\s+(\d+)\s+Output tokens\s+(\d+)/.exec(text) ?? [];
    expect(text).toMatch(/Cost\s+\$0\.00/);
    const live = BigInt(input) * promptPrice + BigInt(output) * completionPrice;
    await amount(answered, live).waitFor();
    await answered.getByRole('link', { name: 'Request details' }).click();
    await amount(page.getByRole('main'), live).waitFor();
  }));
