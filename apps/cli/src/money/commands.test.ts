import { describe, expect, test } from 'vitest';
import { fakeApi, errorResponse, runCli, type FakeRequest } from '../fixture.ts';
import { createInterrupts } from '../interrupts.ts';

const page = (...items: readonly object[]) => ({ items, nextCursor: null });

const usageRow = (group: string, amountNanoUsd: string) => ({
  group,
  amountNanoUsd,
  gpuSeconds: 0,
  volumeGbSeconds: 0,
  requestCount: 3,
  tokensPrompt: 100,
  tokensCompletion: 50,
});

describe('usage', () => {
  const byGroup: Readonly<Record<string, object>> = {
    day: page(usageRow('2026-02-28', '3000000000'), usageRow('2026-02-26', '1000000001')),
    model: page(usageRow('art', '1000000000'), usageRow('tiny', '3000000001')),
    key: page(),
  };
  const api = () =>
    fakeApi({ 'GET /v2/customer/usage': ({ query }: FakeRequest) => byGroup[query['groupBy'] ?? ''] });

  test('draws days without gaps and models by cost, exact to the nano-USD', async () => {
    const result = await runCli(['usage', '--days', '7'], { fetch: api().fetch, tty: true, columns: 50 });
    expect(result.stdout).toBe(
      [
        'Spent by day (UTC): $4.000000001',
        '2026-02-28  ████████████████████████         $3.00',
        '2026-02-27                                   $0.00',
        '2026-02-26  ████████                  $1.000000001',
        '',
        'Spent by model: $4.000000001',
        'tiny  ██████████████████████████████  $3.000000001',
        'art   █████████▉                             $1.00',
        '',
      ].join('\n'),
    );
  });

  test('names its period: whole days up to now', async () => {
    const fake = api();
    const result = await runCli(['usage', '--days', '7', '--json'], { fetch: fake.fetch });
    expect(result.json()).toMatchObject({
      from: '2026-02-23T00:00:00.000Z',
      until: '2026-03-01T12:00:00.000Z',
      groups: { day: { totalNanoUsd: '4000000001' }, model: { totalNanoUsd: '4000000001' } },
    });
    expect(Object.keys(result.json().groups)).toEqual(['day', 'model']);
    expect(fake.requests[0]?.query).toMatchObject({ from: '2026-02-23T00:00:00.000Z', groupBy: 'day' });
  });

  test('prints a table with --columns, and a next step without usage', async () => {
    const table = await runCli(['usage', '--by', 'model', '--columns', 'group,tokensPrompt'], {
      fetch: api().fetch,
    });
    expect(table.stdout).toBe('GROUP  TOKENSPROMPT\nart             100\ntiny            100\n');
    const nothing = await runCli(['usage', '--by', 'key'], { fetch: api().fetch });
    expect(nothing).toMatchObject({ code: 0, stdout: '' });
    expect(nothing.stderr).toContain('millrace models');
  });

  test('refuses a day that does not exist without a request', async () => {
    const fake = api();
    expect((await runCli(['usage', '--from', '2026-02-30'], { fetch: fake.fetch })).code).toBe(3);
    expect(fake.requests).toHaveLength(0);
  });
});

describe('balance', () => {
  const balance = {
    balanceCents: 1_234,
    maxOverdraftCents: 0,
    balanceNanoUsd: '12345678901',
    heldNanoUsd: '2000000000',
    availableNanoUsd: '10345678901',
    burnRateUsdPerHour: 2.49,
    runwaySeconds: 17_850,
    frozen: false,
  };

  test('shows burn rate and runway, and warns in time', async () => {
    const api = fakeApi({ 'GET /v2/customer/balance': balance });
    const { stdout, stderr } = await runCli(['balance'], { fetch: api.fetch });
    expect(stdout).toBe(
      [
        'balance    $12.345678901',
        'held       $2.00',
        'available  $10.345678901',
        'burn rate  $2.49/h',
        'runway     4 h 57 min 30 s',
        '',
      ].join('\n'),
    );
    expect(stderr).toBe('Running resources stop in about 4 h 57 min. Top up: millrace topup 25\n');
  });

  test('says that the account is frozen, instead of warning about the runway', async () => {
    const api = fakeApi({ 'GET /v2/customer/balance': { ...balance, frozen: true } });
    const { stderr } = await runCli(['balance'], { fetch: api.fetch });
    expect(stderr).toBe(
      'The account is frozen: new work cannot start. Contact the operator of this installation.\n',
    );
  });

  test('shows an unlimited runway if nothing is spent', async () => {
    const api = fakeApi({
      'GET /v2/customer/balance': { ...balance, burnRateUsdPerHour: 0, runwaySeconds: null },
    });
    const result = await runCli(['balance'], { fetch: api.fetch });
    expect(result.stdout).toContain('unlimited: nothing is being spent');
    expect(result.stderr).toBe('');
    expect((await runCli(['balance', '--json'], { fetch: api.fetch })).json()).toMatchObject({
      runwaySeconds: null,
    });
  });
});

