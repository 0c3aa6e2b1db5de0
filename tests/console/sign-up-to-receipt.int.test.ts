import {
  isKeyRejected,
  loginAndCountGpus,
  newReadinessKey,
  type SshTarget,
} from '@millrace/compute/readiness';
import { findingsOf, runAudit } from '@millrace/core/auditor';
import { fromUuid, type OrgId } from '@millrace/platform/ids';
import { nanoUsd } from '@millrace/platform/money';
import { eventually, startSmtpServer, type TestSmtp } from '@millrace/testing';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildConsole } from '@millrace/console-tools';
import { GPU_TYPE, openRentalStack, REGION, type RentalStack } from '../stack/rental-stack.ts';
import { grantCredit, GPU_HOUR, insertPrice } from '../stack/tenant.ts';
import { openBrowser, type TestBrowser, type TabSession } from './browser.ts';
import { accountsEnv } from './console-stack.ts';
import { signedOutError } from './open-page.ts';
import { emailLink } from './accounts.ts';

// A new user, from catalog to receipt, on a real Incus cluster. Elements are found by role and name.

let stack: RentalStack;
let smtp: TestSmtp;
let browser: TestBrowser;
beforeAll(async () => {
  buildConsole();
  smtp = await startSmtpServer();
  [stack, browser] = await Promise.all([openRentalStack({ env: accountsEnv(smtp) }), openBrowser()]);
  await insertPrice(stack);
});
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await stack?.close();
  await smtp?.close();
});

const never = new AbortController().signal;
const email = 'ada@example.com';
const password = 'a mill by the quiet river';

/** Exact amount in nano-USD, even if the text is rounded. */
async function nanoIn(place: Locator): Promise<bigint> {
  const value = await place.locator('data').first().getAttribute('value');
  return BigInt(value ?? expect.fail('No amount found.'));
}

const offerIn = (page: Page): Locator =>
  page.getByRole('link', { name: `Rent 1 × ${GPU_TYPE.toUpperCase()} in ${REGION}` }).first();

async function signUp({ page }: TabSession): Promise<void> {
  await page.getByRole('main').getByRole('link', { name: 'Sign up' }).click();
  await page.getByLabel('Your name').fill('Ada Miller');
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByLabel('Organisation name').fill('Quiet River');
  await page.getByRole('button', { name: 'Sign up' }).click();
  await page.getByRole('heading', { name: 'Check your email' }).waitFor();
  // In this tab, so that no tab of the sign-up is left that signs in by itself.
  await page.goto(await emailLink(smtp, email, /verify-email/));
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  expect(await page.getByLabel('Organisation name').inputValue()).toBe('Quiet River');
  await page.getByRole('button', { name: 'Create organisation' }).click();
  await page.getByRole('button', { name: 'Account and organisation: Quiet River' }).waitFor();
}

async function addSshKey({ page }: TabSession, publicKey: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Areas' }).getByRole('link', { name: 'Account' }).click();
  await page.getByRole('link', { name: 'SSH keys' }).click();
  await page.getByLabel('Public key', { exact: true }).fill(publicKey);
  await page.getByLabel('Name', { exact: true }).fill('laptop');
  await page.getByRole('button', { name: 'Add key' }).click();
  await page.getByRole('row', { name: /laptop/ }).waitFor();
}

async function organisation(): Promise<OrgId> {
  const [row] = await stack.rows<{ id: string }>(
    `select org_id as id from members join users on users.id = user_id where email = '${email}'`,
  );
  return fromUuid('org', row?.id ?? expect.fail('No organisation found.'));
}

async function sshTargetIn(page: Page): Promise<Omit<SshTarget, 'privateKey'>> {
  const command = await page.getByRole('region', { name: 'SSH command', exact: true }).innerText();
  const user = /(\S+)@(\S+)/.exec(command);
  const port = /-p (\d+)/.exec(command);
  const fingerprint = await page
    .getByText(/^SHA256:/)
    .first()
    .innerText();
  return {
    host: user?.[2] ?? expect.fail(command),
    user: user?.[1] ?? expect.fail(command),
    port: Number(port?.[1] ?? 22),
    hostKey: fingerprint,
  };
}

