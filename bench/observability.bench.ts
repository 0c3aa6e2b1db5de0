import { seedOrganisation } from '@millrace/core/fixture';
import { atMost, defineBench, type BenchReport, type BenchRun, type Measure } from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import { histogram, preparedHistogram, startTelemetry } from '@millrace/platform/telemetry';
import {
  createTestDatabase,
  freePort,
  startApiProcess,
  startOtlpReceiver,
  testNames,
  type TestDatabase,
} from '@millrace/testing';
import { allocatedBytes } from './allocated-bytes.ts';
import { createCaller } from './api/http-caller.ts';
import { startUpstreamDouble, type Gateway } from './gateway/gateways.ts';
import { startMillrace, type StartedMillrace } from './gateway/millrace.ts';
import { createRawClient, type RawClient } from './gateway/raw-client.ts';

/** Concurrent requests, as in the benches of gateway and api. */
const CONCURRENCY = 16;
const SCRAPE_EVERY_MS = 5_000;
const WARM_UP_REQUESTS = 4_000;
const LIMIT = 1.05;
const RETRIES_MAX = 100;
const RETRY_MS = 100;
const COUNTED_RECORDS = 100_000;

/** Garbage of the metrics of a request, for a recorder that is prepared and for one that looks its labels up. */
async function counts(): Promise<BenchReport> {
  const name = 'http_server_request_duration_seconds';
  const labels = { operation: 'getMe', method: 'GET', status: 200 };
  const telemetry = await startTelemetry({ service: 'bench', version: '0', cell: 0, prometheusPort: 0 });
  try {
    const prepared = preparedHistogram(name).with(labels);
    const bySdk = histogram(name);
    const bytesOf = async (record: (value: number) => void): Promise<number> => {
      const repeat = (): void => {
        for (let nth = 0; nth < COUNTED_RECORDS; nth += 1) record(nth * 1e-5);
      };
      // Compiled code does not allocate numbers that the interpreter allocates.
      repeat();
      return Math.round((await allocatedBytes(repeat)) / COUNTED_RECORDS);
    };
    const own = await bytesOf((value) => prepared.record(value));
    const sdk = await bytesOf((value) => bySdk.record(value, { ...labels }));
    return {
      figures: { 'bytes allocated for a record': own, 'bytes allocated for a record, through the SDK': sdk },
      bars: [atMost('bytes allocated for a record, times those through the SDK', 0.2, own / sdk)],
    };
  } finally {
    await telemetry.shutdown();
  }
}

/** Metrics with an endpoint, and traces at the default share. */
async function observed(collector: string): Promise<Record<string, string>> {
  return { MILLRACE_PROMETHEUS_PORT: String(await freePort()), MILLRACE_OTLP_TRACES_URL: collector };
}

function chatOf({ url, headers, model }: Gateway): RawClient {
  const messages = [{ role: 'user', content: 'What does the mill by the river do? pace=0 chunks=0' }];
  const body = { model, messages, max_tokens: 64, stream: false };
  return createRawClient({ url, path: '/v1/chat/completions', headers, body });
}

async function chat(client: RawClient): Promise<void> {
  const { status, error } = await client.send();
  if (status !== 200) throw new Error(`The gateway returned ${status}: ${error}`);
}

/** On a busy machine, credit comes late for the first requests. */
async function chatWithRetries(client: RawClient): Promise<void> {
  for (let left = RETRIES_MAX; ; left -= 1) {
    const { status, error } = await client.send();
    if (status === 200) return;
    if (status !== 503 || left === 0) throw new Error(`The gateway returned ${status}: ${error}`);
    await systemClock.sleep(RETRY_MS);
  }
}

/** Until its code is compiled, a process uses several times the processor time. */
async function warmUp(call: () => Promise<void>, quick: boolean): Promise<void> {
  let left = quick ? 20 : WARM_UP_REQUESTS;
  const loop = async (): Promise<void> => {
    while ((left -= 1) >= 0) await call();
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, loop));
}

