import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { json } from 'node:stream/consumers';
import { systemClock } from '@millrace/platform/clock';
import { renderRules, type AlertRule } from '@millrace/release';
import { freePorts, startCommand } from '@millrace/testing';

/** A real Prometheus and a real Alertmanager, which notifies a webhook receiver in this process. */

export type Labels = Readonly<Record<string, string>>;

/** The last notification of an alert. */
export interface Notice {
  readonly status: 'firing' | 'resolved';
  readonly labels: Labels;
  readonly receivedMs: number;
}

export interface Monitoring extends AsyncDisposable {
  /** Alerts that the receiver was notified of and that are not resolved. */
  firing(): readonly Notice[];
  /** Alerts that the receiver was ever notified of. */
  all(): readonly Notice[];
  /** The values of an instant query. */
  query(expr: string): Promise<readonly number[]>;
  /** Rules that Prometheus could not evaluate. */
  brokenRules(): Promise<readonly string[]>;
}

export interface MonitoringOptions {
  readonly rules: readonly AlertRule[];
  /** Ports with metrics, by job. */
  readonly targets: Readonly<Record<string, readonly number[]>>;
  readonly scrapeMs: number;
  readonly evaluateMs: number;
}

const SCRAPE_TIMEOUT_MS = 10_000;

export async function startMonitoring(options: MonitoringOptions): Promise<Monitoring> {
  await using undo = new AsyncDisposableStack();
  const folder = mkdtempSync(path.join(tmpdir(), 'mr-alerts-'));
  undo.defer(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
  const receiver = undo.use(await startReceiver());
  const [managerPort = 0, prometheusPort = 0] = await freePorts(2);
  const files = writeFiles(folder, options, { receiverUrl: receiver.url, managerPort });
  const env = { PATH: process.env['PATH'] ?? '' };
  const at = (port: number, route: string): string => `http://127.0.0.1:${port}${route}`;
  undo.use(
    await startCommand({
      name: 'alertmanager',
      file: 'prometheus-alertmanager',
      args: [
        `--config.file=${files.manager}`,
        `--storage.path=${path.join(folder, 'alertmanager')}`,
        `--web.listen-address=127.0.0.1:${managerPort}`,
        // Without this it listens for a cluster on every interface.
        '--cluster.listen-address=',
      ],
      ...{ env, folder, readyUrl: at(managerPort, '/-/ready') },
    }),
  );
  undo.use(
    await startCommand({
      name: 'prometheus',
      file: 'prometheus',
      args: [
        `--config.file=${files.prometheus}`,
        `--storage.tsdb.path=${path.join(folder, 'prometheus')}`,
        `--web.listen-address=127.0.0.1:${prometheusPort}`,
      ],
      ...{ env, folder, readyUrl: at(prometheusPort, '/-/ready') },
    }),
  );
  const fetchJson = async (route: string): Promise<unknown> => {
    const response = await fetch(at(prometheusPort, route), { signal: AbortSignal.timeout(60_000) });
    if (!response.ok) throw new Error(`Prometheus returned ${response.status}: ${await response.text()}`);
    return response.json();
  };
  const started = undo.move();
  return {
    all: () => [...receiver.notices.values()],
    firing: () => [...receiver.notices.values()].filter(({ status }) => status === 'firing'),
    query: async (expr) => {
      const { data } = (await fetchJson(`/api/v1/query?query=${encodeURIComponent(expr)}`)) as {
        data: { result: readonly { value: readonly [number, string] }[] };
      };
      return data.result.map(({ value }) => Number(value[1]));
    },
    brokenRules: async () => {
      const { data } = (await fetchJson('/api/v1/rules')) as {
        data: {
          groups: readonly { rules: readonly { name: string; health: string; lastError?: string }[] }[];
        };
      };
      return data.groups
        .flatMap(({ rules }) => rules)
        .filter(({ health }) => health !== 'ok')
        .map(({ name, health, lastError = '' }) => `${name}: ${health} ${lastError}`);
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

interface Receiver extends AsyncDisposable {
  readonly url: string;
  /** The last notification of each alert, by its labels. */
  readonly notices: ReadonlyMap<string, Notice>;
}

async function startReceiver(): Promise<Receiver> {
  const notices = new Map<string, Notice>();
  const server = createServer((request, response) => {
    void json(request).then((sent) => {
      const { alerts } = sent as {
        alerts: readonly Pick<Notice, 'status' | 'labels'>[];
      };
      for (const { status, labels } of alerts)
        notices.set(JSON.stringify(labels), { status, labels, receivedMs: systemClock.monotonicMs() });
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    notices,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** JSON is YAML, so both programs read it. */
function writeFiles(
  folder: string,
  { rules, targets, scrapeMs, evaluateMs }: MonitoringOptions,
  { receiverUrl, managerPort }: { readonly receiverUrl: string; readonly managerPort: number },
): { readonly manager: string; readonly prometheus: string } {
  const write = (name: string, text: string): string => {
    const file = path.join(folder, name);
    writeFileSync(file, text);
    return file;
  };
  mkdirSync(path.join(folder, 'alertmanager'));
  write('millrace.yml', renderRules(rules));
  return {
    manager: write(
      'alertmanager.yml',
      JSON.stringify({
        route: {
          receiver: 'proof',
          group_by: ['...'],
          group_wait: '0s',
          group_interval: '1s',
          repeat_interval: '4h',
        },
        receivers: [{ name: 'proof', webhook_configs: [{ url: receiverUrl, send_resolved: true }] }],
      }),
    ),
    prometheus: write(
      'prometheus.yml',
      JSON.stringify({
        global: {
          scrape_interval: `${scrapeMs}ms`,
          scrape_timeout: `${Math.min(scrapeMs, SCRAPE_TIMEOUT_MS)}ms`,
          evaluation_interval: `${evaluateMs}ms`,
        },
        rule_files: ['millrace.yml'],
        alerting: { alertmanagers: [{ static_configs: [{ targets: [`127.0.0.1:${managerPort}`] }] }] },
        scrape_configs: Object.entries(targets).map(([job_name, ports]) => ({
          job_name,
          static_configs: [{ targets: ports.map((port) => `127.0.0.1:${port}`) }],
        })),
      }),
    ),
  };
}
