import { toUuid } from '@millrace/platform/ids';
import { TEST_START_MS } from '@millrace/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { MONTH_CLOSED_AFTER_MS, monthAfter } from '../ledger/index.ts';
import { createInvoiceHarness, HOUR_MS, type InvoiceHarness, usd } from './invoices.fixture.ts';

let harness: InvoiceHarness;
const january = new Date(TEST_START_MS);
const february = monthAfter(january);
const march = monthAfter(february);
const closing = (end: Date): Date => new Date(end.getTime() + MONTH_CLOSED_AFTER_MS);

beforeEach(async () => {
  harness = await createInvoiceHarness();
});
afterEach(() => harness[Symbol.asyncDispose]());

it('a failing invoice does not block later months, and both months are retried', async () => {
  const [broken, sound] = [await harness.organisation(), await harness.organisation()];
  for (const orgId of [broken, sound]) await harness.charge(orgId, usd(1));
  await harness.goTo(closing(february));
  const owner = await harness.database.connect();
  await owner.query(`alter table invoices add constraint broken check (org_id <> '${toUuid(broken)}')`);
  await harness.sweep(1);
  for (const orgId of [broken, sound]) await harness.charge(orgId, usd(2));
  await harness.goTo(closing(march));
  await harness.sweep(1);
  expect((await harness.invoicesOf(sound)).map(({ total }) => total)).toEqual([usd(1), usd(2)]);
  await owner.query('alter table invoices drop constraint broken');
  await owner.end();
  await harness.clock.advance(6 * HOUR_MS);
  await harness.sweep(1);
  expect((await harness.invoicesOf(broken)).map(({ total }) => total)).toEqual([usd(1), usd(2)]);
  expect(await harness.drift()).toEqual([]);
});

it('an invoice run that an operator reopens runs again, although later months are finished', async () => {
  const orgId = await harness.organisation();
  await harness.charge(orgId, usd(1));
  await harness.goTo(closing(march));
  const owner = await harness.database.connect();
  await owner.query(`insert into invoice_months (month, finished_at)
                     values ('${january.toISOString()}', now()), ('${february.toISOString()}', now())`);
  await harness.sweep();
  expect(await harness.drift()).toEqual([expect.stringContaining('invoice_exists')]);
  await owner.query(`update invoice_months set finished_at = null, after_org = null
                      where month = '${january.toISOString()}'`);
  await owner.end();
  await harness.sweep();
  expect((await harness.invoicesOf(orgId)).map(({ total }) => total)).toEqual([usd(1)]);
  expect(await harness.drift()).toEqual([]);
});
