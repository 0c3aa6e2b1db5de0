import { describe, expect, it } from 'vitest';
import { sshConnections, sshCommands, sshUnavailableReason } from './detail/connect.ts';
import { metricsQuery, buildCharts, formatFor, noMetricsReason } from './detail/metrics.ts';
import { billedSpan, unpostedAmount, type CostLine } from './receipt.ts';
import { makeRental } from './rental.fixture.ts';
import { rentalRefetchMs, rentalTitle, rentalHardwareText } from './rental.ts';
import { daysPeriod, parseRentalSearch, parseRentalsSearch, periodNames } from './search.ts';
import { tagLines, parseTags } from './tags.ts';

const endpoint = {
  host: '192.0.2.7',
  port: 20_000,
  user: 'ubuntu',
  command: 'ssh -p 20000 ubuntu@192.0.2.7',
  hostKeyFingerprint: 'SHA256:abc',
};

describe('sshConnections and sshUnavailableReason', () => {
  it('return one command per node, with host key and a command to check it', () => {
    expect(sshConnections(makeRental({ ssh: [endpoint] }))).toEqual([
      {
        title: null,
        command: endpoint.command,
        fingerprint: 'SHA256:abc',
        check: 'ssh-keyscan -p 20000 192.0.2.7 2>/dev/null | ssh-keygen -lf -',
      },
    ]);
    const two = makeRental({ ssh: [endpoint, endpoint] });
    expect(sshConnections(two).map(({ title }) => title)).toEqual(['Node 1', 'Node 2']);
    expect(sshCommands(two)).toBe('millrace ssh train --node 1\nmillrace ssh train --node 2');
  });

  it('explain a missing SSH command in every state', () => {
    expect(sshUnavailableReason(makeRental({ ssh: [endpoint] }))).toBeNull();
    for (const status of ['Pending', 'Running', 'Unknown', 'Failed', 'Terminating', 'Terminated'] as const) {
      expect(sshUnavailableReason(makeRental({ status })), status).toMatch(/\.$/);
    }
    expect(sshUnavailableReason(makeRental({ ssh: [endpoint], power: 'off' }))).toContain('Start the rental');
  });
});

describe('receipt', () => {
  const line = (meter: CostLine['meter'], from: string, until: string | null): CostLine => ({
    ...{ meter, from, until, seconds: 1, costPerHourNanoUsd: '1', amountNanoUsd: '1', transferIds: [] },
  });
  it('spans from the first to the last billed time, or is empty', () => {
    expect(billedSpan([])).toBeNull();
    expect(billedSpan([line('credit', 'a', 'z')])).toBeNull();
    const lines = [line('disk', '2', '3'), line('gpu', '1', '2'), line('gpu', '3', '5')];
    expect(billedSpan(lines)).toEqual({ from: '1', until: '5' });
    expect(billedSpan([...lines, line('gpu', '5', null)])).toEqual({ from: '1', until: null });
  });
  it('shows the amount that is not posted yet', () => {
    const cost = { rentalId: 1, totalNanoUsd: '30', postedNanoUsd: '10', heldNanoUsd: '0', lines: [] };
    expect(unpostedAmount(cost)).toBe(20n);
  });
});