describe('ledger', () => {
  const entry = (nth: number) => ({
    id: `trf_${nth}`,
    occurredAt: '2026-03-01T11:00:00.000Z',
    kind: nth === 1 ? 'top_up' : 'charge',
    amountNanoUsd: nth === 1 ? '5000000000' : '-1',
    balanceAfterNanoUsd: '4999999999',
    cause: { kind: 'rental', id: '1042' },
    description: 'An hour\u001b[2J',
    reverses: null,
  });

  test('shows each change with sign and cause, and whether there are more', async () => {
    const api = fakeApi({
      'GET /v2/customer/ledger': { items: [entry(1), entry(2), entry(3)], nextCursor: null },
    });
    const result = await runCli(['ledger', '--cause', 'rental:1042', '--limit', '2'], { fetch: api.fetch });
    expect(result.stdout).toContain('+$5.00');
    expect(result.stdout).toContain('-$0.000000001');
    expect(result.stdout).not.toContain('\u001b');
    expect(result.stderr).toContain('there are more. More: --limit 4');
    expect(api.requests[0]?.query).toEqual({ causeKind: 'rental', causeId: '1042', limit: '2' });
  });
});

describe('topup', () => {
  const topUp = (state: string) => ({
    paymentId: 'pay_1',
    state,
    amountCents: 2_550,
    amountNanoUsd: '25500000000',
    refundedNanoUsd: '0',
    checkoutUrl: state === 'open' ? 'https://pay.example.com/1' : null,
    createdAt: '2026-03-01T12:00:00.000Z',
    paidAt: state === 'paid' ? '2026-03-01T12:01:00.000Z' : null,
  });

  test('prints the payment page and charges nothing', async () => {
    const api = fakeApi({ 'POST /v2/customer/top-ups': () => Response.json(topUp('open'), { status: 201 }) });
    const result = await runCli(['topup', '25.50'], { fetch: api.fetch });
    expect(result).toMatchObject({ code: 0, stdout: 'https://pay.example.com/1\n' });
    expect(result.stderr).toContain('Pay $25.50 here');
    expect(api.requests[0]?.body).toEqual({ amountCents: 2_550 });
  });

  test.each(['25.505', '4.99', '10000.01', 'five', '-5'])(
    'refuses the amount %s without a request',
    async (amount) => {
      const api = fakeApi({});
      expect((await runCli(['topup', '--', amount], { fetch: api.fetch })).code).toBe(3);
      expect(api.requests).toHaveLength(0);
    },
  );

  test('waits until it is paid with --wait', async () => {
    let polls = 0;
    const api = fakeApi({
      'POST /v2/customer/top-ups': () => Response.json(topUp('open'), { status: 201 }),
      'GET /v2/customer/top-ups/*': () => topUp((polls += 1) < 3 ? 'processing' : 'paid'),
    });
    const result = await runCli(['topup', '25.50', '--wait', '--json'], { fetch: api.fetch });
    expect(result.code).toBe(0);
    expect(result.json()).toMatchObject({ state: 'paid' });
  });

  test('fails if the page expired, and Ctrl-C stops only the waiting', async () => {
    const expired = fakeApi({
      'POST /v2/customer/top-ups': () => Response.json(topUp('open'), { status: 201 }),
      'GET /v2/customer/top-ups/*': topUp('expired'),
    });
    expect((await runCli(['topup', '25.50', '--wait'], { fetch: expired.fetch })).code).toBe(1);
    const interrupts = createInterrupts();
    const open = fakeApi({
      'POST /v2/customer/top-ups': () => Response.json(topUp('open'), { status: 201 }),
      'GET /v2/customer/top-ups/*': () => {
        interrupts.raise();
        return topUp('open');
      },
    });
    const result = await runCli(['topup', '25.50', '--wait'], { fetch: open.fetch, interrupts });
    expect(result.code).toBe(2);
    expect(result.stderr).toContain('millrace topup get pay_1');
  });
});

