import { describe, expect, it } from 'vitest';
import { fakeApi, errorResponse, runCli, type RunOptions } from '../fixture.ts';

/** Create requests against a fake API: output, questions and requests. */

const base = '/v2/on-demand';

const quote = {
  costPerHour: 15.92,
  costPerHourNanoUsd: '15920000000',
  originalCostPerHour: 16,
  discountPercentage: 0,
  costPerSecondNanoUsd: '4422223',
  lines: [{ kind: 'gpu', description: '8 × H100', costPerHourNanoUsd: '15920000000' }],
  minimumBalanceNanoUsd: '15920000000',
  holdNanoUsd: '15920000001',
  totalNanoUsd: null,
  term: null,
  released: { diskGb: 7_000, costPerHourNanoUsd: '959000000' },
  runwaySeconds: 273_605,
  available: true,
  affordable: true,
  validUntil: '2026-08-01T00:00:00.000Z',
};

const explained = {
  placeable: false,
  nodesConsidered: 12,
  nodesFitting: 0,
  obstacles: [
    { code: 'NODE_DRAINING', message: 'These hosts accept no new rentals.', nodeCount: 1 },
    { code: 'NO_FREE_GPUS', message: 'These hosts are not completely free.', nodeCount: 11 },
  ],
  costPerHour: 15.92,
  capacityExpectedAt: '2026-08-01T12:30:00.000Z',
  alternatives: [
    {
      region: 'us-east-1',
      gpuType: 'h200',
      gpuCount: 8,
      networkType: 'ethernet',
      costPerHour: 20,
      totalAvailable: 1,
    },
  ],
};

const step = (name: string, status: string) => ({
  ...{ name, status, message: status === 'failed' ? 'The host is full.' : null },
  startedAt: '2026-03-01T12:00:00.000Z',
  endedAt: status === 'running' ? null : '2026-03-01T12:00:02.000Z',
});

const rental = {
  ...{ id: 7, name: 'train', label: null, rentalType: 'bare-metal', startedAt: null, costSoFarNanoUsd: '0' },
  ...{ status: 'Running', power: 'on', gpuHeld: true, statusReason: null, ssh: [{ command: 'ssh' }] },
  steps: [step('place', 'done'), step('create', 'done'), step('prove', 'done'), step('open', 'done')],
};

function create(
  args: readonly string[],
  routes: Parameters<typeof fakeApi>[0] = {},
  options: RunOptions = {},
) {
  const api = fakeApi({
    [`POST ${base}/quote`]: quote,
    [`POST ${base}/placement/explain`]: explained,
    [`POST ${base}/bare-metal-rentals`]: { id: 7 },
    [`POST ${base}/virtual-machine-rentals`]: { id: 7 },
    [`GET ${base}/rentals/7`]: rental,
    [`GET ${base}/storage-volumes`]: [{ id: 3, label: 'datasets', externalId: 'x' }],
    ...routes,
  });
  const place = ['--region', 'us-central-1', '--network', 'ethernet', '--name', 'train'];
  const run = runCli(['rental', 'create', ...place, ...args], { fetch: api.fetch, ...options });
  return run.then((result) => ({ ...result, requests: api.requests }));
}

const sent = ({ requests }: Awaited<ReturnType<typeof create>>) =>
  requests.find(({ path, method }) => method === 'POST' && path.endsWith('-rentals'))?.body;

