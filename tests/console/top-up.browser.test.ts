import { buildConsole } from '@millrace/console-tools';
import {
  signStripeEvent,
  startSmtpServer,
  startStripeDouble,
  type StripeDouble,
  type TestSmtp,
} from '@millrace/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openMockStack, type MockStack } from '../stack/mock-stack.ts';
import { openBrowser, type TestBrowser } from './browser.ts';
import { accountsEnv } from './console-stack.ts';
import { waitUntilLoaded } from './open-page.ts';
import { withMode, createOwner, type Owner } from './accounts.ts';

// Top-up by card against a double of Stripe.

let smtp: TestSmtp;
let stripe: StripeDouble;
let stack: MockStack;
let browser: TestBrowser;
let owner: Owner;
beforeAll(async () => {
  buildConsole();
  [smtp, stripe] = await Promise.all([startSmtpServer(), startStripeDouble()]);
  stack = await openMockStack({
    gateway: false,
    env: {
      ...accountsEnv(smtp),
      MILLRACE_STRIPE_SECRET_KEY: stripe.settings.secretKey,
      MILLRACE_STRIPE_WEBHOOK_SECRET: stripe.settings.webhookSecret,
      MILLRACE_STRIPE_API_URL: stripe.settings.apiUrl,
      MILLRACE_CONSOLE_URL: 'https://console.example.com',
    },
  });
  browser = await openBrowser();
  owner = await createOwner({ apiUrl: stack.apiUrl, db: stack.database.db, smtp });
});
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await stack?.[Symbol.asyncDispose]();
  await stripe?.[Symbol.asyncDispose]();
  await smtp?.close();
});

test('a top-up is paid at the provider, and the return page shows it as paid only after confirmation', async () => {
  const session = withMode(owner.session, stack.apiUrl, owner.orgId, 'live');
  await browser.withTab({ url: stack.apiUrl, session }, async ({ page, context, goto }) => {
    await context.route('https://checkout.example.com/**', (route) =>
      route.fulfill({ contentType: 'text/html', body: '<h1>Pay here</h1>' }),
    );
    await goto('/money');
    await waitUntilLoaded(page);
    const amount = page.getByRole('textbox', { name: 'Amount (USD)' });
    await amount.fill('4.99');
    await amount.press('Enter');
    await expect
      .poll(() => page.getByRole('alert').allInnerTexts())
      .toContain('Enter an amount from $5 to $10,000.');
    expect(stripe.calls()).toBe(0);
    await amount.fill('25.50');
    await page.getByRole('button', { name: 'Pay by card' }).click();
    await page.getByRole('heading', { name: 'Pay here' }).waitFor();
    const [checkout] = stripe.sessions();
    if (checkout === undefined) throw new Error('No checkout session was created.');
    expect(checkout.amount_total).toBe(2_550);

    await goto('/money?back=paid');
    await waitUntilLoaded(page);
    const main = page.getByRole('main');
    await expect.poll(() => main.innerText()).toContain('Waiting for the payment provider');
    expect(await main.innerText()).toContain('Your balance is empty.');
    const now = Date.now();
    const { body, headers } = signStripeEvent(stripe.settings.webhookSecret, {
      type: 'checkout.session.completed',
      object: stripe.pay(checkout.id),
      createdMs: now,
    });
    const response = await fetch(`${stack.apiUrl}/v2/payments/stripe/webhook`, {
      method: 'POST',
      headers,
      body,
    });
    expect(response.status).toBe(200);
    // Changes appear within two seconds; the rest is for slow machines.
    await expect.poll(() => main.innerText()).toContain('Paid and added to your balance.');
    await expect.poll(() => main.innerText()).toContain('$25.50');
    await expect.poll(() => page.url()).not.toContain('back=');
    await expect.poll(() => main.innerText()).not.toContain('Your balance is empty');
  });
});