/** Reads the metrics as Prometheus would, because rendering them is part of their cost. */
function scrape(ports: readonly (string | undefined)[]): () => void {
  const timer = setInterval(() => {
    for (const port of ports) {
      const scraped = fetch(`http://127.0.0.1:${port}/metrics`).then((response) => response.text());
      // The processes might not run yet.
      scraped.catch(() => undefined);
    }
  }, SCRAPE_EVERY_MS);
  return () => clearInterval(timer);
}

async function startApi(database: TestDatabase, env: Readonly<Record<string, string>>) {
  const quiet = { MILLRACE_LOG_LEVEL: 'info', MILLRACE_HTTP_VALIDATE_RESPONSES: 'false', ...env };
  const api = await startApiProcess({ database, names: testNames(), env: quiet });
  return { ...api, caller: createCaller(api.url, CONCURRENCY) };
}

const share = (on: Measure, off: Measure): number =>
  Math.round((on.serverCpuUs * 1_000) / Math.max(1, off.serverCpuUs)) / 1_000;

async function measureGateways(run: BenchRun, on: StartedMillrace, off: StartedMillrace) {
  const clients = { on: chatOf(on), off: chatOf(off) };
  try {
    await warmUp(() => chatWithRetries(clients.on), run.quick);
    await warmUp(() => chatWithRetries(clients.off), run.quick);
    return await run.measure(
      {
        on: { call: () => chat(clients.on), servers: [on.pid] },
        off: { call: () => chat(clients.off), servers: [off.pid] },
      },
      { concurrency: CONCURRENCY },
    );
  } finally {
    clients.on.close();
    clients.off.close();
  }
}

export const bench = defineBench({
  name: 'observability',
  about:
    'Chats through a gateway and GET /v2/me at an api, with metrics scraped and traces sampled at the default share, and without both, alternating in one run.',
  counts,
  async run(run) {
    await using collector = await startOtlpReceiver();
    const [gatewayEnv, apiEnv] = [await observed(collector.url), await observed(collector.url)];
    const stopScraping = scrape([gatewayEnv['MILLRACE_PROMETHEUS_PORT'], apiEnv['MILLRACE_PROMETHEUS_PORT']]);
    try {
      await using direct = await startUpstreamDouble();
      await using on = await startMillrace(direct, 'shared', gatewayEnv);
      await using off = await startMillrace(direct, 'shared');
      await using database = await createTestDatabase();
      const { key } = (await seedOrganisation(database.db)).owner;
      await using apiOn = await startApi(database, apiEnv);
      await using apiOff = await startApi(database, {});
      for (const { pid } of [on, off, apiOn, apiOff]) run.pinServer(pid);

      const gateways = await measureGateways(run, on, off);
      const readMe = ({ caller }: typeof apiOn) => caller.call('/v2/me', 200, { key });
      await warmUp(() => readMe(apiOn), run.quick);
      await warmUp(() => readMe(apiOff), run.quick);
      const apis = await run.measure(
        {
          on: { call: () => readMe(apiOn), servers: [apiOn.pid] },
          off: { call: () => readMe(apiOff), servers: [apiOff.pid] },
        },
        { concurrency: CONCURRENCY },
      );
      apiOn.caller.close();
      apiOff.caller.close();
      run.note(`${collector.spans.length} spans were received`);
      const ratios = { gateway: share(gateways.on, gateways.off), api: share(apis.on, apis.off) };
      return {
        figures: {
          'chat, on': gateways.on,
          'chat, off': gateways.off,
          'GET /v2/me, on': apis.on,
          'GET /v2/me, off': apis.off,
        },
        bars: [
          atMost('chat: processor time, times off', LIMIT, ratios.gateway),
          atMost('GET /v2/me: processor time, times off', LIMIT, ratios.api),
        ],
      };
    } finally {
      stopScraping();
    }
  },
});
