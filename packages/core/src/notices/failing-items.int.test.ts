import { toUuid } from '@millrace/platform/ids';
import type { Mailer } from '@millrace/platform/mail';
import { poisonedCall, poisonedLoop, poisonRows, type ItemPoison, type Poison } from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { money, openNoticesHarness, type NoticesHarness } from './notices-harness.fixture.ts';

let world: NoticesHarness;
beforeAll(async () => {
  world = await openNoticesHarness();
});
afterAll(() => world.close());

const low = { type: 'balance.low', data: money } as const;

describe(poisonedLoop('address notices'), () => {
  it.each<Poison>(['throws', 'times out'])(
    'whose write %s does not stop the notices of other organisations',
    async (how) => {
      const [bad, good] = [await world.organisation('owner'), await world.organisation('owner')];
      const when = `new.org_id = '${toUuid(bad.orgId)}'`;
      const removeFault = await poisonRows(world.database, { table: 'notice_mails', when, how });
      await world.events(bad.orgId, [low]);
      await world.events(good.orgId, [low]);
      await world.deliver();
      expect([await world.mails(bad.orgId), await world.mails(good.orgId)]).toMatchObject([
        [],
        [{ state: 'sent' }],
      ]);
      await removeFault();
      await world.clock.advance(60_000);
      await world.deliver();
      expect(await world.mails(bad.orgId)).toMatchObject([{ state: 'sent' }]);
    },
  );
});

describe(poisonedLoop('send mail'), () => {
  it.each<ItemPoison>(['throws', 'hangs'])('that %s stops no email to other people', async (how) => {
    const [bad, good] = [await world.organisation('owner'), await world.organisation('owner')];
    const address = bad.people[0]?.email ?? expect.fail('no person');
    let attempts = 0;
    const fail = (): Promise<never> => {
      attempts += 1;
      // Only the first attempt hangs, since the clock also advances in the next rounds, which send it again.
      return poisonedCall(how === 'hangs' && attempts === 1 ? 'hangs' : 'throws');
    };
    const mailer: Mailer = {
      ...world.mailer,
      from: world.mailer.from,
      send: (letter) => (JSON.stringify(letter).includes(address) ? fail() : world.mailer.send(letter)),
    };
    await world.events(bad.orgId, [low]);
    await world.events(good.orgId, [low]);
    let isOver = false;
    const delivered = world.deliver({ mailer }).finally(() => (isOver = true));
    if (how === 'hangs') {
      await expect.poll(() => world.mails(good.orgId)).toMatchObject([{ state: 'sent' }]);
      while (!isOver) {
        await world.clock.advance(1_000);
        await new Promise(setImmediate);
      }
    }
    await delivered;
    expect(attempts).toBeGreaterThan(0);
    expect([await world.mails(bad.orgId), await world.mails(good.orgId)]).toMatchObject([
      [{ state: 'waiting' }],
      [{ state: 'sent' }],
    ]);
  });
});
