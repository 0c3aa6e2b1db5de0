import { describe, expect, it } from 'vitest';
import { sshConnections, sshCommands, sshUnavailableReason } from './detail/connect.ts';
import { metricsQuery, buildCharts, formatFor, noMetricsReason } from './detail/metrics.ts';
import { billedSpan, unpostedAmount, type CostLine } from './receipt.ts';
import { makeRental } from './rental.fixture.ts';
import { rentalRefetchMs, rentalTitle, rentalHardwareText } from './rental.ts';
import { rentalsPeriod, parseRentalSearch, parseRentalsSearch, periodNames } from './search.ts';
import { tagLines, parseTags } from './tags.ts';

const endpoint = {
  host: '192.0.2.7',
  port: 20_000,
  user: 'ubuntu',
  command: 'ssh -p 20000 ubuntu@192.0.2.7',
  hostKeyFingerprint: 'SHA256:abc',
};

describe('the way in', () => {
  it('is one command for each node, with the key that must answer and how to see it', () => {
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

  it('is told to be none, and why, in every state that has none', () => {
    expect(sshUnavailableReason(makeRental({ ssh: [endpoint] }))).toBeNull();
    for (const status of ['Pending', 'Running', 'Unknown', 'Failed', 'Terminating', 'Terminated'] as const) {
      expect(sshUnavailableReason(makeRental({ status })), status).toMatch(/\.$/);
    }
    expect(sshUnavailableReason(makeRental({ ssh: [endpoint], power: 'off' }))).toContain('Start it');
  });
});

describe('a receipt', () => {
  const line = (meter: CostLine['meter'], from: string, until: string | null): CostLine => ({
    ...{ meter, from, until, seconds: 1, costPerHourNanoUsd: '1', amountNanoUsd: '1', transferIds: [] },
  });
  it('is billed from the first moment to the last, and not at all where nothing was', () => {
    expect(billedSpan([])).toBeNull();
    expect(billedSpan([line('credit', 'a', 'z')])).toBeNull();
    const lines = [line('disk', '2', '3'), line('gpu', '1', '2'), line('gpu', '3', '5')];
    expect(billedSpan(lines)).toEqual({ from: '1', until: '5' });
    expect(billedSpan([...lines, line('gpu', '5', null)])).toEqual({ from: '1', until: null });
  });
  it('tells what is not in the ledger yet', () => {
    const cost = { rentalId: 1, totalNanoUsd: '30', postedNanoUsd: '10', heldNanoUsd: '0', lines: [] };
    expect(unpostedAmount(cost)).toBe(20n);
  });
});

describe('what is measured', () => {
  it('is a chart for each thing with a line for each device, GPUs first, and none of what was not measured', () => {
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

  it('numbers the GPUs of each machine by itself', () => {
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

  it('is missing for one reason: monitoring is off, or there is nothing yet, or it is too long ago', () => {
    expect(noMetricsReason({ isMonitored: false, isOver: false }).text).not.toMatch(/again/);
    expect(noMetricsReason({ isMonitored: true, isOver: false }).text).toMatch(/Look again in a minute/);
    expect(noMetricsReason({ isMonitored: true, isOver: true }).text).toMatch(/seven days/);
  });

  it('is never asked for closer than it was sampled, nor for more than the API gives at once', () => {
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

it('a machine that is young is measured from when it was there, over ten minutes at least', () => {
  const nowMs = Date.parse('2026-11-16T10:30:00.000Z');
  const from = (startedAt: string | null) => metricsQuery('24h', { machineCount: 1, startedAt }, nowMs).from;
  expect(from('2026-11-16T10:00:00.000Z')).toBe('2026-11-16T10:00:00.000Z');
  expect(from('2026-11-16T10:29:00.000Z')).toBe('2026-11-16T10:20:00.000Z');
  expect(from('2026-11-01T10:00:00.000Z')).toBe('2026-11-15T10:30:00.000Z');
});

describe('tags', () => {
  it('are read back as they are shown', () => {
    const tags = { team: 'vision', run: '7', note: 'a=b' };
    expect(parseTags(tagLines(tags))).toEqual({ tags });
    expect(parseTags('')).toEqual({ tags: {} });
  });
  it('that are none are told, with the line', () => {
    expect(parseTags('team vision')).toEqual({ problem: expect.stringContaining('team vision') });
    expect(parseTags('a=1\na=2')).toEqual({ problem: expect.stringContaining('twice') });
  });
});

describe('the URL', () => {
  it('keeps what the pages know and drops the rest', () => {
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
  it('has whole days, the last one included', () => {
    const { from = '', until = '' } = rentalsPeriod({ from: '2026-11-16', until: '2026-11-16' });
    expect(Date.parse(until) - Date.parse(from)).toBe(86_400_000);
    expect(rentalsPeriod({})).toEqual({});
  });
});

describe('a rental in words', () => {
  it('has a name, or its number', () => {
    expect(rentalTitle({ id: 7, name: null, label: null })).toBe('Rental 7');
    expect(rentalHardwareText(makeRental())).toBe('2 × H100, virtual machine');
  });
  it('is looked at often while it changes, and not at all once it is over', () => {
    expect(rentalRefetchMs(makeRental({ status: 'Pending' }))).toBe(2_000);
    expect(rentalRefetchMs(makeRental({ power: 'changing' }))).toBe(2_000);
    expect(rentalRefetchMs(makeRental())).toBe(5_000);
    expect(rentalRefetchMs(makeRental({ status: 'Terminated' }))).toBe(false);
  });
});