describe('budget commands', () => {
  const budget = {
    id: 'bdg_1',
    name: 'monthly',
    keyId: null,
    period: 'month',
    limitNanoUsd: '100000000000',
    spentNanoUsd: '99999999999',
    periodStart: '2026-03-01T00:00:00.000Z',
    periodEnd: '2026-04-01T00:00:00.000Z',
    thresholdsPercent: [50, 75, 100],
    onExceeded: 'stop_new_work',
    createdAt: '2026-03-01T00:00:00.000Z',
  };

  test('never show 100 percent before a budget is used up', async () => {
    const api = fakeApi({ 'GET /v2/customer/budgets': page(budget) });
    const result = await runCli(['budget', 'list', '--columns', 'name,spent,used,then'], {
      fetch: api.fetch,
    });
    expect(result.stdout).toBe(
      'NAME             SPENT  USED  THEN\nmonthly  $99.999999999  99 %  stop new work\n',
    );
  });

  test('create budgets with typed amounts', async () => {
    const api = fakeApi({ 'POST /v2/customer/budgets': () => Response.json(budget, { status: 201 }) });
    const words = ['budget', 'create', '--name', 'monthly', '--period', 'month', '--limit', '$1,000.50'];
    const result = await runCli([...words, '--threshold', '80,100%', '--on-exceeded', 'stop_new_work'], {
      fetch: api.fetch,
    });
    expect(result.code).toBe(0);
    expect(api.requests[0]?.body).toEqual({
      name: 'monthly',
      period: 'month',
      limitNanoUsd: '1000500000000',
      thresholdsPercent: [80, 100],
      onExceeded: 'stop_new_work',
    });
    for (const wrong of ['0', '0.0000000001', 'much']) {
      const refused = await runCli([...words.slice(0, -1), wrong], { fetch: api.fetch });
      expect(refused.code, wrong).toBe(3);
    }
  });

  test('change only named fields, and delete after confirmation', async () => {
    const api = fakeApi({
      'PATCH /v2/customer/budgets/*': budget,
      'DELETE /v2/customer/budgets/*': undefined,
    });
    expect((await runCli(['budget', 'update', 'bdg_1'], { fetch: api.fetch })).code).toBe(3);
    await runCli(['budget', 'update', 'bdg_1', '--limit', '7'], { fetch: api.fetch });
    expect(api.requests[0]?.body).toEqual({ limitNanoUsd: '7000000000' });
    expect((await runCli(['budget', 'delete', 'bdg_1'], { fetch: api.fetch })).code).toBe(3);
    expect(
      (await runCli(['budget', 'delete', 'bdg_1'], { fetch: api.fetch, tty: true, answers: ['n'] })).code,
    ).toBe(2);
    expect(api.requests).toHaveLength(1);
    expect(
      (await runCli(['budget', 'delete', 'bdg_1', '--yes', '--json'], { fetch: api.fetch })).json(),
    ).toEqual({
      id: 'bdg_1',
      deleted: true,
    });
  });
});

