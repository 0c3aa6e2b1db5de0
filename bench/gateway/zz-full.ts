import { openInferenceStack } from '../../tests/stack/inference-stack.ts';
import {
  addDeployment,
  addModel,
  seedInferenceTenant,
  seedOperator,
} from '../../tests/stack/inference-tenant.ts';
import { createRawClient } from './raw-client.ts';
import { startBare, startUpstreamDouble, MODEL } from './sides.ts';
import { readFileSync } from 'node:fs';
const direct = await startUpstreamDouble();
const bare = await startBare(direct);
const stack = await openInferenceStack({
  llamas: [],
  env: process.argv[2] === 'prof' ? { NODE_OPTIONS: '--cpu-prof --cpu-prof-dir=/tmp/gwprof2' } : {},
});
const operator = await seedOperator(stack);
await addModel(operator, {
  name: MODEL,
  modality: 'chat',
  prices: { prompt_token: 1000, cached_prompt_token: 100, completion_token: 5000 },
  contextLength: 8192,
  extra: { requestsPerMinute: 1_000_000 },
});
await addDeployment(operator, { model: MODEL, engine: 'vllm', address: direct.url });
const tenant = await seedInferenceTenant(stack, 1_000_000_000_000_000n);
const { key } = await tenant.newKey({
  scopes: ['inference:read', 'inference:write'],
  limits: { rpm: 1_000_000, tpm: 1_000_000_000, budget: { usd: 100_000, period: 'day' } },
});
await stack.startGateways();
const pid = stack.gateways[0]!.pid()!;
const cpu = (pid: number) => {
  const p = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(p[11]) + Number(p[12])) * 10_000;
};
async function run(name: string, pid: number, url: string, headers: any, stream: boolean, n: number) {
  const body = {
    model: MODEL,
    messages: [
      { role: 'system', content: 'You are a helpful assistant who answers in a few words.' },
      {
        role: 'user',
        content: `What does the mill by the river do all day? pace=${stream ? 2 : 0} chunks=${stream ? 64 : 0}`,
      },
    ],
    temperature: 0.7,
    max_tokens: 1024,
    stream,
  };
  const c = createRawClient({ url, path: '/v1/chat/completions', headers, body });
  let left = n;
  const bad: Record<string, number> = {};
  const b = cpu(pid);
  const t = Date.now();
  await Promise.all(
    Array.from({ length: stream ? 32 : 16 }, async () => {
      while (left-- > 0) {
        const s = await c.ask();
        if (s.status !== 200) bad[s.status] = (bad[s.status] ?? 0) + 1;
      }
    }),
  );
  c.close();
  console.log(
    name,
    stream ? 'stream' : 'json',
    ((cpu(pid) - b) / n).toFixed(0),
    'us',
    (((Date.now() - t) / n) * 1000).toFixed(0),
    'wall us',
    JSON.stringify(bad),
  );
}
const sides: [string, number, string, any][] = [
  ['bare', bare.pid, bare.url, {}],
  ['millrace', pid, stack.gatewayUrl, { authorization: `Bearer ${key}` }],
];
for (const s of sides) await run(s[0], s[1], s[2], s[3], false, 3000);
for (const s of sides) await run(s[0], s[1], s[2], s[3], true, 300);
for (let i = 0; i < 2; i++) {
  for (const s of sides) await run(s[0], s[1], s[2], s[3], false, 6000);
  for (const s of sides) await run(s[0], s[1], s[2], s[3], true, 600);
}
process.kill(pid, 'SIGTERM');
await new Promise((r) => setTimeout(r, 4000));
await stack.close();
await bare[Symbol.asyncDispose]();
await direct[Symbol.asyncDispose]();
process.exit(0);
