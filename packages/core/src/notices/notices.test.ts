import {
  eventTypes,
  noticeCategoryNames,
  roleNames,
  roles,
  type EventType,
  type Role,
} from '@millrace/contract';
import { testIds } from '@millrace/testing';
import { describe, expect, test } from 'vitest';
import { GIVE_UP_AFTER_MS, emailOutcomeOf } from './retry-schedule.ts';
import {
  categoryOf,
  preferencesOf,
  recipientsOf,
  type RecipientCandidate,
  type NoticeType,
} from './notices.ts';
import { renderNoticeEmail, noticeMessageOf, type Recipient } from './render-email.ts';
import { formatDuration, formatInstant, formatFirst, formatNanoUsd } from './format-values.ts';

const member = (role: Role, choices: RecipientCandidate['choices'] = {}): RecipientCandidate => ({
  userId: testIds.next('usr'),
  role,
  choices,
});

describe('recipientsOf', () => {
  const everyone = roleNames.map((role) => member(role));
  const rolesOf = (category: (typeof noticeCategoryNames)[number]): readonly Role[] => {
    const ids = recipientsOf({ category, mode: 'live', about: null }, everyone);
    return everyone.filter(({ userId }) => ids.includes(userId)).map(({ role }) => role);
  };

  test('uses roles unless members choose', () => {
    expect(Object.fromEntries(noticeCategoryNames.map((name) => [name, rolesOf(name)]))).toEqual({
      balance: ['owner', 'admin', 'billing'],
      budgets: ['owner', 'admin', 'billing'],
      expiring: ['owner', 'admin'],
      maintenance: ['owner', 'admin'],
      invoices: ['owner', 'billing'],
      webhooks: ['owner', 'admin'],
      keys: ['owner', 'admin'],
    });
  });

  test('never includes a member whose role cannot read the category, whatever they chose', () => {
    const request = { balance: true, webhooks: true, keys: true };
    const [billing, viewer] = [member('billing', request), member('viewer', request)];
    const get = (category: 'balance' | 'webhooks' | 'keys') =>
      recipientsOf({ category, mode: 'live', about: billing.userId }, [billing, viewer]);
    expect(get('balance')).toEqual([billing.userId]);
    expect(get('webhooks')).toEqual([]);
    expect(get('keys')).toEqual([viewer.userId]);
    expect(roles.billing).not.toContain('api-keys:read');
  });

  test('includes the user of a new key, unless the user opted out', () => {
    const [one, other] = [member('member'), member('member', { keys: false })];
    const to = (about: RecipientCandidate) =>
      recipientsOf({ category: 'keys', mode: 'live', about: about.userId }, [one, other]);
    expect(to(one)).toEqual([one.userId]);
    expect(to(other)).toEqual([]);
  });

  test('includes only members who opted in, in test mode', () => {
    const [owner, curious] = [member('owner'), member('owner', { keys: true })];
    const notice = { category: 'keys', mode: 'test', about: owner.userId } as const;
    expect(recipientsOf(notice, [owner, curious])).toEqual([curious.userId]);
  });

  test('matches the preferences, with the choices and the rights of the role', () => {
    expect(preferencesOf('billing', 'live', { balance: false, keys: true })).toMatchObject({
      balance: { enabled: false, chosen: false, available: true },
      invoices: { enabled: true, chosen: null, available: true },
      keys: { enabled: false, chosen: true, available: false },
    });
  });
});

describe('emailOutcomeOf', () => {
  const now = new Date('2026-08-01T12:00:00Z');
  const young = { attempts: 0, createdAt: now };

  test('retries less and less often for about two days, then stops with the last reason', () => {
    let [attempts, atMs] = [0, now.getTime()];
    for (;;) {
      const outcome = { kind: 'deferred', reason: 'full' } as const;
      const settled = emailOutcomeOf(outcome, { attempts, createdAt: now }, new Date(atMs));
      if (settled.state !== 'waiting') {
        expect(settled).toEqual({ state: 'given_up', reason: 'full' });
        break;
      }
      expect(settled.attempts).toBe(attempts + 1);
      expect(settled.nextAttemptAt.getTime()).toBeGreaterThan(atMs);
      ({ attempts } = settled);
      atMs = settled.nextAttemptAt.getTime();
    }
    expect(attempts).toBe(8);
    expect(atMs - now.getTime()).toBeGreaterThan(44 * 3_600_000);
    expect(atMs - now.getTime()).toBeLessThan(GIVE_UP_AFTER_MS);
  });

  test('counts no attempt while the server accepts nothing, until the email is too old', () => {
    const outcome = { kind: 'unavailable', reason: 'away' } as const;
    expect(emailOutcomeOf(outcome, { ...young, attempts: 7 }, now)).toMatchObject({
      state: 'waiting',
      attempts: 7,
    });
    const later = new Date(now.getTime() + GIVE_UP_AFTER_MS);
    expect(emailOutcomeOf(outcome, young, later)).toEqual({ state: 'given_up', reason: 'away' });
  });

  test('does not retry a permanent rejection', () => {
    const outcome = { kind: 'refused', reason: 'nobody here' } as const;
    expect(emailOutcomeOf(outcome, young, now)).toEqual({ state: 'refused', reason: 'nobody here' });
  });
});