test('a user signs up, rents, logs in and terminates, and every page shows the exact price of the ledger', async () => {
  const { privateKey, publicKey } = newReadinessKey();
  await browser.withTab({ url: stack.apiUrl, expected: [signedOutError] }, async (tab) => {
    const { page } = tab;
    await tab.goto('/');
    const onCard = await nanoIn(offerIn(page));
    expect(onCard).toBe(GPU_HOUR);

    await signUp(tab);
    await addSshKey(tab, publicKey);
    await page.getByRole('link', { name: 'Balance' }).click();
    await page.getByRole('heading', { level: 1 }).waitFor();
    const granted = nanoUsd(100_000_000_000n);
    await grantCredit(stack.database.db, await organisation(), granted);
    // Without a reload.
    await page.getByText('$100.00').first().waitFor();

    await page.getByRole('navigation', { name: 'Areas' }).getByRole('link', { name: 'Cloud' }).click();
    await page.getByRole('link', { name: 'Catalog' }).first().click();
    expect(await nanoIn(offerIn(page))).toBe(onCard);
    await offerIn(page).click();
    const summary = page.getByRole('complementary', { name: 'Summary' }).first();
    await expect.poll(() => summary.locator('data').count()).toBeGreaterThan(0);
    expect(await nanoIn(summary), 'in the summary').toBe(onCard);
    await page.getByLabel('Name', { exact: true }).fill('first');
    await summary.getByRole('button', { name: 'Create machine' }).click();

    await page.getByRole('heading', { level: 1, name: 'first' }).waitFor();
    const state = page.getByRole('region', { name: 'Status' });
    await state
      .getByRole('list', { name: 'Provisioning' })
      .getByText('Log in and count its GPUs')
      .first()
      .waitFor();
    await state.getByText('Running:').waitFor({ timeout: 180_000 });
    const price = page.getByRole('term').filter({ hasText: 'Price' }).locator('..');
    expect(await nanoIn(price), 'on the rental page').toBe(onCard);

    const target = { ...(await sshTargetIn(page)), privateKey };
    expect(await loginAndCountGpus(target, never)).toMatchObject({ outcome: 'in', gpuCount: 1 });

    await page.getByRole('button', { name: 'Terminate' }).click();
    const dialog = page.getByRole('alertdialog', { name: 'Terminate first?' });
    await dialog.getByRole('button', { name: 'Terminate' }).click();
    await state.getByText('Terminated:').waitFor({ timeout: 180_000 });
    expect(await isKeyRejected(target, never)).toBe('unreachable');
    const receipt = await nanoIn(
      page.getByRole('heading', { name: 'Receipt' }).locator('xpath=ancestor::section'),
    );

    await page.getByRole('link', { name: 'In the ledger' }).first().click();
    const line = page.getByRole('row').filter({ hasText: 'Charge' }).first();
    await line.waitFor();
    const charged = await nanoIn(line.getByRole('cell').nth(3));
    expect(charged, 'in the ledger').toBe(-receipt);

    // The charge is the catalog price times the runtime, and the ledger agrees.
    const [meter] = await stack.rows<{ rate: string; ms: string; posted: string }>(
      `select rate_nano_usd_per_hour::text as rate, elapsed_before_ms::text as ms, posted_nano_usd::text as posted from meters`,
    );
    expect(BigInt(meter?.rate ?? 0)).toBe(onCard);
    expect((onCard * BigInt(meter?.ms ?? 0)) / 3_600_000n).toBe(receipt);
    expect(BigInt(meter?.posted ?? 0)).toBe(receipt);
    await page.getByRole('link', { name: 'Balance' }).click();
    await expect
      .poll(async () => page.locator(`data[value="${String(granted - receipt)}"]`).count())
      .toBeGreaterThan(0);
  });
  const report = await runAudit(stack.database.db, { kind: 'full', whenBusy: 'unrecorded' });
  expect(report === null ? 'busy' : findingsOf(report, 'error')).toEqual([]);
  await eventually({ what: 'the engine to have nothing left', timeoutMs: 30_000 }, async () => {
    return (await stack.engine.listOwned(never)).machines.length === 0;
  });
});
