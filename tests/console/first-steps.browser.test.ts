import { newReadinessKey } from '@millrace/compute/readiness';
import { uniqueId } from '@millrace/testing';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { emailLink } from './accounts.ts';
import { openBrowser, type TestBrowser } from './browser.ts';
import { openConsoleStack, type ConsoleStack } from './console-stack.ts';
import { inputDevices, useInput, type InputDevice, type UserInput } from './inputs.ts';
import { signedOutError, waitUntilLoaded } from './open-page.ts';

// From sign-up to a running machine and to a model's answer in test mode, with the mouse and with the keyboard alone.
// The verification of the email address is part of both and counts as an action.

let stack: ConsoleStack;
let browser: TestBrowser;
beforeAll(async () => {
  [stack, browser] = await Promise.all([openConsoleStack(), openBrowser()]);
});
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await stack?.[Symbol.asyncDispose]();
});

/** The console asks for a request until it is recorded, about a second after its end. */
const notRecordedYet = /\/v2\/usage\/requests\/req_\w+ 404$/;

/** Signs up and opens the emailed link; `work` continues on the overview, in the tab of the link. */
const afterSignUp = (device: InputDevice, work: (page: Page, input: UserInput) => Promise<void>) =>
  browser.withTab(
    { url: stack.apiUrl, expected: [signedOutError, notRecordedYet] },
    async ({ page: signUp, goto }) => {
      const email = `ada-${uniqueId()}@example.com`;
      await goto('/sign-up');
      await waitUntilLoaded(signUp);
      const form = useInput(signUp, device);
      await form.send(
        [
          [signUp.getByRole('textbox', { name: 'Your name' }), 'Ada Miller'],
          [signUp.getByRole('textbox', { name: 'Email' }), email],
          [signUp.getByLabel('Password'), 'a mill by the quiet river'],
          [signUp.getByRole('textbox', { name: 'Organisation name' }), 'Quiet River'],
        ],
        signUp.getByRole('button', { name: 'Sign up' }),
      );
      await signUp.getByRole('heading', { name: 'Check your email' }).waitFor();
      const { page, input } = await form.openEmailLink(await emailLink(stack.smtp, email, /verify-email/));
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      await page.getByText('Machines, costs and activity of Quiet River.').waitFor();
      await work(page, input);
    },
  );

test.each(inputDevices)('a new user gets a running machine in at most six actions with the %s', (device) =>
  afterSignUp(device, async (page, input) => {
    await input.press(page.getByRole('link', { name: 'Rent a free test machine' }));
    await page.getByText('Test mode.').waitFor();
    await input.send(
      [[page.getByRole('textbox', { name: 'Public key' }), newReadinessKey().publicKey]],
      page.getByRole('button', { name: 'Save key' }),
    );
    const summary = page.getByRole('complementary', { name: 'Summary' }).first();
    await input.press(summary.getByRole('button', { name: 'Create machine' }));
    await page.getByRole('region', { name: 'Status' }).getByText('Running:').waitFor();
    await page.getByRole('region', { name: 'SSH command', exact: true }).waitFor();
    expect(input.actions()).toBeLessThanOrEqual(6);
  }),
);

test.each(inputDevices)("a new user gets a model's answer in at most four actions with the %s", (device) =>
  afterSignUp(device, async (page, input) => {
    await input.press(page.getByRole('link', { name: 'Try a model for free' }));
    await page.getByText('Test mode.').waitFor();
    const question = 'How does a water mill work?';
    await input.send(
      [[page.getByRole('textbox', { name: 'Your message' }), question]],
      page.getByRole('button', { name: 'Send' }),
    );
    const exchange = page.getByRole('article', { name: `You: ${question}` });
    await exchange.getByText('Output tokens').waitFor();
    const completion = (await exchange.innerText()).split('Model')[1] ?? '';
    expect(completion.trim()).toMatch(/^\S.*\n[\s\S]*Output tokens/);
    expect(input.actions()).toBeLessThanOrEqual(4);
  }),
);

test('a link that was opened on another device signs in by Continue', () =>
  browser.withTab(
    { url: stack.apiUrl, expected: [signedOutError] },
    async ({ page, goto, expect: allow }) => {
      allow(/refused: POST \S+\/auth\/sign-in\/email 403/);
      const email = `ada-${uniqueId()}@example.com`;
      await goto('/sign-up');
      await page.getByRole('textbox', { name: 'Your name' }).fill('Ada Miller');
      await page.getByRole('textbox', { name: 'Email' }).fill(email);
      await page.getByLabel('Password').fill('a mill by the quiet river');
      await page.getByRole('textbox', { name: 'Organisation name' }).fill('Quiet River');
      await page.getByRole('button', { name: 'Sign up' }).click();
      const next = page.getByRole('button', { name: 'Continue' });
      await next.click();
      await page.getByText('Your address is not verified yet.').waitFor();
      const opened = await fetch(await emailLink(stack.smtp, email, /verify-email/), {
        redirect: 'manual',
      });
      expect(opened.status).toBeLessThan(400);
      await next.click();
      await page.getByText('Machines, costs and activity of Quiet River.').waitFor();
    },
  ));