const money = {
  balanceNanoUsd: '25349999999',
  availableNanoUsd: '1000000000',
  burnRateUsdPerHour: 3.98,
  runwaySeconds: 3_700,
};
const budget = {
  budgetId: 'bdg_1',
  name: 'research',
  limitNanoUsd: '50000000000',
  spentNanoUsd: '40000000000',
  periodStart: '2026-08-01T00:00:00.000Z',
  periodEnd: null,
};
const expiring = { expiresAt: '2026-08-02T12:30:00.000Z', cause: 'term', next: 'terminate' } as const;
const maintenance = {
  maintenanceId: 'mnt_1',
  nodeIds: [],
  rentalIds: [7, 8],
  externalIds: [],
  startsAt: '2026-08-02T12:30:00.000Z',
  endsAt: '2026-08-02T14:30:00.000Z',
  summary: 'new fans',
};
const period = { periodStart: '2026-07-01T00:00:00.000Z', periodEnd: '2026-08-01T00:00:00.000Z' };
const rental = {
  rentalId: 7,
  externalId: 'x',
  rentalType: 'virtual-machine',
  name: 'train',
  region: 'eu',
  gpuType: 'h100',
  gpuCount: 8,
};
const examples: Readonly<Record<NoticeType, readonly [data: object, subject: string]>> = {
  'balance.low': [money, 'Your balance ends in 61 minutes'],
  'balance.floor': [money, 'Your balance has ended: running resources are being stopped'],
  'budget.threshold': [{ ...budget, thresholdPercent: 80 }, 'Budget research: 80 % spent'],
  'budget.exceeded': [budget, 'Budget research is used up'],
  'rental.expiring': [{ ...rental, ...expiring }, 'Rental 7 (train) ends on 2026-08-02 12:30 UTC'],
  'instance.expiring': [
    { instanceId: 'inst-1', clusterName: 'c', nodeName: 'n', gpuCount: 1, ...expiring },
    'Instance inst-1 ends on 2026-08-02 12:30 UTC',
  ],
  'maintenance.announced': [
    maintenance,
    'Maintenance on 2026-08-02 12:30 UTC: your machines will be unavailable',
  ],
  'maintenance.ended': [
    { ...maintenance, cancelled: true },
    'Maintenance on 2026-08-02 12:30 UTC was cancelled',
  ],
  'invoice.finalized': [
    { invoiceId: 'i', number: 'MR-2026-0001', ...period, totalNanoUsd: '1999999999' },
    'Invoice MR-2026-0001: 1.99 USD',
  ],
  'key.created': [
    {
      keyId: testIds.next('key'),
      publicId: 'ABCDEFGH2345',
      name: 'ci',
      mode: 'live',
      createdBy: testIds.next('usr'),
      scopes: ['events:read'],
      expiresAt: null,
      rotatedFrom: null,
    },
    'An API key was created: ci',
  ],
  'webhook.disabled': [
    { webhookId: 'whk_1', url: 'https://x.test', reason: 'HTTP 500', failingSince: period.periodStart },
    'A webhook was disabled',
  ],
};

const ada: Recipient = {
  userId: testIds.next('usr'),
  name: 'Ada',
  email: 'ada@example.com',
  role: 'owner',
  orgId: testIds.next('org'),
  orgName: 'Acme',
};
const sender = {
  from: { name: 'Example Cloud', address: 'notices@example.com' },
  consoleUrl: 'https://console.example.com',
};

