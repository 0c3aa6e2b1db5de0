import { spawnSync } from 'node:child_process';
import { metricCatalogue } from '@millrace/platform/telemetry';
import { eventually, freePorts } from '@millrace/testing';
import { afterAll, beforeAll, expect, onTestFailed, test } from 'vitest';
import { openInferenceStack, type InferenceStack } from '../stack/inference-stack.ts';
import { deployChatModel, seedInferenceTenant, seedOperator } from '../stack/inference-tenant.ts';

/** The metrics that a running api, worker and gateway expose after a chat request. */

const MODEL = 'millrace-tiny';
/** Series that the SDK adds. */
const sdkMetrics = ['target_info'];
const kinds = ['api', 'worker', 'gateway'] as const;
let stack: InferenceStack;
let ports: Record<(typeof kinds)[number], number>;

beforeAll(async () => {
  const [api = 0, worker = 0, gateway = 0] = await freePorts(3);
  ports = { api, worker, gateway };
  const portOf = (port: number) => ({ MILLRACE_PROMETHEUS_PORT: String(port) });
  stack = await openInferenceStack({ env: portOf(worker), apiEnv: portOf(api), gatewayEnv: portOf(gateway) });
  await deployChatModel(stack, await seedOperator(stack), MODEL);
  const { openai } = await seedInferenceTenant(stack, 1_000_000_000n);
  await stack.startGateways();
  await eventually(
    { what: 'the model to be on offer' },
    async () => (await openai.models.list()).data.length === 1,
  );
  const messages = [{ role: 'user' as const, content: 'Count to five.' }];
  const stream = await openai.chat.completions.create({
    model: MODEL,
    messages,
    max_tokens: 16,
    stream: true,
  });
  for await (const chunk of stream) void chunk;
  await openai.chat.completions.create({ model: 'absent', messages }).catch(() => undefined);
});

afterAll(async () => stack?.close());

async function scrape(kind: keyof typeof ports): Promise<string> {
  return (await fetch(`http://127.0.0.1:${ports[kind]}/metrics`)).text();
}

const namesIn = (text: string): string[] =>
  [...text.matchAll(/^# TYPE (\S+) /gm)]
    .map(([, name = '']) => name)
    .filter((name) => !sdkMetrics.includes(name));

test.each(kinds)(
  'every metric of a running %s is in the catalogue, with its process and labels',
  async (kind) => {
    onTestFailed(() => void process.stderr.write(stack.output()));
    const text = await scrape(kind);
    const names = namesIn(text);
    expect(names).toContain('millrace_build_info');
    expect(text).toMatch(/^millrace_ready 1$/m);
    for (const name of names) {
      const definition = metricCatalogue[name];
      expect(definition, `${name} is not in the catalogue`).toBeDefined();
      expect(definition?.processes, name).toContain(kind);
      const series = [...text.matchAll(new RegExp(`^${name}(?:_bucket|_sum|_count)?\\{([^\n]*)\\} `, 'gm'))];
      for (const [, labels = ''] of series) {
        const used = [...labels.matchAll(/(\w+)="/g)]
          .map(([, label]) => label)
          .filter((label) => label !== 'le');
        expect(new Set(used), name).toEqual(new Set(Object.keys(definition?.labels ?? {})));
      }
    }
  },
);

test.each(kinds)('promtool accepts the metrics of a running %s', async (kind) => {
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
    input: await scrape(kind),
    encoding: 'utf8',
  });
  expect({ status, output: stdout + stderr }).toEqual({ status: 0, output: '' });
});

test('a gateway measures each route, model and engine after one stream and one error', async () => {
  const text = await scrape('gateway');
  const model = `gen_ai_request_model="${MODEL}"`;
  expect(text).toMatch(
    /millrace_gateway_request_duration_seconds_count\{route="\/v1\/chat\/completions",status="200"\} 1/,
  );
  expect(text).toContain(
    'millrace_gateway_errors_total{route="/v1/chat/completions",reason="MODEL_NOT_FOUND"} 1',
  );
  expect(text).toContain(
    `gen_ai_server_time_to_first_token_seconds_count{${model},gen_ai_provider_name="llama.cpp"} 1`,
  );
  expect(text).toContain(
    `gen_ai_server_time_per_output_token_seconds_count{${model},gen_ai_provider_name="llama.cpp"} 1`,
  );
  expect(text).toContain(`gen_ai_client_token_usage_count{${model},gen_ai_token_type="output"} 1`);
});

test('a worker reports granted credit, the standbys of the database and its own counters from 0', async () => {
  const text = await eventually({ what: 'granted credit in the metrics', timeoutMs: 60_000 }, async () => {
    const found = await scrape('worker');
    return /^millrace_credit_leases\{state="open"\} 1$/m.test(found) ? found : undefined;
  });
  expect(text).toMatch(/^millrace_credit_leased_nano_usd [1-9]\d*$/m);
  expect(text).toMatch(/^millrace_db_standbys 0$/m);
  expect(text).toMatch(/^millrace_db_archive_failing 0$/m);
  expect(text).toMatch(/^millrace_metering_refused_total 0$/m);
});