describe('invoice and cost commands', () => {
  const invoice = {
    id: 'ivc_1',
    number: 'M-000001',
    status: 'final',
    periodStart: '2026-02-01T00:00:00.000Z',
    periodEnd: '2026-03-01T00:00:00.000Z',
    totalNanoUsd: '12345678901',
    finalizedAt: '2026-03-01T01:00:00.000Z',
  };
  const line = {
    description: 'H100',
    cause: { kind: 'rental', id: '1042' },
    quantity: '3.5',
    unit: 'gpu_hour',
    amountNanoUsd: '12345678901',
  };
  const pdf = Buffer.from('%PDF-1.7 …');

  test('show an invoice with its lines, exact to the nano-USD', async () => {
    const api = fakeApi({
      'GET /v2/customer/invoices': page(invoice),
      'GET /v2/customer/invoices/*': {
        ...invoice,
        ...{ currency: 'USD', issuer: 'Example Cloud', billedTo: 'Acme', lines: [line] },
      },
    });
    const { stdout } = await runCli(['invoice', 'get', 'ivc_1'], { fetch: api.fetch });
    expect(stdout).toContain('M-000001');
    expect(stdout).toMatch(/H100 +3\.5 +gpu_hour +\$12\.345678901 +rental:1042/);
    expect((await runCli(['invoice', 'get', 'ivc_1', '--json'], { fetch: api.fetch })).json().lines).toEqual([
      line,
    ]);
    expect((await runCli(['invoice', 'list', '--json'], { fetch: api.fetch })).json()).toEqual([invoice]);
  });

  test('write a PDF to a file or a pipe, and never to a terminal', async () => {
    const api = fakeApi({
      'GET /v2/customer/invoices/*/pdf': () =>
        new Response(pdf, { headers: { 'content-type': 'application/pdf' } }),
    });
    const saved = await runCli(['invoice', 'download', 'ivc_1'], { fetch: api.fetch, tty: true });
    expect(saved).toMatchObject({ code: 0, stdout: 'ivc_1.pdf\n' });
    expect(Buffer.from(saved.files['ivc_1.pdf'] ?? '')).toEqual(pdf);
    expect(Buffer.from((await runCli(['invoice', 'download', 'ivc_1'], { fetch: api.fetch })).bytes)).toEqual(
      pdf,
    );
    const shown = await runCli(['invoice', 'download', 'ivc_1', '--file', '-'], {
      fetch: api.fetch,
      tty: true,
    });
    expect(shown.code).toBe(3);
  });

  test('fail and write no file if an export is incomplete', async () => {
    const broken = (): Response => {
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(Buffer.from('BilledCost\n1')),
        pull: (controller) => controller.error(new TypeError('terminated')),
      });
      return new Response(body, { headers: { 'content-type': 'text/csv' } });
    };
    const api = fakeApi({ 'GET /v2/customer/cost-export': broken });
    const result = await runCli(['cost-export', '--from', '2026-02-01', '--file', 'costs.csv'], {
      fetch: api.fetch,
    });
    expect(result.code).toBe(1);
    expect(result.files).not.toHaveProperty('costs.csv');
    expect(api.requests[0]?.query).toEqual({ from: '2026-02-01T00:00:00.000Z' });
  });
});

describe('limits and operation commands', () => {
  test('show limits with their windows and how to raise them', async () => {
    const limits = {
      fundedAt: null,
      rateLimits: [{ name: 'requests', limit: 60, windowSeconds: 60, unit: 'requests', model: null }],
      quotas: [{ name: 'api-keys', limit: 100, used: 3 }],
    };
    const api = fakeApi({ 'GET /v2/customer/limits': limits });
    const result = await runCli(['limits'], { fetch: api.fetch });
    expect(result.stdout).toContain('60 requests in 1 min');
    expect(result.stderr).toContain('millrace topup 25');
    expect((await runCli(['limits', '--json'], { fetch: api.fetch })).json()).toEqual(limits);
  });

  test('find the result of a request by its key', async () => {
    const record = {
      id: 'op_1',
      idempotencyKey: 'order-4711',
      operationId: 'createApiKey',
      status: 'succeeded',
      httpStatus: 201,
      resource: { kind: 'api-key', id: 'key_1' },
      createdAt: '2026-03-01T00:00:00.000Z',
      expiresAt: '2026-03-02T00:00:00.000Z',
    };
    const api = fakeApi({ 'GET /v2/operations': record, 'GET /v2/operations/*': record });
    const found = await runCli(['operation', 'find', 'order-4711'], { fetch: api.fetch });
    expect(found.stdout).toContain('api-key:key_1');
    expect(api.requests[0]?.query).toEqual({ idempotencyKey: 'order-4711' });
    expect((await runCli(['operation', 'get', 'op_1', '--json'], { fetch: api.fetch })).json()).toEqual(
      record,
    );
    const none = fakeApi({
      'GET /v2/operations': () => errorResponse(404, 'OPERATION_NOT_FOUND', 'Nothing is known of it.'),
    });
    expect((await runCli(['operation', 'find', 'x'], { fetch: none.fetch })).code).toBe(5);
  });
});