describe('a notice email', () => {
  test.each(Object.entries(examples) as [NoticeType, readonly [object, string]][])(
    'about %s has its subject and complete texts',
    (type, [data, subject]) => {
      expect(noticeMessageOf(type, data)?.subject).toBe(subject);
    },
  );

  test.each([
    ['1999999999', 'It was paid from your balance.'],
    ['0', 'Its total is zero.'],
    ['-5000000', 'Its total was credited to your balance.'],
  ])('about an invoice of %s nano-USD says how it was settled', (totalNanoUsd, expected) => {
    const [data] = examples['invoice.finalized'];
    expect(noticeMessageOf('invoice.finalized', { ...data, totalNanoUsd })?.lead).toContain(expected);
  });

  test('is not rendered for data that does not match its type', () => {
    expect(noticeMessageOf('balance.low', { balanceNanoUsd: 12 })).toBeNull();
  });

  test('has the same recipient, role and links as text and as HTML', () => {
    const [data] = examples['balance.low'];
    const email = renderNoticeEmail({ id: testIds.next('ntc'), type: 'balance.low', data }, ada, sender);
    expect(email).toMatchObject({
      to: { name: 'Ada', address: 'ada@example.com' },
      subject: '[Acme] Your balance ends in 61 minutes',
    });
    for (const text of [email?.text, email?.html]) {
      expect(text).toContain('25.34 USD');
      expect(text).toContain('3.98 USD per hour');
      expect(text).toContain('https://console.example.com');
      expect(text).toContain('from Example Cloud as owner of Acme');
      expect(text).toContain('https://console.example.com/account');
    }
    expect(email?.headers).toMatchObject({ 'List-Unsubscribe': '<https://console.example.com/account>' });
  });

  test('contains names that tenants chose as plain text only', () => {
    const [data] = examples['key.created'];
    const name = '<img src=x onerror="alert(1)">\r\nBcc: eve@example.com & \'so\' on';
    const notice = { id: testIds.next('ntc'), type: 'key.created', data: { ...data, name } } as const;
    const email = renderNoticeEmail(notice, { ...ada, orgName: 'A\nB <i>' }, sender);
    expect(email?.html).toContain(
      '&lt;img src=x onerror=&quot;alert(1)&quot;&gt; Bcc: eve@example.com &amp; &#39;so&#39; on',
    );
    expect(email?.html).not.toContain('<img');
    expect(email?.html).not.toContain('<i>');
    expect(email?.subject).toMatch(/^\[A B <i>\] /);
    expect(email?.text).not.toMatch(/^Bcc/m);
  });

  test('has the same id for the same notice and user', () => {
    const [data] = examples['balance.low'];
    const notice = { id: testIds.next('ntc'), type: 'balance.low', data } as const;
    const idOf = (recipient: Recipient) => renderNoticeEmail(notice, recipient, sender)?.messageId;
    expect(idOf(ada)).toBe(idOf({ ...ada, name: 'Other' }));
    expect(idOf(ada)).not.toBe(idOf({ ...ada, userId: testIds.next('usr') }));
    expect(idOf(ada)).toMatch(/^[0-9a-f-]{36}\.[0-9a-f-]{36}@example\.com$/);
  });
});

test('every notice type with an event is an event type', () => {
  const known: readonly string[] = Object.keys(eventTypes) satisfies readonly string[] as EventType[];
  expect(Object.keys(categoryOf).filter((type) => !known.includes(type))).toEqual(['webhook.disabled']);
});

test('format-values formats amounts, times, durations and lists', () => {
  expect([formatNanoUsd('-1'), formatNanoUsd('1500000000'), formatNanoUsd('12345678901234567')]).toEqual([
    '0.00 USD',
    '1.50 USD',
    '12345678.90 USD',
  ]);
  expect([30, 60, 61, 119, 120, 3_599, 7_200, 86_400, 172_800].map(formatDuration)).toEqual([
    'a minute or less',
    'a minute or less',
    'less than 2 minutes',
    'less than 2 minutes',
    '2 minutes',
    '59 minutes',
    '2 hours',
    '24 hours',
    '2 days',
  ]);
  expect(formatInstant('2026-08-01T12:34:56.000Z')).toBe('2026-08-01 12:34 UTC');
  expect([formatFirst(['a', 'b'], 2), formatFirst(['a', 'b', 'c'], 2)]).toEqual(['a, b', 'a, b and 1 more']);
});