describe('rental create', () => {
  it('shows the exact cost before it asks, and sends nothing before confirmation', async () => {
    const result = await create([], {}, { tty: true, answers: ['no'] });
    expect(result).toMatchObject({ code: 2, questions: ['Create it? [y/N] '] });
    expect(result.stderr).toContain('price          $15.92/h');
    expect(result.stderr).toContain('held now       $15.920000001');
    expect(result.stderr).toContain(
      'while stopped  $0.959/h after its GPUs are released: its disk, at least 7000 GB',
    );
    expect(result.stderr).toContain('balance lasts  about 3 d 4 h');
    expect(sent(result)).toBeUndefined();
  });

  it('shows all parts of a price and the commitment of a term', async () => {
    const lines = [...quote.lines, { kind: 'storage', description: '256 GB', costPerHourNanoUsd: '1' }];
    const term = {
      termPeriodDays: 30,
      committedNanoUsd: '11462400000000',
      earlyTerminationRefundPercentage: 50,
      onDemandCostPerHourNanoUsd: '16000000000',
    };
    const result = await create(
      ['--days', '30'],
      { [`POST ${base}/quote`]: { ...quote, lines, term } },
      { tty: true },
    );
    for (const line of [
      '256 GB',
      '$0.000000001/h',
      '30 days: $11,462.40 in all',
      '50 % of the remaining term',
      '$16.00/h',
    ]) {
      expect(result.stderr).toContain(line);
    }
    expect(result.requests[0]?.body).toMatchObject({ termType: 'reserved', termPeriodDays: 30 });
  });

  it('of bare metal sends nodes and a volume', async () => {
    const flags = [
      '--bare-metal',
      '--count',
      '16',
      '--volume',
      'datasets',
      '--ttl',
      '2h',
      '--idle-after',
      '1h',
    ];
    const done = await create([...flags, '--tag', 'team=vision', '--no-convert', '--yes']);
    expect(done, done.stderr).toMatchObject({ code: 0 });
    expect(sent(done)).toMatchObject({
      ...{
        gpuCount: 16,
        networkType: 'ethernet',
        name: 'train',
        ttlSeconds: 7_200,
        tags: { team: 'vision' },
      },
      ...{ storageVolume: { isNew: false, id: 3 }, idle: { afterSeconds: 3_600, action: 'stop' } },
      convertToOnDemandOnExpiry: false,
    });
    const made = await create(['--bare-metal', '--new-volume', 'scratch', '--storage-gb', '512', '--yes']);
    expect(sent(made)).toMatchObject({
      gpuCount: 8,
      storageVolume: { isNew: true, label: 'scratch', sizeInGb: 512 },
    });
  });

  it.each([
    [['--volume', 'datasets'], '--volume is only for bare metal'],
    [['--bare-metal', '--new-volume', 'x'], '--storage-gb'],
    [['--bare-metal', '--port', '80'], '--port is only for virtual machines'],
    [['--idle-terminate'], '--idle-terminate requires --idle-after'],
    [['--ttl', 'soon'], 'use a duration such as'],
    [['--tag', 'novalue'], 'NAME=VALUE'],
  ])('refuses invalid flags without a request: %j', async (flags, why) => {
    const refused = await create([...flags, '--yes']);
    expect(refused).toMatchObject({ code: 3 });
    expect(refused.stderr).toContain(why);
    expect(sent(refused)).toBeUndefined();
  });

  it('is not sent if the balance is too low', async () => {
    const poor = await create(['--yes'], { [`POST ${base}/quote`]: { ...quote, affordable: false } });
    expect(poor).toMatchObject({ code: 6 });
    expect(poor.stderr).toContain('$15.92 must be available');
    expect(sent(poor)).toBeUndefined();
  });

  it('explains a refusal without counting hosts if no host was considered', async () => {
    const none = await create(['--yes'], {
      [`POST ${base}/quote`]: { ...quote, available: false },
      [`POST ${base}/placement/explain`]: {
        ...explained,
        ...{ nodesConsidered: 0, capacityExpectedAt: null, alternatives: [] },
        obstacles: [{ reason: 'TEST_MODE_ONLY', nodeCount: 0, message: 'Test keys rent elsewhere.' }],
      },
    });
    expect(none).toMatchObject({ code: 7 });
    expect(none.stderr).toContain('Why: Test keys rent elsewhere.');
  });

  it('of bare metal suggests bare metal', async () => {
    const full = await create(['--bare-metal', '--yes'], {
      [`POST ${base}/quote`]: { ...quote, available: false },
    });
    expect(full.stderr).toContain('millrace rental create --bare-metal --gpu h200 --count 8');
  });

  it('explains why another tenant was faster, until when, and suggests an alternative', async () => {
    const full = () =>
      errorResponse(
        400,
        'INSUFFICIENT_CAPACITY',
        'There is not enough free capacity for this request right now.',
      );
    for (const routes of [
      { [`POST ${base}/virtual-machine-rentals`]: full },
      { [`POST ${base}/quote`]: { ...quote, available: false } },
    ]) {
      const late = await create(['--yes'], routes);
      expect(late).toMatchObject({ code: 7 });
      expect(late.stderr).toContain(
        'Of 12 hosts 11 are closest. These hosts are not completely free. Expected at 2026-08-01T12:30',
      );
      expect(late.stderr).toContain('millrace rental create --gpu h200 --count 8 --region us-east-1');
    }
  });

  it('shows why it failed, its cost and the next command', async () => {
    const failed = {
      ...rental,
      ...{ status: 'Failed', ssh: [], statusReason: 'No host could make it.' },
      steps: [step('place', 'done'), step('create', 'failed')],
    };
    const done = await create(['--yes'], { [`GET ${base}/rentals/7`]: failed });
    expect(done).toMatchObject({ code: 1, stdout: '' });
    expect(done.stderr).toContain('create failed after 2.0 s: The host is full.');
    expect(done.stderr).toContain('Why: No host could make it. It cost $0.00.');
    expect(done.stderr).toContain('millrace rental events 7');
  });

  it('removes control characters from untrusted text', async () => {
    const hostile = 'x\u001B]0;owned\u0007\u001B[2Jy';
    const lines = [
      { ...quote.lines[0], description: hostile },
      { ...quote.lines[0], description: hostile },
    ];
    const failed = {
      ...rental,
      ...{ status: 'Failed', statusReason: hostile, name: hostile },
      steps: [{ ...step('create', 'failed'), message: hostile }],
    };
    const routes = { [`POST ${base}/quote`]: { ...quote, lines }, [`GET ${base}/rentals/7`]: failed };
    const { stderr, stdout } = await create(['--yes'], routes);
    expect(stderr + stdout).not.toMatch(/\u001B|\u0007/);
  });

  it('is watched until Ctrl-C, which does not affect the rental', async () => {
    const stop = new AbortController();
    const looks = { ...rental, status: 'Pending', steps: [step('place', 'running')] };
    let polls = 0;
    const look = () => {
      polls += 1;
      if (polls === 2) stop.abort();
      return looks;
    };
    const done = await create(['--yes'], { [`GET ${base}/rentals/7`]: look }, { signal: stop.signal });
    expect(done).toMatchObject({ code: 2, stdout: '' });
    expect(done.stderr).toContain('Stopped watching. Rental 7 is still starting');
    expect(done.stderr).toContain('millrace rental terminate 7');
    expect(done.requests.filter(({ path }) => path.includes('terminate'))).toEqual([]);
  });
});
