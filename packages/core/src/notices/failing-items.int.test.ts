import { toUuid } from '@millrace/platform/ids';
import type { Mailer } from '@millrace/platform/mail';
import { failingCall, failingLoop, poisonRows, type ItemPoison, type Poison } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { money, openNoticesHarness } from './notices-harness.fixture.ts';

const harness = await openNoticesHarness();
afterAll(() => harness.close());

const low = { type: 'balance.low', data: money } as const;

describe(failingLoop('address notices'), () => {
  it.each<Poison>(['throws', 'times out'])(
    'whose write %s does not stop notices of other organisations',
    async (how) => {
      const [bad, good] = [await harness.organisation('owner'), await harness.organisation('owner')];
      const when = `new.org_id = '${toUuid(bad.orgId)}'`;
      const removeFault = await poisonRows(harness.database, { table: 'notice_mails', when, how });
      await harness.events(bad.orgId, [low]);
      await harness.events(good.orgId, [low]);
      await harness.deliver();
      expect([await harness.mails(bad.orgId), await harness.mails(good.orgId)]).toMatchObject([
        [],
        [{ state: 'sent' }],
      ]);
      await removeFault();
      await harness.clock.advance(60_000);
      await harness.deliver();
      expect(await harness.mails(bad.orgId)).toMatchObject([{ state: 'sent' }]);
    },
  );
});

describe(failingLoop('send mail'), () => {
  it.each<ItemPoison>(['throws', 'hangs'])('that %s does not stop emails to other users', async (how) => {
    const [bad, good] = [await harness.organisation('owner'), await harness.organisation('owner')];
    const address = bad.people[0]?.email ?? expect.fail('no person');
    let attempts = 0;
    const fail = (): Promise<never> => {
      attempts += 1;
      // Only the first attempt hangs: the clock also advances in the next rounds, which send the email again.
      return failingCall(how === 'hangs' && attempts === 1 ? 'hangs' : 'throws');
    };
    const mailer: Mailer = {
      ...harness.mailer,
      from: harness.mailer.from,
      send: (email) => (JSON.stringify(email).includes(address) ? fail() : harness.mailer.send(email)),
    };
    await harness.events(bad.orgId, [low]);
    await harness.events(good.orgId, [low]);
    let isOver = false;
    const delivered = harness.deliver({ mailer }).finally(() => (isOver = true));
    if (how === 'hangs') {
      await expect.poll(() => harness.mails(good.orgId)).toMatchObject([{ state: 'sent' }]);
      while (!isOver) {
        await harness.clock.advance(1_000);
        await new Promise(setImmediate);
      }
    }
    await delivered;
    expect(attempts).toBeGreaterThan(0);
    expect([await harness.mails(bad.orgId), await harness.mails(good.orgId)]).toMatchObject([
      [{ state: 'waiting' }],
      [{ state: 'sent' }],
    ]);
  });
});