describe('metrics', () => {
  it('have one chart per measurement with a line per device, GPUs first, without empty charts', () => {
    const points = (...values: (number | null)[]) =>
      values.map((value, index) => ({ at: new Date(1_000_000 + index * 30_000).toISOString(), value }));
    const charts = buildCharts({
      rentalId: 1,
      from: '',
      until: '',
      stepSeconds: 30,
      series: [
        { name: 'cpu.utilisation', unit: 'percent', device: null, points: points(1, null) },
        { name: 'network.sent', unit: 'bytes_per_second', device: null, points: points(null, null) },
        { name: 'gpu.utilisation', unit: 'percent', device: '0000:01:00.0', points: points(50, 60) },
        { name: 'gpu.utilisation', unit: 'percent', device: '0000:41:00.0', points: points(70, 80) },
      ],
    });
    expect(charts.map(({ title, lines }) => [title, lines.length])).toEqual([
      ['GPU', 2],
      ['CPU', 1],
    ]);
    expect(charts[0]).toMatchObject({
      seconds: [1_000, 1_030],
      lines: [{ label: 'GPU 0', values: [50, 60] }, { label: 'GPU 1' }],
    });
    expect(formatFor('percent')(50)).toBe('50.0 %');
  });

  it('number GPUs per machine', () => {
    const points = [{ at: '2026-01-01T00:00:00.000Z', value: 1 }];
    const devices = ['node-0/0000:01:00.0', 'node-0/0000:02:00.0', 'node-1/0000:01:00.0'];
    const [chart] = buildCharts({
      rentalId: 1,
      from: '',
      until: '',
      stepSeconds: 30,
      series: devices.map((device) => ({ name: 'gpu.utilisation', unit: 'percent', device, points })),
    });
    expect(chart?.lines.map(({ label }) => label)).toEqual(['node-0 GPU 0', 'node-0 GPU 1', 'node-1 GPU 0']);
  });

  it('noMetricsReason names one reason: monitoring off, nothing yet, or too old', () => {
    const machine = { isBareMetal: false, isMonitored: true, isOver: false };
    expect(noMetricsReason({ ...machine, isMonitored: false }).text).toMatch(/without monitoring/);
    expect(noMetricsReason(machine).text).toMatch(/Check again in a minute/);
    expect(noMetricsReason({ ...machine, isOver: true }).text).toMatch(/7 days/);
    expect(noMetricsReason({ ...machine, isBareMetal: true, isMonitored: false }).title).toMatch(
      /Bare metal/,
    );
  });

  it('request no more points than were sampled or than the API returns', () => {
    for (const period of periodNames) {
      for (const machines of [0, 1, 8, 16]) {
        const { from, until, stepSeconds } = metricsQuery(
          period,
          { machineCount: machines, startedAt: '2020-01-01T00:00:00.000Z' },
          1_800_000_000_000,
        );
        const steps = ((Date.parse(until) - Date.parse(from)) / 1_000 / stepSeconds) * Math.max(1, machines);
        expect(stepSeconds).toBeGreaterThanOrEqual(30);
        expect(steps).toBeLessThanOrEqual(2_000);
      }
    }
  });
});

it('metricsQuery starts when the machine started, and covers at least ten minutes', () => {
  const nowMs = Date.parse('2026-11-16T10:30:00.000Z');
  const from = (startedAt: string | null) => metricsQuery('24h', { machineCount: 1, startedAt }, nowMs).from;
  expect(from('2026-11-16T10:00:00.000Z')).toBe('2026-11-16T10:00:00.000Z');
  expect(from('2026-11-16T10:29:00.000Z')).toBe('2026-11-16T10:20:00.000Z');
  expect(from('2026-11-01T10:00:00.000Z')).toBe('2026-11-15T10:30:00.000Z');
});

describe('tags', () => {
  it('are parsed as they are shown', () => {
    const tags = { team: 'vision', run: '7', note: 'a=b' };
    expect(parseTags(tagLines(tags))).toEqual({ tags });
    expect(parseTags('')).toEqual({ tags: {} });
  });
  it('are rejected with the invalid line', () => {
    expect(parseTags('team vision')).toEqual({ problem: expect.stringContaining('team vision') });
    expect(parseTags('a=1\na=2')).toEqual({ problem: expect.stringContaining('twice') });
  });
});

describe('URL parameters', () => {
  it('keep known values and drop others', () => {
    expect(
      parseRentalsSearch({
        view: 'history',
        status: 'Running',
        type: 'bare-metal',
        from: '2026-11-01',
        x: 1,
      }),
    ).toEqual({ view: 'history', status: 'Running', type: 'bare-metal', from: '2026-11-01' });
    expect(parseRentalsSearch({ view: 'all', status: 'Terminated', type: 7, until: '2026-13-99' })).toEqual(
      {},
    );
    expect(parseRentalSearch({ tab: 'cost', period: '24h' })).toEqual({ tab: 'cost', period: '24h' });
    expect(parseRentalSearch({ tab: 'secrets' })).toEqual({});
  });
  it('cover whole days, including the last one', () => {
    const { from = '', until = '' } = daysPeriod({ from: '2026-11-16', until: '2026-11-16' });
    expect(Date.parse(until) - Date.parse(from)).toBe(86_400_000);
    expect(daysPeriod({})).toEqual({});
  });
});

describe('rental texts', () => {
  it('fall back to the number as name', () => {
    expect(rentalTitle({ id: 7, name: null, label: null })).toBe('Rental 7');
    expect(rentalHardwareText(makeRental())).toBe('2 × H100, virtual machine');
  });
  it('rentalRefetchMs polls often while the rental changes, and stops after its end', () => {
    expect(rentalRefetchMs(makeRental({ status: 'Pending' }))).toBe(2_000);
    expect(rentalRefetchMs(makeRental({ power: 'changing' }))).toBe(2_000);
    expect(rentalRefetchMs(makeRental())).toBe(5_000);
    expect(rentalRefetchMs(makeRental({ status: 'Terminated' }))).toBe(false);
  });
});
